//! The nodes of links are at identity.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::rest::transform_of;
use crate::transform::Transform;

rule! {
    severity: Warning,
    meaning: "A link's node has a transform of its own.",
    outcome: "The link's frame is not the joint's, so poses differ from those of the source.",
    demand: "A link's node SHOULD be at identity.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        for link in &model.links {
            // The root node is left to kinematics-root-transform.
            let of_link = link.node.filter(|&node| Some(node) != model.root);
            let is_moved = |(_, t): &(usize, Transform)| t.is_rigid() && (t.moves() || t.turns());
            let Some((node, transform)) = transform_of(subject, of_link).filter(is_moved) else {
                continue;
            };
            let node_name = node_title(subject.asset.nodes, node);
            let message = format!("{}: {node_name} {}", link.title(), transform.in_words());
            let help = "leave the link's node at identity: where it is belongs into the joint's originNode, for a root link above \
                        rootNode";
            findings.report(format!("/nodes/{node}"), message, help);
        }
    }
}
