//! That dof nodes have channels to set.

use super::super::findings::Findings;
use super::super::rest::dof_title;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-dof-node-matrix",
        severity: Severity::Error,
        meaning: "A dof node has a matrix.",
        outcome: "Loaders and animations set translation or rotation, which a node with a matrix does not have.",
    },
    demand: "A dof node MUST NOT have a `matrix`.",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/5/matrix", Some("[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]"))],
    keeps: &[("/nodes/5/matrix", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        for (k, node, _) in joint.driven() {
            if subject.asset.nodes.get(node).is_some_and(|node| node.member("matrix").is_some()) {
                let message = format!("{} has a matrix", dof_title(subject, joint, k, node));
                let help = "leave the matrix out: dof nodes have translation, rotation or neither";
                findings.report(&RULE.code, format!("/nodes/{node}/matrix"), message, help);
            }
        }
    }
}
