//! Nodes form no cycles.

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Error,
    meaning: "Nodes are their own descendants.",
    outcome: "The file is no valid glTF; loaders may not end.",
    demand: "The asset's nodes MUST NOT form cycles (core glTF).",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &node in &subject.hierarchy.cycles {
        let message = format!(
            "{} is its own descendant",
            node_title(subject.asset.nodes, node)
        );
        let help = "nodes form a tree; a robot with a closed loop leaves one joint of the loop out and keeps it in the model's extras";
        findings.report(format!("/nodes/{node}"), message, help);
    }
}
