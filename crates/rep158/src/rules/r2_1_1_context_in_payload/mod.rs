//! ROS contexts are outside of payloads.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A RosContextAPI prim is in a payload.",
    outcome: "Programs that skip payloads give the topics below other names.",
    demand: "RosContextAPI prims must reside outside payload arcs.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
    breaks: ["robot.usda", "gripper.usda"],
    keeps: ["robot.usda", "gripper.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in ros::contexts(subject.stage)
        .filter(|(_, prim)| ros::in_payload(prim).any(|schema| schema == "RosContextAPI"))
    {
        let message = format!(
            "{} has RosContextAPI only when a payload is loaded",
            prim.path
        );
        findings.prim(
            id,
            None,
            message,
            "bring the prim in through a reference, or move RosContextAPI above the payload",
        );
    }
}
