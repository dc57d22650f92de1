//! That a topic says by yes or no whether it starts enabled.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Kind};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.6",
        severity: Severity::Error,
        meaning: "ros:topic:starts_enabled is no truth value.",
        outcome: "Simulators start the interface although it was meant to wait.",
    },
    demand: "bool ros:topic:starts_enabled says whether the interface is enabled at load time.",
    section: ("Interface Resolution", "§2.3"),
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
            uniform token ros:topic:starts_enabled = "no"
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
            uniform bool ros:topic:starts_enabled = false
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
        let name = "ros:topic:starts_enabled";
        if interface.prim.value(name).is_some() && interface.prim.flag(name).is_none() {
            let message = format!("the topic {} has a value for {name} that is no bool", interface.prim.path);
            findings.prim(&RULE.code, interface.id, Some(name), message, format!("author `bool {name}`, true or false"));
        }
    }
}
