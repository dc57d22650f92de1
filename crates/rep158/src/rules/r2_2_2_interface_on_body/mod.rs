//! Bodies are not ROS interfaces.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros;

rule! {
    severity: Error,
    meaning: "A body is itself a ROS interface.",
    outcome: "Replacing the link removes its topics, and the link has no place for a second \
              sensor.",
    demand: "Interfaces must be placed on a child Xform of the physical link, or on logical prims \
             apart from the links.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(|interface| is_body(interface.prim)) {
        let message = format!(
            "the {} {} is on a body itself, not on a child of it",
            interface.kind.label(),
            interface.prim.path
        );
        findings.prim(
            interface.id,
            None,
            message,
            "add a child Xform and move the ROS schema and its attributes there",
        );
    }
}
