//! That a queue has room.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::Value;

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.9",
        severity: Severity::Error,
        meaning: "ros:topic:qos:depth is no number above zero.",
        outcome: "The middleware refuses the topic or loses every message.",
    },
    demand: "int ros:topic:qos:depth is the size of the queue, where the history is keep_last.",
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
            uniform int ros:topic:qos:depth = 0
            uniform token ros:topic:qos:history = "keep_last"
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
            uniform int ros:topic:qos:depth = 5
            uniform token ros:topic:qos:history = "keep_last"
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
        let name = "ros:topic:qos:depth";
        let is_used = interface.prim.text("ros:topic:qos:history") == Some("keep_last");
        let said = match interface.prim.value(name) {
            None | Some(Value::Int(1..)) => continue,
            // Nothing else looks at it.
            Some(Value::Int(0)) if !is_used => continue,
            Some(Value::Int(depth)) => format!("{depth}"),
            Some(_) => "no int".to_owned(),
        };
        let message = format!("the topic {} has a queue of {said}", interface.prim.path);
        findings.prim(&RULE.code, interface.id, Some(name), message, format!("author `int {name}`, 1 or above; 10 is usual"));
    }
}
