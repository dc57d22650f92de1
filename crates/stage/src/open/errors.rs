//! Messages for errors of `openusd`.

use openusd::pcp::{ArcType, CompositionDiagnostic};

use super::super::{CompositionError, usda};

/// Returns the file name of a layer.
pub(super) fn file_name(identifier: &str) -> &str {
    identifier.rsplit('/').next().unwrap_or(identifier)
}

/// Returns what is wrong with a layer in the words of this project.
pub(super) fn shorten(reason: &str) -> String {
    // The comparisons are with messages of `openusd` 0.8.0.
    let first = reason.lines().next().unwrap_or_default();
    if let Some(file) = first.strip_prefix("no file format registered for ") {
        return format!(
            "{} does not have the extension of an OpenUSD file",
            file_name(file)
        );
    }
    if first.starts_with(usda::NO_HEADER) {
        return "it is not an OpenUSD file: its text does not begin with `#usda 1.0`, and it is neither binary nor a package"
            .to_owned();
    }
    if first.starts_with("failed to read pod ") {
        return "the file is truncated or damaged".to_owned();
    }
    first.to_owned()
}

/// Converts an error of the composition.
pub(super) fn describe(error: CompositionDiagnostic) -> CompositionError {
    match error {
        CompositionDiagnostic::InvalidExternalTargetPath {
            target,
            property,
            layer,
            arc,
            arc_root,
            ..
        } => CompositionError {
            message: format!(
                "{target} is outside of {arc_root}, the only prims that the {} composes",
                arc_name(arc)
            ),
            layer: Some(layer),
            path: Some(property.as_str().to_owned()),
        },
        CompositionDiagnostic::ArcCycle(chain) => CompositionError {
            message: format!(
                "{} is composed of itself{}",
                chain.composing.as_str(),
                chain
                    .hops
                    .iter()
                    .map(|hop| format!(", by a {} to {}", arc_name(hop.arc), hop.path.as_str()))
                    .collect::<String>()
            ),
            layer: Some(chain.root_layer),
            path: Some(chain.composing.as_str().to_owned()),
        },
        CompositionDiagnostic::UnresolvedSublayer { .. }
        | CompositionDiagnostic::MalformedSublayer { .. }
        | CompositionDiagnostic::SublayerCycle { .. } => sublayer_error(error),
        other => arc_error(other),
    }
}

/// Returns the name of a kind of arc.
fn arc_name(arc: ArcType) -> String {
    format!("{arc:?}").to_lowercase()
}

/// Converts an error of a sublayer.
fn sublayer_error(error: CompositionDiagnostic) -> CompositionError {
    let (message, layer) = match error {
        CompositionDiagnostic::UnresolvedSublayer {
            asset_path,
            introduced_by,
        } => (
            format!("the sublayer @{asset_path}@ does not exist"),
            Some(introduced_by),
        ),
        CompositionDiagnostic::MalformedSublayer {
            asset_path,
            introduced_by,
            reason,
        } => (
            format!(
                "the sublayer @{asset_path}@ cannot be read: {}",
                shorten(&reason)
            ),
            Some(introduced_by),
        ),
        CompositionDiagnostic::SublayerCycle {
            root_layer,
            seen_layer,
        } => (
            format!(
                "the sublayer {} includes itself, directly or by another layer",
                file_name(&seen_layer)
            ),
            Some(root_layer),
        ),
        other => (other.to_string(), None),
    };
    CompositionError {
        message,
        layer,
        path: None,
    }
}

/// Converts an error of an arc whose target does not exist or cannot be read.
fn arc_error(error: CompositionDiagnostic) -> CompositionError {
    let (message, layer, path) = match error {
        CompositionDiagnostic::UnresolvedLayer {
            asset_path,
            arc,
            introduced_by,
            site_path,
        } => (
            format!("the {} @{asset_path}@ does not exist", arc_name(arc)),
            Some(introduced_by),
            site_path,
        ),
        CompositionDiagnostic::MalformedLayer {
            asset_path,
            arc,
            introduced_by,
            site_path,
            reason,
        } => (
            format!(
                "the {} @{asset_path}@ cannot be read: {}",
                arc_name(arc),
                shorten(&reason)
            ),
            Some(introduced_by),
            site_path,
        ),
        CompositionDiagnostic::UnresolvedPrimPath {
            arc,
            target_layer,
            prim_path,
            introduced_by,
            site_path,
        } => (
            format!(
                "the {} targets {prim_path}, which is not in {}",
                arc_name(arc),
                file_name(&target_layer)
            ),
            Some(introduced_by),
            site_path,
        ),
        CompositionDiagnostic::UnresolvedDefaultPrim {
            layer_id,
            arc,
            site_path,
        } => (
            format!(
                "the {} names no prim, and {} has no default prim",
                arc_name(arc),
                file_name(&layer_id)
            ),
            None,
            site_path,
        ),
        other => {
            return CompositionError {
                message: other.to_string(),
                layer: None,
                path: None,
            };
        }
    };
    CompositionError {
        message,
        layer,
        path: Some(path.as_str().to_owned()),
    }
}
