//! `ros:frame:id` is a valid frame name.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "ros:frame:id is not a valid frame name.",
    outcome: "tf2 rejects the frame, or each program changes its name in its own way.",
    demand: "string ros:frame:id overrides the name of the TF frame, and must be a ROS name.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present_with("RosFrameAPI") {
        let name = "ros:frame:id";
        if let Some(fault) = prim.value(name).and_then(ros::frame_value_fault) {
            let message = format!("ros:frame:id of {} is {fault}", prim.path);
            findings.prim(
                id,
                Some(name),
                message,
                "use letters, digits and underscores, such as \"tool0\"",
            );
        }
    }
}
