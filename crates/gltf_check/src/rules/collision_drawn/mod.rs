//! Collision shapes are not drawn.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::hierarchy::Hierarchy;
use urdf_usd_gltf_extension::Json;

rule! {
    severity: Warning,
    meaning: "A collision shape would be drawn: neither KHR_node_visibility hides it nor is its \
              material invisible.",
    outcome: "Viewers draw the robot's collision geometry over what it looks like.",
    demand: "Collision geometry SHOULD NOT be drawn by viewers that do not know the extension.",
    section: ("Links", "#links"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let drawn = Drawn::of(subject);
    for link in subject.asset.links() {
        for &(entry, node) in &link.collisions {
            if drawn.is_any_below(&subject.hierarchy, node) {
                let shape = node_title(subject.asset.nodes, node);
                let message = format!("{}: collision {shape} would be drawn", link.title());
                let help = "give the node the extension KHR_node_visibility with \"visible\": false, and for viewers without it \
                            a material with alphaMode MASK and an alpha of 0";
                findings.report(
                    format!("{}/collisionNodes/{entry}", link.pointer()),
                    message,
                    help,
                );
            }
        }
    }
}

/// Prefix sums of the visible nodes with meshes in the order of the hierarchy, with which a subtree
/// is checked in constant time.
struct Drawn(Vec<usize>);

impl Drawn {
    fn of(subject: &Subject<'_>) -> Self {
        let (nodes, hierarchy) = (subject.asset.nodes, &subject.hierarchy);
        let seen: Vec<bool> = subject.root.list("materials").iter().map(is_seen).collect();
        let meshes: Vec<bool> = subject
            .root
            .list("meshes")
            .iter()
            .map(|mesh| is_mesh_seen(mesh, &seen))
            .collect();
        let mut hidden = vec![false; nodes.len()];
        let mut counts = vec![0];
        let mut count = 0;
        for &node in &hierarchy.order {
            let Some(json) = nodes.get(node) else {
                continue;
            };
            let above = hierarchy
                .parent(node)
                .and_then(|parent| hidden.get(parent))
                .copied()
                .unwrap_or(false);
            let is_hidden = above
                || json.at(&["extensions", "KHR_node_visibility", "visible"])
                    == Some(&Json::Bool(false));
            if let Some(slot) = hidden.get_mut(node) {
                *slot = is_hidden;
            }
            let mesh = json
                .get("mesh")
                .and_then(Json::index)
                .and_then(|mesh| meshes.get(mesh))
                .copied()
                .unwrap_or(false);
            count += usize::from(mesh && !is_hidden);
            counts.push(count);
        }
        Self(counts)
    }

    fn is_any_below(&self, hierarchy: &Hierarchy, node: usize) -> bool {
        let count = |place: usize| self.0.get(place).copied().unwrap_or_default();
        hierarchy
            .span(node)
            .is_some_and(|(start, end)| count(end) > count(start))
    }
}

fn is_mesh_seen(mesh: &Json, materials: &[bool]) -> bool {
    let is_primitive_seen = |primitive: &Json| {
        let material = primitive.get("material").and_then(Json::index);
        material
            .and_then(|material| materials.get(material))
            .copied()
            .unwrap_or(true)
    };
    mesh.list("primitives").iter().any(is_primitive_seen)
}

/// Returns whether a material is visible.
fn is_seen(material: &Json) -> bool {
    let alpha = material
        .at(&["pbrMetallicRoughness", "baseColorFactor"])
        .and_then(|factor| factor.items().get(3)?.number())
        .unwrap_or(1.0);
    match material
        .get("alphaMode")
        .and_then(Json::text)
        .unwrap_or_default()
    {
        "MASK" => {
            alpha
                >= material
                    .get("alphaCutoff")
                    .and_then(Json::number)
                    .unwrap_or(0.5)
        }
        "BLEND" => alpha > 0.0,
        _ => true,
    }
}
