//! Static props have no rigid body schema.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim has PhysicsRigidBodyAPI and switches it off.",
    outcome: "Some programs take it for a body that moves, others for a wall.",
    demand: "Fixed props must have PhysicsCollisionAPI and omit PhysicsRigidBodyAPI.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        let name = "physics:rigidBodyEnabled";
        if prim.flag(name) == Some(false) {
            let message = format!("the body {} is switched off, so it stands still", prim.path);
            let help = "take PhysicsRigidBodyAPI away; a robot's base keeps it and is held by a fixed joint with an empty body0";
            findings.prim(id, Some(name), message, help);
        }
    }
}
