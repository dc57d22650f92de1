//! What animations may do to the nodes of a robot.

use std::collections::HashMap;

use serde_json::Value;

use super::super::asset::{Asset, Motion, index, list, node_title, text};
use super::super::codes;
use super::super::findings::Findings;
use super::super::hierarchy::Hierarchy;

/// What a node is to a robot.
enum Part {
    /// A degree of freedom, and which of which joint in words.
    Dof(Option<Motion>, String),
    /// A frame that stays as it is, in words.
    Frame(String),
}

/// Every channel of every animation.
pub fn check(asset: &Asset<'_>, hierarchy: &Hierarchy, json: &Value, findings: &mut Findings) {
    let animations = list(json, "animations");
    if animations.is_empty() {
        return;
    }
    let parts = parts(asset);
    for (a, animation) in animations.iter().enumerate() {
        for (c, channel) in list(animation, "channels").iter().enumerate() {
            let Some((node, path)) = channel.get("target").and_then(target) else { continue };
            let pointer = format!("/animations/{a}/channels/{c}/target");
            let subject = format!("animation {a}, channel {c}: it sets the {path} of {}", node_title(asset.nodes, node));
            match parts.get(&node) {
                Some(Part::Dof(Some(motion), what)) if motion.as_str() != path => {
                    let message = format!("{subject}, which is {what} and has its {} only", motion.as_str());
                    let help = format!("animate the {} of the node", motion.as_str());
                    findings.report(&codes::ANIMATION_CHANNEL, &pointer, message, help);
                }
                Some(Part::Frame(what)) => {
                    let help = "animate the joint's dof nodes; to move the robot, animate its rootNode or a node above it";
                    findings.report(&codes::ANIMATED_FRAME, &pointer, format!("{subject}, which is {what}"), help);
                }
                _ => {}
            }
            // That a dof node has a matrix is another rule's.
            let is_robots =
                || asset.models.iter().filter_map(|m| m.root).any(|root| node == root || hierarchy.is_below(node, root));
            let has_matrix = asset.nodes.get(node).is_some_and(|node| node.get("matrix").is_some());
            if has_matrix && !matches!(parts.get(&node), Some(Part::Dof(..))) && is_robots() {
                let help = "write translation, rotation and scale instead of the matrix";
                findings.report(
                    &codes::ANIMATED_MATRIX,
                    format!("/nodes/{node}/matrix"),
                    format!("{subject}, which has a matrix"),
                    help,
                );
            }
        }
    }
}

fn parts(asset: &Asset<'_>) -> HashMap<usize, Part> {
    let mut parts = HashMap::new();
    for model in &asset.models {
        for joint in &model.joints {
            for (k, node, dof) in joint.driven() {
                parts.insert(node, Part::Dof(dof.motion, format!("degree of freedom {k} of {}", joint.title())));
            }
            if let Some(origin) = joint.origin {
                parts.entry(origin).or_insert_with(|| Part::Frame(format!("the origin of {}", joint.title())));
            }
        }
        for link in model.links.iter().filter(|link| link.node != model.root) {
            if let Some(node) = link.node {
                parts.entry(node).or_insert_with(|| Part::Frame(format!("the frame of {}", link.title())));
            }
        }
    }
    parts
}

/// The node and the channel that an animation sets, by glTF's own paths or by KHR_animation_pointer.
fn target(target: &Value) -> Option<(usize, &str)> {
    if let Some(pointer) = target.pointer("/extensions/KHR_animation_pointer/pointer").and_then(Value::as_str) {
        let (node, path) = pointer.strip_prefix("/nodes/")?.split_once('/')?;
        let is_transform = matches!(path, "translation" | "rotation" | "scale" | "weights");
        return Some((node.parse().ok()?, path)).filter(|_| is_transform);
    }
    Some((target.get("node").and_then(index)?, text(target, "path")))
}
