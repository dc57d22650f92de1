//! ROS interfaces are outside of payloads.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A prim with a ROS schema is in a payload.",
    outcome: "Programs that skip payloads do not offer the interface.",
    demand: "Prims bearing Ros*API schemas must reside outside payloads.",
    section: ("Interface Placement", "§2.2"),
    breaks: ["robot.usda", "gripper.usda"],
    keeps: ["robot.usda", "gripper.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        // Contexts are left to REP158-2.1.1.
        if let Some(schema) = ros::in_payload(prim).find(|schema| *schema != "RosContextAPI") {
            let message = format!("{} has {schema} only when a payload is loaded", prim.path);
            findings.prim(
                id,
                None,
                message,
                "move only the geometry into the payload, and the prim beside it",
            );
        }
    }
}
