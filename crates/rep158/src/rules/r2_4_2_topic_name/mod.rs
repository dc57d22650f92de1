//! Topics have a name.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A topic has no name.",
    outcome: "Simulators skip the topic.",
    demand: "ros:topic:name is required.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        if interface.text("name").is_none() {
            let message = format!("the topic {} has no name", interface.prim.path);
            findings.prim(
                interface.id,
                Some("ros:topic:name"),
                message,
                "author `string ros:topic:name`, relative to the namespace",
            );
        }
    }
}
