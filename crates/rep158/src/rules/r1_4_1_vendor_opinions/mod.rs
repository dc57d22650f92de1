//! Vendor-specific schemas and properties are in proprietary layers.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Holds, contents, is_proprietary, of_prim};

rule! {
    severity: Error,
    meaning: "A layer that all programs read holds schemas or properties of one simulator.",
    outcome: "Other programs don't know them, and the robot behaves in each as its own words say.",
    demand: "Engine-specific parameters must be isolated within discrete Proprietary Layers and \
             never authored in the baseline simulation payload or neutral physics layer.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "physx.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let contents = contents(layer);
        let Some(neutral) = contents.iter().find(|found| found.holds != Holds::Vendor) else {
            continue;
        };
        if is_proprietary(layer, &contents) {
            continue;
        }
        let mut told = BTreeSet::new();
        for found in layer
            .prims
            .iter()
            .flat_map(of_prim)
            .filter(|found| found.holds == Holds::Vendor)
        {
            // Report each schema and property once, at its first prim.
            if told.insert(found.what.clone()) {
                let message = format!(
                    "{} stands at {} in {}, which also holds {}",
                    found.what,
                    found.path,
                    layer.file_name(),
                    neutral.holds.name()
                );
                let help = "put it into a layer for that simulator, such as isaac.usda or mujoco.usda, that only its own entry includes";
                findings.layer(LayerId(index), found.path, message, help);
            }
        }
    }
}
