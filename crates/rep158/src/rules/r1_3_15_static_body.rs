//! That what stands still is no body.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.15",
        severity: Severity::Error,
        meaning: "A prim has PhysicsRigidBodyAPI and switches it off.",
        outcome: "Some programs take it for a body that moves, others for a wall.",
    },
    demand: "Fixed props must have PhysicsCollisionAPI and omit PhysicsRigidBodyAPI.",
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
        float physics:mass = 1
        bool physics:rigidBodyEnabled = false
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
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
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
        let name = "physics:rigidBodyEnabled";
        if prim.flag(name) == Some(false) {
            let message = format!("the body {} is switched off, so it stands still", prim.path);
            let help =
                "take PhysicsRigidBodyAPI away; a robot's base keeps it and is held by a fixed joint with an empty body0";
            findings.prim(&RULE.code, id, Some(name), message, help);
        }
    }
}
