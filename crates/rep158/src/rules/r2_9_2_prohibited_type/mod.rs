//! No interface publishes the clock or controls the simulation.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "An interface of the asset is one of the simulator: the clock, or of the package \
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
                "the {} {} is of {name}, which is the simulator's",
                interface.kind.word(),
                interface.prim.path
            );
            findings.prim(
                interface.id,
                Some(&interface.attribute("type")),
                message,
                "take it away: simulators offer it themselves",
            );
        }
    }
}
