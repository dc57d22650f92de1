//! Colliders have friction and restitution.

use std::collections::HashSet;

use urdf_usd_stage::{PrimId, Stage};

use super::{Findings, Subject, rule};
use crate::physics::{bound_material, is_collider};

rule! {
    severity: Error,
    meaning: "A collider has no physics material, or one that lacks friction or restitution.",
    outcome: "Each engine uses its own defaults, so the robot slides and bounces differently in \
              each.",
    demand: "Collision geometry must have a Material with PhysicsMaterialAPI bound for the purpose \
             physics, with static and dynamic friction and restitution.",
    section: ("Contact Physics", "§1.3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known = HashSet::new();
    for (id, prim) in stage.present().filter(|(_, prim)| is_collider(prim)) {
        let name = "material:binding:physics";
        let Some((holder, path)) = bound_material(stage, id) else {
            let message = format!("the collider {} has no physics material", prim.path);
            let help = format!(
                "bind a Material with PhysicsMaterialAPI by `rel {name}`, on it or on a prim above"
            );
            findings.prim(id, Some(name), message, help);
            continue;
        };
        if !known.insert((holder, path.clone())) {
            continue;
        }
        let Some(material) = stage.at(&path) else {
            let message = format!(
                "{} binds the physics material {path}, which does not exist",
                stage[holder].path
            );
            findings.prim(
                holder,
                Some(name),
                message,
                "correct the path, or add the material",
            );
            continue;
        };
        // Bindings have a path, so an empty one marks the materials that were checked.
        if known.insert((material, String::new())) {
            check_material(stage, material, findings);
        }
    }
}

fn check_material(stage: &Stage, id: PrimId, findings: &mut Findings<'_>) {
    let prim = &stage[id];
    let path = &prim.path;
    if prim.type_name != "Material" {
        let message = format!("{path} is bound as a physics material, but is not a Material");
        findings.prim(id, None, message, "bind a prim of the type Material");
    } else if !prim.has("PhysicsMaterialAPI") {
        let message = format!("the physics material {path} lacks PhysicsMaterialAPI");
        findings.prim(id, None, message, "apply PhysicsMaterialAPI to it");
    }
    for name in [
        "physics:staticFriction",
        "physics:dynamicFriction",
        "physics:restitution",
    ] {
        let message = match prim.number(name) {
            Some(value) if value >= 0.0 => continue,
            Some(value) => format!("the physics material {path} has {value} for {name}"),
            None => format!("the physics material {path} has no {name}"),
        };
        findings.prim(
            id,
            Some(name),
            message,
            format!("author `float {name}`, zero or above"),
        );
    }
}
