//! Sensor and map topics have the QoS that subscribers expect.

use super::{Findings, Subject, rule};
use crate::ros::{self, Interface};

rule! {
    severity: Warning,
    meaning: "A sensor is published with reliable or transient_local QoS, or a map without \
              transient_local.",
    outcome: "Sensor data arrive late, or late subscribers never get the map.",
    demand: "Simulated sensors should have the QoS system_default, map publishers transient_local \
             (REP 2003).",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(Interface::is_publisher) {
        let path = &interface.prim.path;
        for policy in ["qos:reliability", "qos:durability"] {
            let value = interface.text(policy).unwrap_or("system_default");
            if interface.is_sensor() && matches!(value, "reliable" | "transient_local") {
                let message = format!("the sensor {path} is published as {value}");
                let help = "use \"system_default\", which is best effort for sensors";
                findings.prim(
                    interface.id,
                    Some(&interface.attribute(policy)),
                    message,
                    help,
                );
            }
        }
        let is_map = interface.text("type") == Some("nav_msgs/msg/OccupancyGrid")
            && interface
                .text("name")
                .is_some_and(|name| ros::last_segment(name) == "map");
        if is_map && interface.text("qos:durability") != Some("transient_local") {
            let message = format!("the map {path} is not kept for late subscribers");
            let help = "author `token ros:topic:qos:durability = \"transient_local\"`";
            findings.prim(
                interface.id,
                Some("ros:topic:qos:durability"),
                message,
                help,
            );
        }
    }
}
