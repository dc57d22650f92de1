//! Every node has at most one parent.

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Error,
    meaning: "A node is the child of several nodes, or twice of one.",
    outcome: "The file is no valid glTF; which frame the node is in is undefined.",
    demand: "A node MUST have at most one parent (core glTF).",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &(parent, entry, child) in &subject.hierarchy.further_parents {
        let title = node_title(subject.asset.nodes, child);
        let message = match subject.hierarchy.parent(child) {
            Some(first) if first == parent => {
                format!("{title} is twice among the children of node {parent}")
            }
            Some(first) => format!("{title} is a child of node {first} and of node {parent}"),
            None => continue,
        };
        let at = format!("/nodes/{parent}/children/{entry}");
        findings.report(at, message, "give every node one parent");
    }
}
