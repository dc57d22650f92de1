//! That the file shows the robot with every joint at zero.

use super::super::findings::Findings;
use super::super::rest::{Displaced, displaced, dof_title};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-dof-node-rest",
        severity: Severity::Warning,
        meaning: "A dof node is not at identity at rest.",
        outcome: "The file shows the robot in another pose than at zero, or the joint's origin is in two places.",
    },
    demand: "A dof node SHOULD be at identity at rest.",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/5/translation", Some("[0, 0.2, 0]"))],
    keeps: &[("/nodes/5/translation", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for Displaced { joint, k, node, transform, .. } in displaced(subject).filter(|dof| dof.is_motion) {
        let message = format!("{} {} at rest", dof_title(subject, joint, k, node), transform.in_words());
        let help = "leave dof nodes at identity: fixed transforms belong into originNode, positions into `default`";
        findings.report(&RULE.code, format!("/nodes/{node}"), message, help);
    }
}
