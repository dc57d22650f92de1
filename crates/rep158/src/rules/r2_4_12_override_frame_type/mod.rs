//! `override_frame_id` is on topics whose messages have a header.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Warning,
    meaning: "A topic overrides the frame of messages without a header.",
    outcome: "Simulators ignore the override.",
    demand: "override_frame_id is relevant only for message types with a std_msgs/Header.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let (Some(frame), Some(name)) =
            (interface.text("override_frame_id"), interface.text("type"))
        else {
            continue;
        };
        let lacks_header = match name.split_once("/msg/") {
            Some(("std_msgs", last)) => last != "Header",
            Some(("geometry_msgs", last)) => !last.ends_with("Stamped") && last != "PoseArray",
            _ => name == "tf2_msgs/msg/TFMessage",
        };
        if lacks_header {
            let message = format!(
                "the topic {} overrides its frame with {frame}, but {name} has no header",
                interface.prim.path
            );
            findings.prim(
                interface.id,
                Some("ros:topic:override_frame_id"),
                message,
                "remove the override",
            );
        }
    }
}
