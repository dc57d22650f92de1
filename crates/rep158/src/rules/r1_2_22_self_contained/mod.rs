//! All files of the asset are in its folder.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::join;

rule! {
    severity: Warning,
    meaning: "A path leads out of the folder of the asset.",
    outcome: "A copy of the folder on another machine lacks a part of the asset.",
    demand: "For distributed, highly interoperable assets, all file dependencies should be \
             self-contained.",
    section: ("Asset Management", "§1.2.5"),
    breaks: ["robot/robot.usda", "arm.usda"],
    keeps: ["robot/robot.usda", "robot/parts/arm.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(folder) = subject.stage.root_layer().map(|root| join(root, "")) else {
        return;
    };
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut check_path = |element: String, path: &str| {
            // Other paths are left to REP158-1.2.4.
            let is_relative = !path.is_empty()
                && !path.starts_with('/')
                && !path.contains(':')
                && !layer.path.to_string_lossy().ends_with(']');
            if is_relative && join(layer, path).strip_prefix(&folder).is_err() {
                let message = format!(
                    "the path {path} in {} leads out of the asset's folder",
                    layer.file_name()
                );
                findings.layer(
                    LayerId(index),
                    element,
                    message,
                    "move the file into the folder, or refer to it by a package:// URI",
                );
            }
        };
        for path in layer.sublayers() {
            check_path(String::new(), path);
        }
        for prim in layer.prims.iter() {
            for arc in &prim.arcs {
                check_path(prim.path.clone(), &arc.asset);
            }
            for property in &prim.properties {
                for path in &property.assets {
                    check_path(format!("{}.{}", prim.path, property.name), path);
                }
            }
        }
    }
}
