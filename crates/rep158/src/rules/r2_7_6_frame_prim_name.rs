//! That a prim's name can be a frame's.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.7.6",
        severity: Severity::Warning,
        meaning: "A prim that is a frame has a name that ROS does not take.",
        outcome: "Simulators change the name, each in its own way.",
    },
    demand: "Frames without ros:frame:id have the prim name, as validated for ROS.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "größe" (
        prepend apiSchemas = ["RosFrameAPI"]
    )
    {
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
    def Xform "size" (
        prepend apiSchemas = ["RosFrameAPI"]
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
    for frame in ros::frames(subject.stage, &subject.physics).into_iter().filter(|frame| !frame.is_named) {
        if let Some(fault) = ros::fault_of_frame(frame.name) {
            let message = format!("the name of {} is that of a frame, but {fault}", subject.stage[frame.id].path);
            let help = "rename the prim with letters, digits and underscores; a prim that is no body may say another by `ros:frame:id`";
            findings.prim(&RULE.code, frame.id, None, message, help);
        }
    }
}
