//! That a joint follows another one.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-mimic-itself",
        severity: Severity::Error,
        meaning: "A joint follows itself.",
        outcome: "It has no position.",
    },
    demand: "A joint MUST NOT follow itself.",
    section: ("Mimics", "#mimics"),
    breaks: &[("models/0/joints/3/mimic", Some(r#"{"joint": 3}"#))],
    keeps: &[("models/0/joints/3/mimic", Some(r#"{"joint": 2}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        let driver = joint.mimic.as_ref().and_then(|mimic| mimic.joint);
        if driver == Some(joint.index) {
            let message = format!("{} follows itself", joint.title());
            findings.report(&RULE.code, format!("{}/mimic/joint", joint.pointer()), message, "name the joint that it follows");
        }
    }
}
