//! That the file has the extension.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::NAME;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-missing",
        severity: Severity::Error,
        meaning: "The file does not use EXT_robot_kinematics.",
        outcome: "Nothing else is checked.",
    },
    demand: "The root object has the extension. (Whoever checks for robots expects one.)",
    section: ("Overview", "#overview"),
    breaks: &[("/extensions", Some(r#"{"EXT_other": {}}"#))],
    keeps: &[
        ("/extensions", Some(r#"{"EXT_robot_kinematics": {"models": [{"name": "robot", "rootNode": 0, "links": [{"name": "base", "node": 1}], "joints": []}]}}"#)),
    ],
    turn: Turn::Gate,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.extension.is_some() {
        return;
    }
    let message = match subject.listed_in("extensionsUsed") {
        Some(_) => format!("{NAME} is listed in extensionsUsed, but `extensions` of the root object does not have it"),
        None => format!("the file does not use {NAME}: there is no robot to check"),
    };
    let help = "write the robot with `urdf_usd convert`, or add the extension to the root object's `extensions`";
    findings.report(&RULE.code, "/extensions", message, help);
}
