//! That a floating joint reaches every pose.

use super::super::basis;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-floating-basis",
        severity: Severity::Error,
        meaning: "The translations or the rotations of a floating joint are not along three axes at right angles, in \
                   right-handed order.",
        outcome: "Some poses can't be reached, or are mirrored.",
    },
    demand: "The three axes of the translations of a floating joint, and those of its rotations, MUST be at right angles in \
              right-handed order.",
    section: ("Joints", "#joints"),
    breaks: &[("models/0/joints/5/dofs/2/axis", Some("[0, 0, 1]"))],
    keeps: &[("models/0/joints/5/dofs/2/axis", Some("[0, 1, 0]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (joint, triple) in basis::of_floating(subject).filter(|(_, triple)| !triple.is_right_handed()) {
        let (what, list) = (triple.what, triple.in_words());
        let message = format!("{}: its {what} are along {list}, which is no right-handed basis", joint.title());
        findings.report(&RULE.code, triple.pointer(joint), message, basis::FLOATING_HELP);
    }
}
