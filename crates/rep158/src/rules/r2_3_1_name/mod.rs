//! Names of topics, services and actions are valid ROS names.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "The name of a topic, service or action is none that ROS takes.",
    outcome: "Simulators can not offer the interface.",
    demand: "All ros:*:name values must adhere to the ROS naming rules: alphanumeric, underscores \
             and forward slashes, not beginning with a number.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("name") else {
            continue;
        };
        if let Some(fault) = ros::fault_of_name(name) {
            let message = format!(
                "the {} \"{name}\" of {} {fault}",
                interface.kind.word(),
                interface.prim.path
            );
            let help =
                "use letters, digits and underscores between slashes, such as \"camera/image_raw\"";
            findings.prim(
                interface.id,
                Some(&interface.attribute("name")),
                message,
                help,
            );
        }
    }
}
