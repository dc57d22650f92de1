//! `match_publisher` is a Boolean, on subscriptions only.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:topic:qos:match_publisher is on a publisher, or not a Boolean.",
    outcome: "Simulators ignore it, and the QoS is not what its author expects.",
    demand: "bool ros:topic:qos:match_publisher is for subscriptions only.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let name = "ros:topic:qos:match_publisher";
        let message = match (interface.prim.value(name), interface.prim.flag(name)) {
            (None, _) | (_, Some(false)) => continue,
            (_, Some(true)) if !interface.is_publisher() => continue,
            (_, Some(true)) => format!(
                "the publisher {} sets {name}, which is for subscriptions",
                interface.prim.path
            ),
            (_, None) => format!(
                "the topic {} has a {name} that is not a Boolean",
                interface.prim.path
            ),
        };
        findings.prim(
            interface.id,
            Some(name),
            message,
            "remove it, or author it as `bool` on a subscription",
        );
    }
}
