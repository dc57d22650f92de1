//! No node is both a visual and a collision shape.

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Warning,
    meaning: "A node is in both visualNodes and collisionNodes.",
    outcome: "Loaders that hide collision geometry hide what the robot looks like, too.",
    demand: "A node SHOULD NOT be in both `visualNodes` and `collisionNodes`.",
    section: ("Links", "#links"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let mut is_visual = vec![false; subject.asset.nodes.len()];
    for (_, node) in subject.asset.links().flat_map(|link| &link.visuals) {
        if let Some(slot) = is_visual.get_mut(*node) {
            *slot = true;
        }
    }
    for link in subject.asset.links() {
        for &(entry, node) in &link.collisions {
            if !is_visual.get(node).is_some_and(|is| *is) {
                continue;
            }
            let message = format!(
                "{}: {} is a visual and a collision shape",
                link.title(),
                node_title(subject.asset.nodes, node)
            );
            let help = "put the collision shape on a separate node, which may have the same mesh";
            findings.report(
                format!("{}/collisionNodes/{entry}", link.pointer()),
                message,
                help,
            );
        }
    }
}
