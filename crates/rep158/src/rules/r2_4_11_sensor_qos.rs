//! That sensors and maps have the QoS that subscribers expect.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::ros::{self, Interface};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.4.11",
        severity: Severity::Warning,
        meaning: "A sensor is published as if every message counted, or a map as if only the next one did.",
        outcome: "Sensor data arrive late, or who subscribes later never gets the map.",
    },
    demand: "Simulated sensors should have the QoS system_default, map publishers transient_local (REP 2003).",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Xform "scan" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform string ros:topic:name = "scan"
            uniform double ros:topic:publish_rate = 10
            uniform token ros:topic:qos:reliability = "reliable"
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/LaserScan"
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
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Xform "scan" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform string ros:topic:name = "scan"
            uniform double ros:topic:publish_rate = 10
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/LaserScan"
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(Interface::is_publisher) {
        let path = &interface.prim.path;
        for policy in ["qos:reliability", "qos:durability"] {
            let said = interface.text(policy).unwrap_or("system_default");
            if interface.is_sensor() && matches!(said, "reliable" | "transient_local") {
                let message = format!("the sensor {path} is published as {said}");
                let help = "use \"system_default\", which is best effort for sensors";
                findings.prim(&RULE.code, interface.id, Some(&interface.attribute(policy)), message, help);
            }
        }
        let is_map = interface.text("type") == Some("nav_msgs/msg/OccupancyGrid")
            && interface.text("name").is_some_and(|name| ros::last(name) == "map");
        if is_map && interface.text("qos:durability") != Some("transient_local") {
            let message = format!("the map {path} is not kept for who subscribes later");
            let help = "author `token ros:topic:qos:durability = \"transient_local\"`";
            findings.prim(&RULE.code, interface.id, Some("ros:topic:qos:durability"), message, help);
        }
    }
}
