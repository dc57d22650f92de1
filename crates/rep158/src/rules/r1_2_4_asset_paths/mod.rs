//! Paths of files are relative or `package://` URIs.

use urdf_usd_stage::{ArcKind, LayerId, asset_paths};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A file path is absolute, or has a scheme that only some programs know.",
    outcome: "The file is not found on another machine or by another program.",
    demand: "Internal references must use relative paths. External dependencies targeting other \
             ROS packages must use the package:// URI scheme. Absolute paths or proprietary \
             schemes are prohibited.",
    section: ("Asset Management", "§1.2.5"),
    keeps: ["robot.usda", "arm.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut report = |element: String, what: &str, path: &str| {
            let Some(fault) = fault(path) else { return };
            let help = "put the file beside the layer and refer to it by a relative path, or by package:// if it is in another ROS package";
            findings.layer(
                LayerId(index),
                element,
                format!("the {what} {path} {fault}"),
                help,
            );
        };
        for path in layer.sublayers() {
            report(String::new(), "sublayer", path);
        }
        for prim in layer.prims.iter() {
            for arc in &prim.arcs {
                let what = if arc.kind == ArcKind::Payload {
                    "payload"
                } else {
                    "reference"
                };
                report(prim.path.clone(), what, &arc.asset);
            }
            for property in &prim.properties {
                for path in &property.assets {
                    report(format!("{}.{}", prim.path, property.name), "file", path);
                }
            }
        }
    }
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.instance.is_none())
    {
        for path in prim
            .metadata
            .get("clips")
            .into_iter()
            .flat_map(asset_paths)
            .map(|(path, _)| path)
        {
            if let Some(fault) = fault(&path) {
                let message = format!("the clip {path} of {} {fault}", prim.path);
                findings.prim(
                    id,
                    None,
                    message,
                    "put the file beside the layer and refer to it by a relative path",
                );
            }
        }
    }
}

/// Returns what is wrong with a path.
fn fault(path: &str) -> Option<String> {
    let has_drive = matches!(
        path.as_bytes(),
        [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic()
    );
    if path.starts_with(['/', '\\', '~']) || has_drive || path.starts_with("file:") {
        return Some("is an absolute path".to_owned());
    }
    let (scheme, _) = path.split_once("://")?;
    (scheme != "package").then(|| format!("begins with {scheme}://, which not every program knows"))
}
