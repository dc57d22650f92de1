//! That no node is below itself.

use super::super::asset::node_title;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-node-cycle",
        severity: Severity::Error,
        meaning: "Nodes are their own descendants.",
        outcome: "The file is no valid glTF; loaders may not end.",
    },
    demand: "The asset's nodes MUST NOT form cycles (core glTF).",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/1/children", Some("[2, 3, 16]")), ("/nodes/9/children", Some("[4]"))],
    keeps: &[("/nodes/1/children", Some("[2, 3, 4, 16]")), ("/nodes/9/children", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for &node in &subject.hierarchy.cycles {
        let message = format!("{} is its own descendant", node_title(subject.asset.nodes, node));
        let help =
            "nodes form a tree; a robot with a closed loop leaves one joint of the loop out and keeps it in the model's extras";
        findings.report(&RULE.code, format!("/nodes/{node}"), message, help);
    }
}
