//! That only frames from outside replace the own one.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.10",
        severity: Severity::Error,
        meaning: "ros:topic:override_frame_id names a frame of the asset itself.",
        outcome: "The frame says nothing of where the sensor is, and is wrong as soon as the asset is renamed.",
    },
    demand: "override_frame_id must only be used for external global frames that cannot exist in the USD stage.",
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
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
            uniform string ros:topic:override_frame_id = "robot"
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
    let frames = ros::frames(subject.stage, &subject.physics);
    for interface in ros::interfaces(subject.stage).filter(|interface| interface.kind == Kind::Topic) {
        let Some(frame) = interface.text("override_frame_id") else { continue };
        let name = ros::last(frame);
        if let Some(here) = frames.iter().find(|here| here.name == name) {
            let own = &subject.stage[here.id].path;
            let message = format!("the topic {} has the frame {frame}, which is {own}", interface.prim.path);
            let help = format!("move the topic into {own}, and take the override away");
            findings.prim(&RULE.code, interface.id, Some("ros:topic:override_frame_id"), message, help);
        }
    }
}
