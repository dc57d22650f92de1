//! That controllers are apart from what they move.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::control;
use crate::findings::Findings;
use crate::physics::{is_body, is_joint, is_shape};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.12",
        severity: Severity::Warning,
        meaning: "A controller is a body, a joint or a shape, or stands in a body.",
        outcome: "Who replaces the link loses the controller.",
    },
    demand: "Controllers should be on dedicated logical prims (e.g. /Robot/Controllers), apart from the rigid bodies.",
    section: ("Control Schemas", "§4.2.3"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def PhysicsRevoluteJoint "hip" (
        prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
    )
    {
        rel ext_physics:actuator:targets = </robot/hip>
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

    def Scope "Controllers"
    {
        def Scope "motor" (
            prepend apiSchemas = ["ExtendedPhysicsActuatorAPI"]
        )
        {
            rel ext_physics:actuator:targets = </robot/hip>
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in control::controllers(stage) {
        let is = if is_body(prim) {
            "is a body".to_owned()
        } else if is_joint(prim) {
            "is a joint".to_owned()
        } else if is_shape(prim) {
            "is a shape".to_owned()
        } else if let Some(body) = stage.ancestors(id).find(|&id| is_body(&stage[id])) {
            format!("stands in the link {}", stage[body].path)
        } else {
            continue;
        };
        let message = format!("the controller {} {is}", prim.path);
        findings.prim(
            &RULE.code,
            id,
            None,
            message,
            "move it to a prim of its own, such as /robot/Controllers/arm, with its targets",
        );
    }
}
