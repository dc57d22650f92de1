//! Interface types are fully qualified.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "The type of an interface is not of the form package/msg/Name.",
    outcome: "Simulators do not find the type and skip the interface.",
    demand: "ros:*:type names the interface in full, as in sensor_msgs/msg/Image: that is how it \
             is looked up in the ROS environment.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type") else {
            continue;
        };
        let folder = interface.kind.folder();
        let parts: Vec<&str> = name.split('/').collect();
        let is_word = |part: &str| ros::segment_fault(part).is_none();
        let meant = match parts.as_slice() {
            [package, middle, last] if *middle == folder && is_word(package) && is_word(last) => {
                continue;
            }
            [package, .., last] if is_word(package) && is_word(last) => {
                format!("{package}/{folder}/{last}")
            }
            _ => format!("package/{folder}/Name"),
        };
        let message = format!(
            "the {} {} has the type \"{name}\"",
            interface.kind.label(),
            interface.prim.path
        );
        let help = format!("write it as {meant}");
        findings.prim(
            interface.id,
            Some(&interface.attribute("type")),
            message,
            help,
        );
    }
}
