//! The file uses the extension.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::NAME;

rule! {
    severity: Error,
    meaning: "The file does not use EXT_robot_kinematics.",
    outcome: "Nothing else is checked.",
    demand: "The root object has the extension. (Whoever checks for robots expects one.)",
    section: ("Overview", "#overview"),
    turn: Gate,
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if subject.extension.is_some() {
        return;
    }
    let message = match subject.listed_in("extensionsUsed") {
        Some(_) => format!(
            "{NAME} is listed in extensionsUsed, but `extensions` of the root object does not have it"
        ),
        None => format!("the file does not use {NAME}: there is no robot to check"),
    };
    let help = "write the robot with `urdf_usd convert`, or add the extension to the root object's `extensions`";
    findings.report("/extensions", message, help);
}
