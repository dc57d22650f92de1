//! `override_frame_id` is a valid frame name.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:topic:override_frame_id is not a valid frame name.",
    outcome: "Subscribers do not find the frame in TF.",
    demand: "string ros:topic:override_frame_id names the frame of the messages, such as map.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let name = "ros:topic:override_frame_id";
        if let Some(fault) = interface.prim.value(name).and_then(ros::frame_value_fault) {
            let message = format!(
                "override_frame_id of the topic {} is {fault}",
                interface.prim.path
            );
            findings.prim(
                interface.id,
                Some(name),
                message,
                "name a frame such as \"map\" or \"earth\"",
            );
        }
    }
}
