//! That a topic says who sends.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.1",
        severity: Severity::Error,
        meaning: "A topic is neither published nor subscribed.",
        outcome: "Simulators leave it out.",
    },
    demand: "ros:topic:role is required: publisher or subscription.",
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
            uniform token ros:topic:role = "subscriber"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
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
        let message = match interface.text("role") {
            Some(role) if Kind::Topic.roles().contains(&role) => continue,
            Some(role) => format!("the topic {} has the role \"{role}\"", interface.prim.path),
            None => format!("the topic {} has no role", interface.prim.path),
        };
        let help = "author `token ros:topic:role`, \"publisher\" or \"subscription\"";
        findings.prim(&RULE.code, interface.id, Some("ros:topic:role"), message, help);
    }
}
