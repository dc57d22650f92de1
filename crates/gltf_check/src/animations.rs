//! Channels of animations.

use std::collections::HashMap;

use super::Subject;
use super::asset::{Asset, node_title};
use urdf_usd_gltf_extension::{Json, Motion};

/// Role of a node in a robot.
#[derive(Clone)]
pub enum Part {
    /// A degree of freedom, with its description.
    Dof(Option<Motion>, String),
    /// A frame that must not move, with its description.
    Frame(String),
}

/// A channel of an animation.
pub struct Channel<'a> {
    /// JSON pointer to the channel's target.
    pub pointer: String,
    /// Description of the channel for messages.
    pub subject: String,
    pub node: usize,
    pub path: &'a str,
    /// Role of its node in a robot, if it has one.
    pub part: Option<Part>,
}

/// Returns all animation channels that target a node.
pub fn channels<'a>(subject: &Subject<'a>) -> Vec<Channel<'a>> {
    let animations = subject.root.list("animations");
    if animations.is_empty() {
        return Vec::new();
    }
    let parts = parts(&subject.asset);
    let mut channels = Vec::new();
    for (a, animation) in animations.iter().enumerate() {
        for (c, channel) in animation.list("channels").iter().enumerate() {
            let Some((node, path)) = channel.get("target").and_then(target) else {
                continue;
            };
            let title = node_title(subject.asset.nodes, node);
            channels.push(Channel {
                pointer: format!("/animations/{a}/channels/{c}/target"),
                subject: format!("animation {a}, channel {c}: it sets the {path} of {title}"),
                node,
                path,
                part: parts.get(&node).cloned(),
            });
        }
    }
    channels
}

fn parts(asset: &Asset<'_>) -> HashMap<usize, Part> {
    let mut parts = HashMap::new();
    for model in &asset.models {
        for joint in &model.joints {
            for (k, node, dof) in joint.driven() {
                parts.insert(
                    node,
                    Part::Dof(
                        dof.motion,
                        format!("degree of freedom {k} of {}", joint.title()),
                    ),
                );
            }
            if let Some(origin) = joint.origin {
                parts
                    .entry(origin)
                    .or_insert_with(|| Part::Frame(format!("the origin of {}", joint.title())));
            }
        }
        for link in model.links.iter().filter(|link| link.node != model.root) {
            if let Some(node) = link.node {
                parts
                    .entry(node)
                    .or_insert_with(|| Part::Frame(format!("the frame of {}", link.title())));
            }
        }
    }
    parts
}

/// Returns the node and the channel of an animation target, either in core glTF or with
/// KHR_animation_pointer.
fn target(target: &Json) -> Option<(usize, &str)> {
    if let Some(pointer) = target
        .at(&["extensions", "KHR_animation_pointer", "pointer"])
        .and_then(Json::text)
    {
        let (node, path) = pointer.strip_prefix("/nodes/")?.split_once('/')?;
        let is_transform = matches!(path, "translation" | "rotation" | "scale" | "weights");
        return Some((node.parse().ok()?, path)).filter(|_| is_transform);
    }
    Some((
        target.get("node").and_then(Json::index)?,
        target.get("path").and_then(Json::text).unwrap_or_default(),
    ))
}
