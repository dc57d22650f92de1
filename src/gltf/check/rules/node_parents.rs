//! That every node has one parent.

use super::super::asset::node_title;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-node-parents",
        severity: Severity::Error,
        meaning: "A node is the child of several nodes, or twice of one.",
        outcome: "The file is no valid glTF; which frame the node is in is undefined.",
    },
    demand: "A node MUST have at most one parent (core glTF).",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/0/children", Some("[1, 1]"))],
    keeps: &[("/nodes/0/children", Some("[1]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for &(parent, entry, child) in &subject.hierarchy.further_parents {
        let title = node_title(subject.asset.nodes, child);
        let message = match subject.hierarchy.parent(child) {
            Some(first) if first == parent => format!("{title} is twice among the children of node {parent}"),
            Some(first) => format!("{title} is a child of node {first} and of node {parent}"),
            None => continue,
        };
        let at = format!("/nodes/{parent}/children/{entry}");
        findings.report(&RULE.code, at, message, "give every node one parent");
    }
}
