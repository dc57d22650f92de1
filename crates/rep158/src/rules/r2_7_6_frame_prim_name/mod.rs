//! Prim names that serve as frame names are valid in ROS.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "The prim name of a frame is not a valid ROS name.",
    outcome: "Each simulator changes the name in its own way.",
    demand: "Frames without ros:frame:id have the prim name, as validated for ROS.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for frame in ros::frames(subject.stage, &subject.physics)
        .into_iter()
        .filter(|frame| !frame.is_named)
    {
        if let Some(fault) = ros::frame_fault(frame.name) {
            let message = format!(
                "the name of the frame {} {fault}",
                subject.stage[frame.id].path
            );
            let help = "rename the prim with letters, digits and underscores; a prim that is not a body may set `ros:frame:id` instead";
            findings.prim(frame.id, None, message, help);
        }
    }
}
