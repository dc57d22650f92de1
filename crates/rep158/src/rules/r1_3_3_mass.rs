//! That what moves has a mass.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.3",
        severity: Severity::Error,
        meaning: "A body that moves has no mass above zero.",
        outcome: "Programs make up a mass from shapes and a density of their own, so each simulates another robot.",
    },
    demand: "Dynamic bodies must define a strictly positive mass.",
    section: ("Physics", "§1.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        float physics:mass = 0
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        float physics:mass = 2.5
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        let is_on = |name: &str| prim.flag(name) == Some(true);
        if is_on("physics:kinematicEnabled") || prim.flag("physics:rigidBodyEnabled") == Some(false) {
            continue;
        }
        let path = &prim.path;
        let message = match prim.number("physics:mass") {
            _ if !prim.has("PhysicsMassAPI") => format!("the body {path} has no mass: it lacks PhysicsMassAPI"),
            None => format!("the body {path} has no mass"),
            Some(mass) if mass > 0.0 && mass.is_finite() => continue,
            Some(mass) => format!("the body {path} has a mass of {mass}"),
        };
        let help = "apply PhysicsMassAPI and author physics:mass above zero; what does not move needs no PhysicsRigidBodyAPI";
        findings.prim(&RULE.code, id, Some("physics:mass"), message, help);
    }
}
