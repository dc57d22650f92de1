//! There is no neutral namespace for physics that UsdPhysics does not have (July 2026).

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Content, prim_items};

rule! {
    severity: Error,
    meaning: "A schema or property of ExtendedPhysics (`ext_physics:`), or of the earlier MimicJointAPI, says what UsdPhysics \
              has no word for.",
    outcome: "No engine reads it: joints that should follow others move freely.",
    demand: "An unratified physics feature must be authored under the owning engine's namespace prefix (e.g., mjc:, newton:, \
             physx:) and isolated into that engine's feature layer; this REP defines no interim physics namespace.",
    section: ("Physics Schemas", "§4.2.2"),
    breaks: ["robot.usda", "physics.usda", "extended_physics.usda"],
    keeps: ["robot.usda", "physics.usda", "newton.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut reported = BTreeSet::new();
        let earlier = layer.prims.iter().filter_map(|prim| {
            let schema = prim
                .schemas
                .iter()
                .find(|schema| *schema == "MimicJointAPI")?;
            Some((schema.clone(), prim.path.clone()))
        });
        let extended = layer
            .prims
            .iter()
            .flat_map(|prim| prim_items(prim, |content| content == Content::ExtendedPhysics))
            .map(|item| (item.name, item.path));
        for (name, path) in extended.chain(earlier) {
            if reported.insert(name.clone()) {
                let message = format!(
                    "{name} at {path} is in {}: REP-158 has no such namespace since July 2026",
                    layer.file_name()
                );
                let help = if is_mimic(&name) {
                    "author the engines' attributes, each in a layer that only the entry of that engine loads: `urdf_usd fix --rep158 2026-07` does that"
                } else {
                    "replace it by the engines' attributes, each in a layer that only the entry of that engine loads"
                };
                findings.layer(LayerId(index), path, message, help);
            }
        }
    }
}

/// Returns whether `fix` translates a schema or property: those of mimic joints, but not the earlier MimicJointAPI.
fn is_mimic(name: &str) -> bool {
    name.starts_with("ExtendedPhysicsMimicAPI") || name.starts_with("ext_physics:mimic:")
}
