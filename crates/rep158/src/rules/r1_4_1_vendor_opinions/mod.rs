//! Vendor-specific schemas and properties are in proprietary layers.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Content, contents, is_proprietary, prim_items};

rule! {
    severity: Error,
    meaning: "A layer that all programs read holds schemas or properties of one simulator.",
    outcome: "Other programs do not know them, so the robot behaves differently in each.",
    demand: "Engine-specific parameters must be isolated within discrete Proprietary Layers and \
             never authored in the baseline simulation payload or neutral physics layer.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "physx.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let contents = contents(layer);
        let Some(neutral) = contents
            .iter()
            .find(|found| found.content != Content::Vendor)
        else {
            continue;
        };
        if is_proprietary(layer, &contents) {
            continue;
        }
        let mut reported = BTreeSet::new();
        for found in layer
            .prims
            .iter()
            .flat_map(prim_items)
            .filter(|found| found.content == Content::Vendor)
        {
            // Report each schema and property once, at its first prim.
            if reported.insert(found.name.clone()) {
                let message = format!(
                    "{} at {} is in {}, which also holds {}",
                    found.name,
                    found.path,
                    layer.file_name(),
                    neutral.content.name()
                );
                let help = "move it into a layer for that simulator, such as isaac.usda or mujoco.usda, that only the entry layer of the simulator includes";
                findings.layer(LayerId(index), found.path, message, help);
            }
        }
    }
}
