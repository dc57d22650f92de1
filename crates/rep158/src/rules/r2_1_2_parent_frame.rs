//! That only the robot as a whole says which frame it is in.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.1.2",
        severity: Severity::Warning,
        meaning: "A context within another says a parent frame.",
        outcome: "It is ignored: the frame is not where its author expects it in TF.",
    },
    demand: "ros:context:parent_frame is only valid for the topmost context and ignored otherwise.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "camera" (
        prepend apiSchemas = ["RosContextAPI"]
    )
    {
        uniform string ros:context:parent_frame = "map"
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    uniform string ros:context:parent_frame = "map"
    def Xform "camera" (
        prepend apiSchemas = ["RosContextAPI"]
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
    let stage = subject.stage;
    let name = "ros:context:parent_frame";
    for (id, prim) in ros::contexts(stage).filter(|(_, prim)| prim.value(name).is_some()) {
        let Some(top) = ros::robot_of(stage, id).filter(|&top| top != id) else { continue };
        let message = format!("{} says {name}, but stands within the context {}", prim.path, stage[top].path);
        findings.prim(&RULE.code, id, Some(name), message, format!("say it on {}, or take it away", stage[top].path));
    }
}
