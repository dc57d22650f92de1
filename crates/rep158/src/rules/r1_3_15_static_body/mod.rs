//! Static props have no rigid body schema.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim has PhysicsRigidBodyAPI, but disables it.",
    outcome: "Some programs treat the prim as a moving body, others as a static one.",
    demand: "Fixed props must have PhysicsCollisionAPI and omit PhysicsRigidBodyAPI.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        let name = "physics:rigidBodyEnabled";
        if prim.flag(name) == Some(false) {
            let message = format!("the body {} is disabled, so it does not move", prim.path);
            let help = "remove PhysicsRigidBodyAPI; the base of a robot keeps it and is held by a fixed joint with an empty body0";
            findings.prim(id, Some(name), message, help);
        }
    }
}
