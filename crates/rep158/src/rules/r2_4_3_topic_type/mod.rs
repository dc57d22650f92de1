//! Topics have a type.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A topic has no message type.",
    outcome: "Simulators skip the topic.",
    demand: "ros:topic:type is required.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        if interface.text("type").is_none() {
            let message = format!("the topic {} has no type", interface.prim.path);
            findings.prim(
                interface.id,
                Some("ros:topic:type"),
                message,
                "author `string ros:topic:type`, such as \"sensor_msgs/msg/Image\"",
            );
        }
    }
}
