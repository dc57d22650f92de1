//! What the library says of broken assets, in words for people.

use openusd::pcp::{ArcType, CompositionDiagnostic};

use super::super::CompositionError;

/// The name of a layer's file.
pub(super) fn file_name(identifier: &str) -> &str {
    identifier.rsplit('/').next().unwrap_or(identifier)
}

/// What is wrong with a layer, and in which line, without the text that stands there and without
/// the parts of the reader.
pub(super) fn told(reason: &str) -> String {
    let mut lines = reason.lines();
    let first = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .trim_start_matches("Unable to parse pseudo root: ");
    if let Some(file) = first.strip_prefix("no file format registered for ") {
        return format!("{} is no OpenUSD file by its name", file_name(file));
    }
    if first.starts_with("Text file must start with magic token")
        || first == "Unexpected end of tokens"
    {
        return "it is no OpenUSD file: its text does not begin with `#usda 1.0`, and it is neither binary nor a package"
            .to_owned();
    }
    if first.starts_with("failed to read pod ") {
        return "the file is cut off or damaged".to_owned();
    }
    let place = lines
        .next()
        .and_then(|line| line.trim().strip_prefix("--> "))
        .map(file_name);
    place.map_or_else(|| first.to_owned(), |place| format!("{first}, {place}"))
}

/// Takes an error of the composition apart.
pub(super) fn described(error: CompositionDiagnostic) -> CompositionError {
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
                "{target} is outside of {arc_root}, which is all that the {} brings in",
                name_of(arc)
            ),
            layer: Some(layer),
            path: Some(property.as_str().to_owned()),
        },
        CompositionDiagnostic::ArcCycle(chain) => CompositionError {
            message: format!(
                "{} leads back to itself{}",
                chain.composing.as_str(),
                chain
                    .hops
                    .iter()
                    .map(|hop| format!(", by a {} to {}", name_of(hop.arc), hop.path.as_str()))
                    .collect::<String>()
            ),
            layer: Some(chain.root_layer),
            path: Some(chain.composing.as_str().to_owned()),
        },
        CompositionDiagnostic::UnresolvedSublayer { .. }
        | CompositionDiagnostic::MalformedSublayer { .. }
        | CompositionDiagnostic::SublayerCycle { .. } => of_sublayer(error),
        other => of_arc(other),
    }
}

/// The name of a kind of arc.
fn name_of(arc: ArcType) -> String {
    format!("{arc:?}").to_lowercase()
}

/// An error of a layer that another includes.
fn of_sublayer(error: CompositionDiagnostic) -> CompositionError {
    let (message, layer) = match error {
        CompositionDiagnostic::UnresolvedSublayer {
            asset_path,
            introduced_by,
        } => (
            format!("the sublayer @{asset_path}@ leads to no file"),
            Some(introduced_by),
        ),
        CompositionDiagnostic::MalformedSublayer {
            asset_path,
            introduced_by,
            reason,
        } => (
            format!(
                "the sublayer @{asset_path}@ can't be read: {}",
                told(&reason)
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

/// An error of an arc that leads nowhere, or to what can't be read.
fn of_arc(error: CompositionDiagnostic) -> CompositionError {
    let (message, layer, path) = match error {
        CompositionDiagnostic::UnresolvedLayer {
            asset_path,
            arc,
            introduced_by,
            site_path,
        } => (
            format!("the {} @{asset_path}@ leads to no file", name_of(arc)),
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
                "the {} @{asset_path}@ can't be read: {}",
                name_of(arc),
                told(&reason)
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
                "the {} leads to {prim_path}, which is not in {}",
                name_of(arc),
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
                name_of(arc),
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
