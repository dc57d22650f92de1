//! That names are names of ROS.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.3.1",
        severity: Severity::Error,
        meaning: "The name of a topic, service or action is none that ROS takes.",
        outcome: "Simulators can not offer the interface.",
    },
    demand: "All ros:*:name values must adhere to the ROS naming rules: alphanumeric, underscores and forward slashes, not beginning with a number.",
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
            uniform string ros:topic:name = "joint-states"
            uniform double ros:topic:publish_rate = 50
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
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("name") else { continue };
        if let Some(fault) = ros::fault_of_name(name) {
            let message = format!("the {} \"{name}\" of {} {fault}", interface.kind.word(), interface.prim.path);
            let help = "use letters, digits and underscores between slashes, such as \"camera/image_raw\"";
            findings.prim(&RULE.code, interface.id, Some(&interface.attribute("name")), message, help);
        }
    }
}
