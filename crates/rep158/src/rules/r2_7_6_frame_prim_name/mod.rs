//! Prim names that serve as frame names are valid in ROS.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "A prim that is a frame has a name that ROS does not take.",
    outcome: "Simulators change the name, each in its own way.",
    demand: "Frames without ros:frame:id have the prim name, as validated for ROS.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for frame in ros::frames(subject.stage, &subject.physics)
        .into_iter()
        .filter(|frame| !frame.is_named)
    {
        if let Some(fault) = ros::fault_of_frame(frame.name) {
            let message = format!(
                "the name of {} is that of a frame, but {fault}",
                subject.stage[frame.id].path
            );
            let help = "rename the prim with letters, digits and underscores; a prim that is no body may say another by `ros:frame:id`";
            findings.prim(frame.id, None, message, help);
        }
    }
}
