//! That viewers without the extension may show the file.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::NAME;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-required",
        severity: Severity::Warning,
        meaning: "The extension is listed in extensionsRequired, though the robot can be drawn without it.",
        outcome: "Viewers that do not know the extension refuse the file.",
    },
    demand: "It SHOULD NOT be listed in `extensionsRequired`.",
    section: ("Overview", "#overview"),
    breaks: &[("/extensionsRequired", Some(r#"["EXT_robot_kinematics"]"#))],
    keeps: &[("/extensionsRequired", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(place) = subject.listed_in("extensionsRequired") {
        let message = format!("{NAME} is listed in extensionsRequired, though any viewer can draw the robot without it");
        let help = format!("remove \"{NAME}\" from extensionsRequired");
        findings.report(&RULE.code, format!("/extensionsRequired/{place}"), message, help);
    }
}
