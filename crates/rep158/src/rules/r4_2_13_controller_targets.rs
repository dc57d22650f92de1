//! That a controller says what it moves.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::control;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.13",
        severity: Severity::Error,
        meaning: "A controller names no targets.",
        outcome: "Simulators guess them by where it stands, or leave it out.",
    },
    demand: "Controllers must declare their targets by relationships or UsdCollectionAPI collections.",
    section: ("Control Schemas", "§4.2.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Scope "arm" (
        prepend apiSchemas = ["ControlJointTrajectoryAPI"]
    )
    {
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "hip"
    {
    }

    def Scope "arm" (
        prepend apiSchemas = ["ControlJointTrajectoryAPI"]
    )
    {
        rel control:targets = </robot/hip>
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Actuators have a rule of their own.
    for (id, prim) in control::controllers(subject.stage).filter(|(_, prim)| !prim.has("ExtendedPhysicsActuatorAPI")) {
        if control::targets(prim).next().is_none() {
            let message = format!("the controller {} does not say what it moves", prim.path);
            findings.prim(&RULE.code, id, None, message, "author a relationship to the joints that it moves");
        }
    }
}
