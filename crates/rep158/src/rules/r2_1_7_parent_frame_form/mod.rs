//! `ros:context:parent_frame` is a valid frame name.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "ros:context:parent_frame is not a valid frame name.",
    outcome: "TF does not connect the robot with any other frame.",
    demand: "string ros:context:parent_frame is the parent frame of the robot, \"world\" by \
             default.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:parent_frame";
        if let Some(fault) = prim.value(name).and_then(ros::frame_value_fault) {
            let message = format!("the parent frame of {} is {fault}", prim.path);
            findings.prim(
                id,
                Some(name),
                message,
                "name a frame such as \"world\" or \"map\"",
            );
        }
    }
}
