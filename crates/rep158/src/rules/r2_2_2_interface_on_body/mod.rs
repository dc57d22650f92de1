//! Bodies are no ROS interfaces.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros;

rule! {
    severity: Error,
    meaning: "A body is an interface.",
    outcome: "A link that is replaced takes its topics with it, and a second sensor has no place.",
    demand: "Interfaces must be placed on a child Xform of the physical link, or on logical prims \
             apart from the links.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(|interface| is_body(interface.prim)) {
        let message = format!(
            "the body {} is a {} itself: it has {}",
            interface.prim.path,
            interface.kind.word(),
            interface.kind.schema()
        );
        findings.prim(
            interface.id,
            None,
            message,
            "add a child Xform and move the ROS schema and its attributes there",
        );
    }
}
