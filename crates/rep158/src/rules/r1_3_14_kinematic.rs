//! That bodies which an animation moves are kinematic.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.3.14",
        severity: Severity::Warning,
        meaning: "A body is animated, and physics moves it too.",
        outcome: "The animation and the engine pull at the same body.",
    },
    demand: "Moving bodies that are animated but not driven by physics should set physics:kinematicEnabled = true.",
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
        double3 xformOp:translate.timeSamples = {
            0: (0, 0, 0),
            1: (1, 0, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translate"]
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
        bool physics:kinematicEnabled = true
        float physics:mass = 1
        double3 xformOp:translate.timeSamples = {
            0: (0, 0, 0),
            1: (1, 0, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translate"]
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
        let is_animated = prim.xform().ops.iter().any(|op| op.is_animated);
        if is_animated && prim.flag("physics:kinematicEnabled") != Some(true) {
            let message = format!("the body {} has time samples for its place, but is not kinematic", prim.path);
            let help = "author `bool physics:kinematicEnabled = true`, or take the time samples away";
            findings.prim(&RULE.code, id, Some("physics:kinematicEnabled"), message, help);
        }
    }
}
