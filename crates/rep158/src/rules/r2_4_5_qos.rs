//! That QoS policies exist.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::text;

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.5",
        severity: Severity::Warning,
        meaning: "A QoS policy of a topic is none that there is.",
        outcome: "Simulators take the default, and subscribers that expect otherwise get nothing.",
    },
    demand: "ros:topic:qos:reliability, durability and history have the values of rmw_qos_profile_t.",
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
            uniform token ros:topic:qos:reliability = "besteffort"
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
            uniform token ros:topic:qos:reliability = "best_effort"
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
        for (policy, values) in POLICIES {
            let name = format!("ros:topic:qos:{policy}");
            let Some(value) = interface.prim.value(&name) else { continue };
            let said = text(value).unwrap_or("no token");
            if !values.contains(&said) {
                let message = format!("the topic {} has the {policy} \"{said}\"", interface.prim.path);
                findings.prim(&RULE.code, interface.id, Some(&name), message, format!("use one of {}", values.join(", ")));
            }
        }
    }
}

/// The policies and their values.
const POLICIES: [(&str, [&str; 3]); 3] = [
    ("reliability", ["system_default", "reliable", "best_effort"]),
    ("durability", ["system_default", "transient_local", "volatile"]),
    ("history", ["system_default", "keep_last", "keep_all"]),
];
