//! Names of topics, services and actions are valid ROS names.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "The name of a topic, service or action is not a valid ROS name.",
    outcome: "Simulators cannot offer the interface.",
    demand: "All ros:*:name values must adhere to the ROS naming rules: alphanumeric, underscores \
             and forward slashes, not beginning with a number.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("name") else {
            continue;
        };
        if let Some(fault) = ros::name_fault(name) {
            let message = format!(
                "the {} \"{name}\" of {} {fault}",
                interface.kind.label(),
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
