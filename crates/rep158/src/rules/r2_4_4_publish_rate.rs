//! That a publisher says how often it sends.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.4",
        severity: Severity::Error,
        meaning: "A publisher has no rate above zero.",
        outcome: "Simulators do not publish, or as often as they can.",
    },
    demand: "ros:topic:publish_rate, in Hz, is required for publishers.",
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
            uniform double ros:topic:publish_rate = 0
            uniform token ros:topic:role = "publisher"
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
    for interface in ros::interfaces(subject.stage).filter(ros::Interface::is_publisher) {
        let name = "ros:topic:publish_rate";
        let message = match interface.prim.number(name) {
            Some(rate) if rate > 0.0 && rate.is_finite() => continue,
            Some(rate) => format!("the publisher {} has a rate of {rate} Hz", interface.prim.path),
            None => format!("the publisher {} has no rate", interface.prim.path),
        };
        findings.prim(&RULE.code, interface.id, Some(name), message, format!("author `double {name}` in Hz, above zero"));
    }
}
