//! That types are named in full.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.3.2",
        severity: Severity::Error,
        meaning: "The type of an interface is not of the form package/msg/Name.",
        outcome: "Simulators do not find the type and leave the interface out.",
    },
    demand: "ros:*:type names the interface in full, as in sensor_msgs/msg/Image: that is how it is looked up in the ROS environment.",
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
            uniform string ros:topic:type = "sensor_msgs/JointState"
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
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type") else { continue };
        let folder = interface.kind.folder();
        let parts: Vec<&str> = name.split('/').collect();
        let is_word = |part: &str| ros::fault_of_segment(part).is_none();
        let meant = match parts.as_slice() {
            [package, middle, last] if *middle == folder && is_word(package) && is_word(last) => continue,
            [package, .., last] if is_word(package) && is_word(last) => format!("{package}/{folder}/{last}"),
            _ => format!("package/{folder}/Name"),
        };
        let message = format!("the {} {} has the type \"{name}\"", interface.kind.word(), interface.prim.path);
        let help = format!("write it as {meant}");
        findings.prim(&RULE.code, interface.id, Some(&interface.attribute("type")), message, help);
    }
}
