//! Several root links are under one node named `world`.

use super::{Findings, Subject, rule};
use crate::asset::{Model, node_title, plural};
use urdf_usd_gltf_extension::Json;

rule! {
    severity: Warning,
    meaning: "A model has several root links, and they are not under a node named `world`.",
    outcome: "Programs that expect one root take the first, or cannot tell the assembly from links \
              that a joint was to connect.",
    demand: "A model with several root links SHOULD have them under one node named `world` below \
             `rootNode`.",
    section: ("Model", "#model"),
}

/// Name of the node that holds the root links of a model with several.
const WORLD: &str = "world";

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let nodes = subject.asset.nodes;
    let is_world = |node: usize| {
        let name = nodes.get(node).and_then(|node| node.get("name"));
        name.and_then(Json::text) == Some(WORLD)
    };
    let is_in_world = subject.hierarchy.at_or_below(is_world);
    for model in &subject.asset.models {
        let parents = model.parent_joints();
        let links = model.links.iter().zip(parents);
        let roots: Vec<_> = links
            .filter(|(_, parent)| parent.is_none())
            .map(|(link, _)| link)
            .collect();
        // A joint without a child, or with that of another joint, leaves a root behind; other rules
        // report it, and links without a node.
        let is_forest = roots.len() + model.joints.len() == model.links.len();
        if !is_forest || roots.iter().any(|link| link.node.is_none()) {
            continue;
        }
        // Links outside of the root node are left to kinematics-link-outside-root.
        let is_outside = |node: usize| {
            is_below_root(subject, model, node) && !is_in_world.get(node).is_some_and(|is| *is)
        };
        let outside = roots
            .iter()
            .find_map(|link| Some((*link, link.node.filter(|&node| is_outside(node))?)));
        let Some((link, node)) = outside.filter(|_| roots.len() > 1) else {
            continue;
        };
        let message = format!(
            "{}: it has {}, and {}, the frame of {}, is not under a node named \"{WORLD}\"",
            model.title(),
            plural(roots.len(), "root link"),
            node_title(nodes, node),
            link.title()
        );
        let help = "put a node named \"world\" below rootNode and all root links under it, or connect the links by a joint";
        findings.report(link.read.node().at(), message, help);
    }
}

fn is_below_root(subject: &Subject<'_>, model: &Model<'_>, node: usize) -> bool {
    let Some(root) = model.root else { return false };
    node == root || subject.hierarchy.is_below(node, root)
}
