//! Topics have a role: publisher or subscription.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A topic has no valid role.",
    outcome: "Simulators skip the topic.",
    demand: "ros:topic:role is required: publisher or subscription.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let message = match interface.text("role") {
            Some(role) if Kind::Topic.roles().contains(&role) => continue,
            Some(role) => format!("the topic {} has the role \"{role}\"", interface.prim.path),
            None => format!("the topic {} has no role", interface.prim.path),
        };
        let help = "author `token ros:topic:role`, \"publisher\" or \"subscription\"";
        findings.prim(interface.id, Some("ros:topic:role"), message, help);
    }
}
