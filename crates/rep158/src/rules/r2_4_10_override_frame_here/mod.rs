//! `override_frame_id` names frames outside of the asset only.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "ros:topic:override_frame_id names a frame of the asset itself.",
    outcome: "The frame does not show where the sensor is, and becomes wrong when the asset is \
              renamed.",
    demand: "override_frame_id must only be used for external global frames that cannot exist in \
             the USD stage.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let frames = ros::frames(subject.stage, &subject.physics);
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let Some(frame) = interface.text("override_frame_id") else {
            continue;
        };
        let name = ros::last_segment(frame);
        if let Some(here) = frames.iter().find(|here| here.name == name) {
            let own = &subject.stage[here.id].path;
            let message = format!(
                "the topic {} overrides its frame with {frame}, which is {own}",
                interface.prim.path
            );
            let help = format!("move the topic into {own}, and remove the override");
            findings.prim(
                interface.id,
                Some("ros:topic:override_frame_id"),
                message,
                help,
            );
        }
    }
}
