//! That namespaces are known without loading geometry.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.1.1",
        severity: Severity::Error,
        meaning: "A RosContextAPI prim is in a payload.",
        outcome: "Programs that leave payloads out give the topics below other names.",
    },
    demand: "RosContextAPI prims must reside outside payload arcs.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
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
        prepend apiSchemas = ["RosContextAPI"]
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
        prepend apiSchemas = ["RosContextAPI"]
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
    for (id, prim) in ros::contexts(subject.stage).filter(|(_, prim)| ros::in_payload(prim).any(|schema| schema == "RosContextAPI")) {
        let message = format!("{} has RosContextAPI only when a payload is loaded", prim.path);
        findings.prim(
            &RULE.code,
            id,
            None,
            message,
            "bring the prim in by a reference, or move RosContextAPI above the payload",
        );
    }
}
