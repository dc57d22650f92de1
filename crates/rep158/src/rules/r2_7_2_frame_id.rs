//! That frame names are names of ROS.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.2",
        severity: Severity::Warning,
        meaning: "ros:frame:id is no frame name.",
        outcome: "tf2 refuses the frame, or programs change its name each in its own way.",
    },
    demand: "string ros:frame:id overrides the name of the TF frame, and must be a ROS name.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "tool0" (
        prepend apiSchemas = ["RosFrameAPI"]
    )
    {
        uniform string ros:frame:id = "/tool0"
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
    def Xform "tool0" (
        prepend apiSchemas = ["RosFrameAPI"]
    )
    {
        uniform string ros:frame:id = "tool0"
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.has("RosFrameAPI")) {
        let name = "ros:frame:id";
        if let Some(fault) = prim.value(name).and_then(ros::fault_of_frame_value) {
            let message = format!("the frame {} has the name {fault}", prim.path);
            findings.prim(&RULE.code, id, Some(name), message, "use letters, digits and underscores, such as \"tool0\"");
        }
    }
}
