//! That the frame in which a robot stands is one.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.1.7",
        severity: Severity::Error,
        meaning: "ros:context:parent_frame is no frame name.",
        outcome: "The robot hangs in the air: TF does not connect it with anything.",
    },
    demand: "string ros:context:parent_frame is the parent frame of the robot, \"world\" where nothing is said.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    uniform string ros:context:parent_frame = "/my map"
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
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:parent_frame";
        if let Some(fault) = prim.value(name).and_then(ros::fault_of_frame_value) {
            let message = format!("the parent frame of {} is {fault}", prim.path);
            findings.prim(&RULE.code, id, Some(name), message, "name a frame such as \"world\" or \"map\"");
        }
    }
}
