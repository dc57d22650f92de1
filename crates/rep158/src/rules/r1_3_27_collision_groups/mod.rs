//! Robots with colliders have collision groups.

use urdf_usd_stage::{Prim, PrimId};

use super::{Findings, Subject, rule};
use crate::physics::{is_collider, own_prims};

rule! {
    severity: Warning,
    meaning: "A robot with colliders is in no collision group.",
    outcome: "Scenes have to name every link to filter collisions.",
    demand: "Assets should use PhysicsCollisionGroup for collision filtering, and may use \
             PhysicsFilteredPairsAPI for exceptions.",
    section: ("Self-Collision Filtering", "§1.3.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let is_group = |prim: &Prim| prim.is_present() && prim.type_name == "PhysicsCollisionGroup";
    if stage.prims.iter().any(is_group) {
        return;
    }
    let touches = |body: &PrimId| {
        own_prims(stage, *body)
            .iter()
            .any(|&id| stage[id].is_present() && is_collider(&stage[id]))
    };
    for tree in subject.trees.robots(stage, &subject.physics) {
        // A robot with a single colliding body has nothing to filter.
        let second = tree.bodies.iter().filter(|body| touches(body)).nth(1);
        if let (Some(&first), Some(_)) = (tree.bodies.first(), second) {
            let message = format!(
                "the colliders of the robot with the link {} are in no collision group",
                stage[first].path
            );
            let help = "add a PhysicsCollisionGroup prim whose `collection:colliders:includes` names the robot";
            findings.prim(first, None, message, help);
        }
    }
}
