//! Only the topmost ROS context has a parent frame.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "A nested context sets a parent frame.",
    outcome: "Simulators ignore it: the frame is not where its author expects it in TF.",
    demand: "ros:context:parent_frame is only valid for the topmost context and ignored otherwise.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let name = "ros:context:parent_frame";
    for (id, prim) in ros::contexts(stage).filter(|(_, prim)| prim.value(name).is_some()) {
        let Some(top) = ros::robot_of(stage, id).filter(|&top| top != id) else {
            continue;
        };
        let message = format!(
            "{} sets {name}, but is inside of the context {}",
            prim.path, stage[top].path
        );
        findings.prim(
            id,
            Some(name),
            message,
            format!("set it on {}, or remove it", stage[top].path),
        );
    }
}
