//! The nodes: a strict tree, with one part of one robot on each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::asset::{Asset, node_title};
use super::super::codes;
use super::super::findings::Findings;
use super::super::hierarchy::Hierarchy;

/// Cycles, several parents, and nodes with two parts.
pub fn check(asset: &Asset<'_>, hierarchy: &Hierarchy, findings: &mut Findings) {
    for &node in &hierarchy.cycles {
        let message = format!("{} is its own descendant", node_title(asset.nodes, node));
        let help =
            "nodes form a tree; a robot with a closed loop leaves one joint of the loop out and keeps it in the model's extras";
        findings.report(&codes::NODE_CYCLE, format!("/nodes/{node}"), message, help);
    }
    for &(parent, entry, child) in &hierarchy.further_parents {
        let child_title = node_title(asset.nodes, child);
        let message = match hierarchy.parent(child) {
            Some(first) if first == parent => format!("{child_title} is twice among the children of node {parent}"),
            Some(first) => format!("{child_title} is a child of node {first} and of node {parent}"),
            None => continue,
        };
        findings.report(
            &codes::NODE_PARENTS,
            format!("/nodes/{parent}/children/{entry}"),
            message,
            "give every node one parent",
        );
    }
    one_part_per_node(asset, findings);
}

fn one_part_per_node(asset: &Asset<'_>, findings: &mut Findings) {
    let mut parts: HashMap<usize, String> = HashMap::new();
    let mut take = |node: Option<usize>, part: String, pointer: &dyn Fn() -> String| {
        let Some(node) = node else { return };
        match parts.entry(node) {
            Entry::Vacant(entry) => {
                entry.insert(part);
            }
            Entry::Occupied(entry) => {
                let message = format!("{} is {} and also {part}", node_title(asset.nodes, node), entry.get());
                let help =
                    "use a node of its own for every link, for every joint's fixed origin and for every degree of freedom";
                findings.report(&codes::SHARED_NODE, pointer(), message, help);
            }
        }
    };
    for model in &asset.models {
        for link in &model.links {
            take(link.node, format!("the frame of {}", link.title()), &|| format!("{}/node", link.pointer()));
        }
        for joint in &model.joints {
            let title = joint.title();
            take(joint.origin, format!("the origin of {title}"), &|| format!("{}/originNode", joint.pointer()));
            for (k, &node) in joint.dof_nodes.iter().enumerate() {
                take(node, format!("degree of freedom {k} of {title}"), &|| format!("{}/dofNodes/{k}", joint.pointer()));
            }
        }
    }
}
