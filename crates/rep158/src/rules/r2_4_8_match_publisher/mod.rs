//! `match_publisher` is a Boolean, on subscriptions only.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:topic:qos:match_publisher is on a publisher, or no truth value.",
    outcome: "It is ignored, and the QoS is another than its author expects.",
    demand: "bool ros:topic:qos:match_publisher is for subscriptions only.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::of_kind(subject.stage, Kind::Topic) {
        let name = "ros:topic:qos:match_publisher";
        let message = match (interface.prim.value(name), interface.prim.flag(name)) {
            (None, _) | (_, Some(false)) => continue,
            (_, Some(true)) if !interface.is_publisher() => continue,
            (_, Some(true)) => format!(
                "the publisher {} is to match publishers",
                interface.prim.path
            ),
            (_, None) => format!(
                "the topic {} has a value for {name} that is no bool",
                interface.prim.path
            ),
        };
        findings.prim(
            interface.id,
            Some(name),
            message,
            "take it away, or author `bool` on a subscription",
        );
    }
}
