//! That interfaces are known without loading geometry.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.1",
        severity: Severity::Error,
        meaning: "A prim with a ROS schema is in a payload.",
        outcome: "Programs that leave payloads out do not offer it.",
    },
    demand: "Prims bearing Ros*API schemas must reside outside payloads.",
    section: ("Interface Placement", "§2.2"),
    breaks: &[
        (
            "robot.usda",
            Some(
                r#"def Xform "robot" (
    payload = @gripper.usda@</gripper>
)
{
}"#,
            ),
        ),
        (
            "gripper.usda",
            Some(
                r#"def Xform "gripper"
{
    def Xform "camera" (
        prepend apiSchemas = ["RosTopicAPI"]
    )
    {
    }
}"#,
            ),
        ),
    ],
    keeps: &[
        (
            "robot.usda",
            Some(
                r#"def Xform "robot" (
    references = @gripper.usda@</gripper>
)
{
}"#,
            ),
        ),
        (
            "gripper.usda",
            Some(
                r#"def Xform "gripper"
{
    def Xform "camera" (
        prepend apiSchemas = ["RosTopicAPI"]
    )
    {
    }
}"#,
            ),
        ),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        // Contexts have a rule of their own.
        if let Some(schema) = ros::in_payload(prim).find(|schema| *schema != "RosContextAPI") {
            let message = format!("{} has {schema} only when a payload is loaded", prim.path);
            findings.prim(&RULE.code, id, None, message, "put into the payload the geometry only, and the prim beside it");
        }
    }
}
