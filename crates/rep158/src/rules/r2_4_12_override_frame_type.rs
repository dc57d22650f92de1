//! That only messages with a frame get another one.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.12",
        severity: Severity::Warning,
        meaning: "A topic replaces the frame of messages that have none.",
        outcome: "It is ignored.",
    },
    demand: "override_frame_id is relevant only for message types with a std_msgs/Header.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Scope "Interfaces"
    {
        def Xform "interface" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform string ros:topic:name = "joint_states"
            uniform double ros:topic:publish_rate = 50
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "std_msgs/msg/String"
            uniform string ros:topic:override_frame_id = "map"
        }
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
    def Scope "Interfaces"
    {
        def Xform "interface" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform string ros:topic:name = "joint_states"
            uniform double ros:topic:publish_rate = 50
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
            uniform string ros:topic:override_frame_id = "map"
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Topic) {
        let (Some(frame), Some(name)) = (interface.text("override_frame_id"), interface.text("type")) else { continue };
        let has_none = match name.split_once("/msg/") {
            Some(("std_msgs", last)) => last != "Header",
            Some(("geometry_msgs", last)) => !last.ends_with("Stamped") && last != "PoseArray",
            _ => name == "tf2_msgs/msg/TFMessage",
        };
        if has_none {
            let message = format!("the topic {} has the frame {frame}, but {name} has no header", interface.prim.path);
            findings.prim(&RULE.code, interface.id, Some("ros:topic:override_frame_id"), message, "take the override away");
        }
    }
}
