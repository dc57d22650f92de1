//! Visual and collision nodes.

use serde_json::Value;

use super::super::asset::{Asset, Link, index, list, node_title, text};
use super::super::codes;
use super::super::findings::Findings;
use super::super::hierarchy::Hierarchy;

/// That shapes move with their links, and that colliders are not drawn.
pub fn check(asset: &Asset<'_>, hierarchy: &Hierarchy, json: &Value, findings: &mut Findings) {
    let owners = owners(asset, hierarchy);
    let drawn = Drawn::of(asset, hierarchy, json);
    for link in asset.models.iter().flat_map(|model| &model.links) {
        for (what, shapes) in [("visualNodes", &link.visuals), ("collisionNodes", &link.collisions)] {
            for &(entry, node) in shapes {
                let pointer = format!("{}/{what}/{entry}", link.pointer());
                inside(asset, link, &owners, node, &pointer, findings);
                if what == "collisionNodes" && drawn.is_any_below(hierarchy, node) {
                    let message = format!("{}: collision {} would be drawn", link.title(), node_title(asset.nodes, node));
                    let help = "give the node the extension KHR_node_visibility with \"visible\": false, and for viewers without it a material with alphaMode MASK and an alpha of 0";
                    findings.report(&codes::COLLISION_DRAWN, pointer, message, help);
                }
            }
        }
    }
}

/// The links by their places.
type LinkPlace = (usize, usize);

fn inside(
    asset: &Asset<'_>,
    link: &Link<'_>,
    owners: &[Option<LinkPlace>],
    node: usize,
    pointer: &str,
    findings: &mut Findings,
) {
    let Some(frame) = link.node else { return };
    let owner = owners.get(node).copied().flatten();
    if node != frame && owner == Some((link.model, link.index)) {
        return;
    }
    let owner = owner.filter(|_| node != frame).and_then(|(model, index)| asset.models.get(model)?.links.get(index));
    let message = match owner {
        _ if node == frame => format!("{}: {} is the link's own frame", link.title(), node_title(asset.nodes, node)),
        Some(owner) => format!("{}: {} belongs to {}", link.title(), node_title(asset.nodes, node), owner.title()),
        None => format!("{}: {} is not below the link's node {frame}", link.title(), node_title(asset.nodes, node)),
    };
    let help = "put the shape on a node of its own below the link's node";
    findings.report(&codes::SHAPE_OUTSIDE_LINK, pointer, message, help);
}

/// The link whose frame each node is in: that of the nearest link's node above it, or its own.
fn owners(asset: &Asset<'_>, hierarchy: &Hierarchy) -> Vec<Option<LinkPlace>> {
    let mut owners = vec![None; asset.nodes.len()];
    for link in asset.models.iter().flat_map(|model| &model.links) {
        if let Some(slot) = link.node.and_then(|node| owners.get_mut(node)) {
            *slot = Some((link.model, link.index));
        }
    }
    for &node in &hierarchy.order {
        let above = hierarchy.parent(node).and_then(|parent| owners.get(parent).copied().flatten());
        if let Some(slot @ None) = owners.get_mut(node) {
            *slot = above;
        }
    }
    owners
}

/// How many of the first nodes in the hierarchy's order draw something.
struct Drawn(Vec<usize>);

impl Drawn {
    fn of(asset: &Asset<'_>, hierarchy: &Hierarchy, json: &Value) -> Self {
        let seen: Vec<bool> = list(json, "materials").iter().map(is_seen).collect();
        let meshes: Vec<bool> = list(json, "meshes").iter().map(|mesh| is_mesh_seen(mesh, &seen)).collect();
        let mut hidden = vec![false; asset.nodes.len()];
        let mut counts = vec![0];
        let mut count = 0;
        for &node in &hierarchy.order {
            let Some(json) = asset.nodes.get(node) else { continue };
            let above = hierarchy.parent(node).and_then(|parent| hidden.get(parent)).copied().unwrap_or(false);
            let is_hidden = above || json.pointer("/extensions/KHR_node_visibility/visible") == Some(&Value::Bool(false));
            if let Some(slot) = hidden.get_mut(node) {
                *slot = is_hidden;
            }
            let mesh = json.get("mesh").and_then(index).and_then(|mesh| meshes.get(mesh)).copied().unwrap_or(false);
            count += usize::from(mesh && !is_hidden);
            counts.push(count);
        }
        Self(counts)
    }

    fn is_any_below(&self, hierarchy: &Hierarchy, node: usize) -> bool {
        let count = |place: usize| self.0.get(place).copied().unwrap_or_default();
        hierarchy.span(node).is_some_and(|(start, end)| count(end) > count(start))
    }
}

fn is_mesh_seen(mesh: &Value, materials: &[bool]) -> bool {
    let is_primitive_seen = |primitive: &Value| {
        let material = primitive.get("material").and_then(index);
        material.and_then(|material| materials.get(material)).copied().unwrap_or(true)
    };
    list(mesh, "primitives").iter().any(is_primitive_seen)
}

/// Whether a material shows at all.
fn is_seen(material: &Value) -> bool {
    let alpha = material.pointer("/pbrMetallicRoughness/baseColorFactor/3").and_then(Value::as_f64).unwrap_or(1.0);
    match text(material, "alphaMode") {
        "MASK" => alpha >= material.get("alphaCutoff").and_then(Value::as_f64).unwrap_or(0.5),
        "BLEND" => alpha > 0.0,
        _ => true,
    }
}
