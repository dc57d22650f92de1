//! Dynamic bodies have a positive mass.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A dynamic body has no positive mass.",
    outcome: "Programs derive a mass from the shapes and a default density, so each simulates a \
              different robot.",
    demand: "Dynamic bodies must define a strictly positive mass.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        let is_on = |name: &str| prim.flag(name) == Some(true);
        if is_on("physics:kinematicEnabled") || prim.flag("physics:rigidBodyEnabled") == Some(false)
        {
            continue;
        }
        let path = &prim.path;
        let message = match prim.number("physics:mass") {
            _ if !prim.has("PhysicsMassAPI") => {
                format!("the body {path} has no mass: it lacks PhysicsMassAPI")
            }
            None => format!("the body {path} has no mass"),
            Some(mass) if mass > 0.0 && mass.is_finite() => continue,
            Some(mass) => format!("the body {path} has a mass of {mass}"),
        };
        let help = "apply PhysicsMassAPI and author physics:mass above zero; a static prim needs no PhysicsRigidBodyAPI";
        findings.prim(id, Some("physics:mass"), message, help);
    }
}
