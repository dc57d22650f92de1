//! Publishers have a positive rate.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A publisher has no positive rate.",
    outcome: "Simulators do not publish, or publish as often as they can.",
    demand: "ros:topic:publish_rate, in Hz, is required for publishers.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage).filter(ros::Interface::is_publisher) {
        let name = "ros:topic:publish_rate";
        let message = match interface.prim.number(name) {
            Some(rate) if rate > 0.0 && rate.is_finite() => continue,
            Some(rate) => format!(
                "the publisher {} has a rate of {rate} Hz",
                interface.prim.path
            ),
            None => format!("the publisher {} has no rate", interface.prim.path),
        };
        findings.prim(
            interface.id,
            Some(name),
            message,
            format!("author `double {name}` in Hz, above zero"),
        );
    }
}
