//! No interface publishes the clock or controls the simulation.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "An interface of the asset belongs to the simulator: the clock, or one of the package \
              simulation_interfaces.",
    outcome: "Two programs answer the same calls.",
    demand: "rosgraph_msgs/msg/Clock and all of the package simulation_interfaces are prohibited \
             in assets.",
    section: ("Prohibited Interfaces", "§2.9"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type") else {
            continue;
        };
        let is_clock = matches!(name, "rosgraph_msgs/msg/Clock" | "rosgraph_msgs/Clock");
        if is_clock || name.split('/').next() == Some("simulation_interfaces") {
            let message = format!(
                "the {} {} has the type {name}, which is reserved for the simulator",
                interface.kind.label(),
                interface.prim.path
            );
            findings.prim(
                interface.id,
                Some(&interface.attribute("type")),
                message,
                "remove it: simulators offer it themselves",
            );
        }
    }
}
