//! Shapes are below the nodes of their own links.

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Error,
    meaning: "A node in visualNodes or collisionNodes is not below its link's node, or belongs to \
              a link further down.",
    outcome: "The shape does not move with the link that claims it.",
    demand: "Visual and collision nodes MUST be below the node of their link, and not below that \
             of a link further down.",
    section: ("Links", "#links"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let owners = owners(subject);
    for link in subject.asset.links() {
        let Some(frame) = link.node else { continue };
        for (what, shapes) in [
            ("visualNodes", &link.visuals),
            ("collisionNodes", &link.collisions),
        ] {
            for &(entry, node) in shapes {
                let owner = owners.get(node).copied().flatten();
                if node != frame && owner == Some((link.model, link.index)) {
                    continue;
                }
                let (title, shape) = (link.title(), node_title(subject.asset.nodes, node));
                let owner = owner
                    .and_then(|(model, index)| subject.asset.models.get(model)?.links.get(index));
                let message = match owner {
                    _ if node == frame => format!("{title}: {shape} is the link's own frame"),
                    Some(owner) => format!("{title}: {shape} belongs to {}", owner.title()),
                    None => format!("{title}: {shape} is not below the link's node {frame}"),
                };
                let help = "put the shape on a node of its own below the link's node";
                findings.report(format!("{}/{what}/{entry}", link.pointer()), message, help);
            }
        }
    }
}

/// Returns for each node the link whose frame it belongs to, as model and link: that of the nearest
/// link node at or above it.
fn owners(subject: &Subject<'_>) -> Vec<Option<(usize, usize)>> {
    let hierarchy = &subject.hierarchy;
    let mut owners = vec![None; subject.asset.nodes.len()];
    for link in subject.asset.links() {
        if let Some(slot) = link.node.and_then(|node| owners.get_mut(node)) {
            *slot = Some((link.model, link.index));
        }
    }
    for &node in &hierarchy.order {
        let above = hierarchy
            .parent(node)
            .and_then(|parent| owners.get(parent).copied().flatten());
        if let Some(slot @ None) = owners.get_mut(node) {
            *slot = above;
        }
    }
    owners
}
