//! That positions of a floating joint mean the same in the source.

use super::super::basis;
use super::super::findings::Findings;
use super::super::basis::Triple;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-floating-order",
        severity: Severity::Warning,
        meaning: "The axes of a floating joint are not [0, 0, 1], [1, 0, 0], [0, 1, 0]: x, y and z of the joint's frame in \
                   glTF axes.",
        outcome: "Positions x y z and roll pitch yaw of the source mean other motions.",
    },
    demand: "They SHOULD be `[0, 0, 1]`, `[1, 0, 0]`, `[0, 1, 0]`.",
    section: ("Joints", "#joints"),
    breaks: &[
        ("models/0/joints/5/dofs/0/axis", Some("[1, 0, 0]")),
        ("models/0/joints/5/dofs/1/axis", Some("[0, 1, 0]")),
        ("models/0/joints/5/dofs/2/axis", Some("[0, 0, 1]")),
    ],
    keeps: &[
        ("models/0/joints/5/dofs/0/axis", Some("[0, 0, 1]")),
        ("models/0/joints/5/dofs/1/axis", Some("[1, 0, 0]")),
        ("models/0/joints/5/dofs/2/axis", Some("[0, 1, 0]")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let is_wrong = |triple: &Triple| triple.is_right_handed() && !triple.is_in_ros_order();
    for (joint, triple) in basis::of_floating(subject).filter(|(_, triple)| is_wrong(triple)) {
        let (what, list) = (triple.what, triple.in_words());
        let message = format!("{}: its {what} are along {list}, not along x, y and z of the source", joint.title());
        findings.report(&RULE.code, triple.pointer(joint), message, basis::FLOATING_HELP);
    }
}
