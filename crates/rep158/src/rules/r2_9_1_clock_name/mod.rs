//! No topic is `/clock`.

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Error,
    meaning: "A topic of the asset is /clock.",
    outcome: "Two clocks run in the system, and every node with use_sim_time jumps between them.",
    demand: "The /clock topic is prohibited in assets.",
    section: ("Prohibited Interfaces", "§2.9"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        let Some(name) = interface.text("name") else {
            continue;
        };
        if ros::resolve_name(subject.stage, interface.id, name) == "/clock" {
            let message = format!("the topic {} is /clock", interface.prim.path);
            findings.prim(
                interface.id,
                Some("ros:topic:name"),
                message,
                "remove it: the simulator publishes the time",
            );
        }
    }
}
