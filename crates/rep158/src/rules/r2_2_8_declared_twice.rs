//! That an interface is there once.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.2.8",
        severity: Severity::Error,
        meaning: "An execution graph offers an interface that the asset declares.",
        outcome: "Each message is published twice, or two servers answer.",
    },
    demand: "Assets must not duplicate the same ROS interface in another form.",
    section: ("ROS Integration Schemas", "§2"),
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
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:name = "joint_states"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
            uniform double ros:topic:publish_rate = 50
        }
    }

    def OmniGraph "graph"
    {
        def OmniGraphNode "publisher"
        {
            custom string inputs:topicName = "joint_states"
            token node:type = "isaacsim.ros2.bridge.ROS2PublishJointState"
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
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:name = "joint_states"
            uniform string ros:topic:type = "sensor_msgs/msg/JointState"
            uniform double ros:topic:publish_rate = 50
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let declared: Vec<&str> = ros::interfaces(stage).filter_map(|interface| interface.text("name")).map(ros::last).collect();
    for (id, prim) in stage.iter().filter(|(_, prim)| prim.is_present()) {
        let Some(node) = prim.text("node:type").filter(|node| node.to_lowercase().contains("ros2")) else { continue };
        let names =
            ["inputs:topicName", "inputs:serviceName", "inputs:actionName"].into_iter().filter_map(|name| prim.text(name));
        for name in names.filter(|name| declared.contains(&ros::last(name))) {
            let message = format!("the graph node {} ({node}) offers {name}, which the asset declares already", prim.path);
            findings.prim(&RULE.code, id, None, message, "take the node away: simulators make it from the declaration");
        }
    }
}
