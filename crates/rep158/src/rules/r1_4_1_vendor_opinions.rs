//! That what is one simulator's is in a layer of its own.

use std::collections::BTreeSet;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{LayerId};

use crate::Rule;
use crate::findings::Findings;
use crate::layers::{Holds, contents, is_proprietary, of_prim};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.4.1",
        severity: Severity::Error,
        meaning: "A layer that all programs read holds schemas or properties of one simulator.",
        outcome: "Other programs don't know them, and the robot behaves in each as its own words say.",
    },
    demand: "Engine-specific parameters must be isolated within discrete Proprietary Layers and never authored in the baseline simulation payload or neutral physics layer.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysxRigidBodyAPI\"]\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physx.usda@, @physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}")), ("physx.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysxRigidBodyAPI\"]\n    )\n    {\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let contents = contents(layer);
        let Some(neutral) = contents.iter().find(|found| found.holds != Holds::Vendor) else { continue };
        if is_proprietary(layer, &contents) {
            continue;
        }
        let mut told = BTreeSet::new();
        for found in layer.prims.iter().flat_map(of_prim).filter(|found| found.holds == Holds::Vendor) {
            // Each schema and property once: the other prims are like the first.
            if told.insert(found.what.clone()) {
                let message = format!("{} stands at {} in {}, which also holds {}", found.what, found.path, layer.file_name(), neutral.holds.name());
                let help = "put it into a layer for that simulator, such as isaac.usda or mujoco.usda, that only its own entry includes";
                findings.layer(&RULE.code, LayerId(index), found.path, message, help);
            }
        }
    }
}
