//! Queue depths are positive integers.

use urdf_usd_stage::Value;

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:topic:qos:depth is not a positive number.",
    outcome: "The middleware rejects the topic or loses every message.",
    demand: "int ros:topic:qos:depth is the size of the queue, where the history is keep_last.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let name = "ros:topic:qos:depth";
        let is_used = interface.prim.text("ros:topic:qos:history") == Some("keep_last");
        let depth = match interface.prim.value(name) {
            None | Some(Value::Int(1..)) => continue,
            // Only keep_last uses the depth.
            Some(Value::Int(0)) if !is_used => continue,
            Some(Value::Int(depth)) => format!("{depth}"),
            Some(_) => "not an int".to_owned(),
        };
        let message = format!(
            "the queue depth of the topic {} is {depth}",
            interface.prim.path
        );
        findings.prim(
            interface.id,
            Some(name),
            message,
            format!("author `int {name}`, 1 or above; 10 is usual"),
        );
    }
}
