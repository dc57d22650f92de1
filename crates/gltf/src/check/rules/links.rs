//! Links and joints as a graph, and their names.

use std::collections::HashMap;

use super::super::asset::{Asset, Model, node_title};
use super::super::codes;
use super::super::findings::{Findings, short};
use super::super::hierarchy::Hierarchy;

/// Names, one parent joint per link, no loops, all links below the root.
pub fn check(asset: &Asset<'_>, hierarchy: &Hierarchy, findings: &mut Findings) {
    for model in &asset.models {
        let links = model.links.iter().map(|link| (link.name, link.pointer()));
        unique("links", links, findings);
        let joints = model.joints.iter().map(|joint| (joint.name, joint.pointer()));
        unique("joints", joints, findings);
        let parents = parents(model, findings);
        loops(model, &parents, findings);
        below_root(asset, model, hierarchy, findings);
    }
}

fn unique<'a>(what: &str, parts: impl Iterator<Item = (&'a str, String)>, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for (index, (name, pointer)) in parts.enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let first = *seen.entry(name).or_insert(index);
        if first != index {
            let message = format!("{what} {first} and {index} are both named \"{}\"", short(name));
            findings.report(&codes::DUPLICATE_NAME, format!("{pointer}/name"), message, "rename one of them");
        }
    }
}

/// The joint that each link is the child of.
fn parents(model: &Model<'_>, findings: &mut Findings) -> Vec<Option<usize>> {
    let mut parents = vec![None; model.links.len()];
    for joint in &model.joints {
        let Some(slot) = joint.child.and_then(|child| parents.get_mut(child)) else { continue };
        let Some(first) = slot.and_then(|first: usize| model.joints.get(first)) else {
            *slot = Some(joint.index);
            continue;
        };
        let child = joint.child.and_then(|child| model.links.get(child)).map(|link| link.title()).unwrap_or_default();
        let message = format!("{child} is the child of {} and of {}", first.title(), joint.title());
        let help = "keep one of the joints; a joint that closes a loop belongs into the model's extras";
        findings.report(&codes::SEVERAL_PARENTS, format!("{}/childLink", joint.pointer()), message, help);
    }
    parents
}

fn loops(model: &Model<'_>, parents: &[Option<usize>], findings: &mut Findings) {
    let above = |link: usize| {
        let joint = model.joints.get(parents.get(link).copied().flatten()?)?;
        Some((joint, joint.parent?))
    };
    let mut walk_of = vec![None; model.links.len()];
    for start in 0..model.links.len() {
        let mut at = start;
        while let Some(walk) = walk_of.get_mut(at).filter(|walk| **walk != Some(start)) {
            // An earlier walk has been here, and seen where it leads.
            if walk.is_some() {
                break;
            }
            *walk = Some(start);
            let Some((joint, parent)) = above(at) else { break };
            if walk_of.get(parent).copied().flatten() == Some(start) {
                let link = model.links.get(parent).map(|link| link.title()).unwrap_or_default();
                let message = format!("{}: going on from its child leads back to its parent, {link}", joint.title());
                let help = "joints form a tree; take this one out and keep it in the model's extras";
                findings.report(&codes::JOINT_LOOP, joint.pointer(), message, help);
            }
            at = parent;
        }
    }
}

fn below_root(asset: &Asset<'_>, model: &Model<'_>, hierarchy: &Hierarchy, findings: &mut Findings) {
    let Some(root) = model.root else { return };
    for link in &model.links {
        let Some(node) = link.node.filter(|&node| node != root && !hierarchy.is_below(node, root)) else { continue };
        let message = format!("{}: {} is not below the model's rootNode {root}", link.title(), node_title(asset.nodes, node));
        let help = "hang the root link's node on rootNode, or let rootNode name a node above all links";
        findings.report(&codes::LINK_OUTSIDE_ROOT, format!("{}/node", link.pointer()), message, help);
    }
}
