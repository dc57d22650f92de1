//! That the file says that it uses the extension.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::NAME;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-not-declared",
        severity: Severity::Error,
        meaning: "The extension is there, but not listed in extensionsUsed.",
        outcome: "Loaders may ignore the extension, and the file is no valid glTF.",
    },
    demand: "The extension MUST be listed in `extensionsUsed`.",
    section: ("Overview", "#overview"),
    breaks: &[("/extensionsUsed", Some(r#"["KHR_node_visibility"]"#))],
    keeps: &[("/extensionsUsed", Some(r#"["EXT_robot_kinematics", "KHR_node_visibility"]"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.listed_in("extensionsUsed").is_none() {
        let message = format!("{NAME} is not listed in extensionsUsed");
        findings.report(&RULE.code, "/extensionsUsed", message, format!("add \"{NAME}\" to extensionsUsed"));
    }
}
