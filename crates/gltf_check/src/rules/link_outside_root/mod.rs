//! The nodes of all links are at or below the root node.

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Error,
    meaning: "A link's node is not below the model's rootNode.",
    outcome: "Moving or hiding the robot by its root leaves the link behind.",
    demand: "The nodes of all links MUST be at or below `rootNode`.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let Some(root) = model.root else { continue };
        for link in &model.links {
            let is_outside =
                |&node: &usize| node != root && !subject.hierarchy.is_below(node, root);
            let Some(node) = link.node.filter(is_outside) else {
                continue;
            };
            let node = node_title(subject.asset.nodes, node);
            let message = format!(
                "{}: {node} is not below the model's rootNode {root}",
                link.title()
            );
            let help = "hang the root link's node on rootNode, or let rootNode name a node above all links";
            findings.report(link.read.node().at(), message, help);
        }
    }
}
