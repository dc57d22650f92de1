//! Colliders have the purpose `guide` and are not approximated.

use super::{Findings, Subject, rule};
use crate::physics::{collision_fidelity, is_collider, purpose};

rule! {
    severity: Warning,
    meaning: "A collider has another purpose than `guide`, or its mesh is approximated.",
    outcome: "Renderers show colliders over the robot; each engine approximates the mesh in its \
              own way.",
    demand: "Collision geometries should specify purpose = \"guide\" and physics:approximation = \
             \"none\".",
    section: ("Collisions", "§1.3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present().filter(|(_, prim)| is_collider(prim)) {
        let purpose = purpose(stage, id);
        if purpose != "guide" {
            let message = format!("the collider {} has the purpose `{purpose}`", prim.path);
            let help = "author `uniform token purpose = \"guide\"` on it or on a prim above";
            findings.prim(id, Some("purpose"), message, help);
        }
        // Only meshes are approximated.
        if prim.type_name != "Mesh" && !prim.has("PhysicsMeshCollisionAPI") {
            continue;
        }
        let name = "physics:approximation";
        let approximation = prim.text(name);
        // Variants of collision_fidelity (§1.3.1) differ in it.
        let is_chosen =
            approximation == Some("convexHull") && collision_fidelity(stage, id).is_some();
        if approximation != Some("none") && !is_chosen {
            let authored =
                approximation.map_or_else(|| "no value".to_owned(), |value| format!("`{value}`"));
            let message = format!("the collider {} has {authored} for {name}", prim.path);
            let help = "author `uniform token physics:approximation = \"none\"`, and collide with the mesh as it is";
            findings.prim(id, Some(name), message, help);
        }
    }
}
