//! That types exist.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_diagnostic::{Suggestions, did_you_mean};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.3.3",
        severity: Severity::Warning,
        meaning: "The type of an interface is not in the ROS workspace.",
        outcome: "Simulators started from this workspace leave the interface out.",
    },
    demand: "Tooling must look ros:*:type up in the sourced ROS environment, and warn of a type that is not found.",
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
            uniform string ros:topic:type = "sensor_msgs/msg/JointStates"
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
    let Some(known) = &subject.options.interfaces else { return };
    let mut suggestions = Suggestions::default();
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type").filter(|name| !known.contains(*name)) else { continue };
        let near = suggestions.nearest(name, known.iter().map(String::as_str));
        let package = name.split('/').next().unwrap_or_default();
        let has_package = known.iter().any(|other| other.split('/').next() == Some(package));
        let message = format!(
            "the {} {} has the type {name}, which the workspace does not have",
            interface.kind.word(),
            interface.prim.path
        );
        let help = did_you_mean(near).unwrap_or_else(|| {
            if has_package {
                format!("see `ros2 interface package {package}` for what there is")
            } else {
                format!("install the package {package}, or correct the name")
            }
        });
        findings.prim(&RULE.code, interface.id, Some(&interface.attribute("type")), message, help);
    }
}
