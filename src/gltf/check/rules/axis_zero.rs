//! That an axis has a direction.

use super::super::basis;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-axis-zero",
        severity: Severity::Error,
        meaning: "An axis has no length.",
        outcome: "There is no direction to move along or turn about.",
    },
    demand: "An axis MUST NOT be zero.",
    section: ("Degrees of freedom", "#degrees-of-freedom"),
    breaks: &[("models/0/joints/0/dofs/0/axis", Some("[0, 0, 0]"))],
    keeps: &[("models/0/joints/0/dofs/0/axis", Some("[0, 1, 0]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        for (k, axis) in joint.dofs.iter().enumerate().filter_map(|(k, dof)| Some((k, dof.axis?))) {
            if basis::is_zero(&axis) {
                let message = format!("{}: the axis of degree of freedom {k} is zero", joint.title());
                let at = format!("{}/dofs/{k}/axis", joint.pointer());
                findings.report(&RULE.code, at, message, "give the direction of the axis, of length 1");
            }
        }
    }
}
