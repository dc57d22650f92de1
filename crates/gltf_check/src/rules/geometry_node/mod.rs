//! Nodes of links, origins and degrees of freedom have no meshes.

use std::collections::BTreeMap;

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Warning,
    meaning: "The node of a link, an origin or a degree of freedom has a mesh.",
    outcome: "The shape cannot have another pose than the frame, and programs that replace frames lose it.",
    demand: "Geometry SHOULD hang on nodes of its own below a link's node.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Nodes that have two parts are left to kinematics-shared-node.
    let mut parts: BTreeMap<usize, String> = BTreeMap::new();
    for model in &subject.asset.models {
        for link in &model.links {
            let frame = link.node.filter(|node| {
                // These are left to kinematics-shape-outside-link.
                let mut shapes = link.visuals.iter().chain(&link.collisions);
                shapes.all(|(_, shape)| shape != node)
            });
            parts.extend(frame.map(|node| (node, format!("the frame of {}", link.title()))));
        }
        for joint in &model.joints {
            let title = joint.title();
            parts.extend(
                joint
                    .origin
                    .map(|node| (node, format!("the origin of {title}"))),
            );
            let dofs = joint.dof_nodes.iter().flatten();
            parts.extend(dofs.map(|node| (*node, format!("a degree of freedom of {title}"))));
        }
    }
    for (node, part) in parts {
        let has_mesh = |node: usize| subject.asset.nodes.get(node)?.get("mesh");
        if has_mesh(node).is_some() {
            let node_name = node_title(subject.asset.nodes, node);
            let message = format!("{node_name} is {part}, and has a mesh");
            let help = "put the mesh on a separate node below the link's node, and list it in visualNodes or collisionNodes";
            findings.report(format!("/nodes/{node}/mesh"), message, help);
        }
    }
}
