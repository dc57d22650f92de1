//! `ros:context:parent_frame` is a valid frame name.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "ros:context:parent_frame is no frame name.",
    outcome: "The robot hangs in the air: TF does not connect it with anything.",
    demand: "string ros:context:parent_frame is the parent frame of the robot, \"world\" where \
             nothing is said.",
    section: ("The ROS Context (RosContextAPI)", "§2.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage) {
        let name = "ros:context:parent_frame";
        if let Some(fault) = prim.value(name).and_then(ros::fault_of_frame_value) {
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
