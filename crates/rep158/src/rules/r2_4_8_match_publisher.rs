//! That only subscriptions adapt to publishers.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.8",
        severity: Severity::Error,
        meaning: "ros:topic:qos:match_publisher is on a publisher, or no truth value.",
        outcome: "It is ignored, and the QoS is another than its author expects.",
    },
    demand: "bool ros:topic:qos:match_publisher is for subscriptions only.",
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
            uniform bool ros:topic:qos:match_publisher = true
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
            uniform bool ros:topic:qos:match_publisher = false
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
        let name = "ros:topic:qos:match_publisher";
        let message = match (interface.prim.value(name), interface.prim.flag(name)) {
            (None, _) | (_, Some(false)) => continue,
            (_, Some(true)) if !interface.is_publisher() => continue,
            (_, Some(true)) => format!("the publisher {} is to match publishers", interface.prim.path),
            (_, None) => format!("the topic {} has a value for {name} that is no bool", interface.prim.path),
        };
        findings.prim(&RULE.code, interface.id, Some(name), message, "take it away, or author `bool` on a subscription");
    }
}
