//! URDF data that USD has no equivalent for, as this program keeps it in `urdf.usda`: attributes
//! `urdf:…`, and Scopes that occur in no other layer (mapping, appendix F).

use std::collections::BTreeMap;

use super::scene::Scene;
use urdf_usd_robot::{Custom, Element};
use urdf_usd_stage::{Prim, PrimId, Value};
use urdf_usd_usd_author::layout::{JOINT_NAME, JOINT_OWNER, LINK_OWNER, OWNER};

/// File name of the layer.
const LAYER: &str = "urdf.usda";
/// Prefix of attributes from a URDF element.
const PREFIX: &str = "urdf:";
/// Attribute with the text content of an element.
const TEXT: &str = "urdf:text";
/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 64;

/// Returns the custom data of a link, a joint or the robot that has the prim `id`.
pub(super) fn of(scene: &Scene<'_>, id: PrimId) -> Custom {
    of_owner(scene, id, None)
}

/// Returns the custom data of a joint without a prim, which are on the prim of its child link.
pub(super) fn of_joint(scene: &Scene<'_>, link: PrimId) -> Custom {
    of_owner(scene, link, Some(JOINT_OWNER))
}

/// Returns the custom data of the link `world`, which are on the default prim.
pub(super) fn of_world(scene: &Scene<'_>, root: PrimId) -> Custom {
    of_owner(scene, root, Some(LINK_OWNER))
}

fn of_owner(scene: &Scene<'_>, id: PrimId, owner: Option<&str>) -> Custom {
    let children = scene.stage[id].children.iter().copied();
    let elements = children
        .filter(|child| is_element(scene, *child))
        .filter(|child| owner_of_element(&scene.stage[*child]) == owner)
        .map(|child| element(scene, child, 0));
    Custom {
        attributes: own_attributes(scene, id, owner),
        elements: elements.collect(),
    }
}

fn owner_of_element(prim: &Prim) -> Option<&str> {
    strings(prim)
        .find(|string| string.at == OWNER)
        .map(|string| string.text)
}

/// Returns the custom data of a shape: its elements are in a sibling prim.
pub(super) fn of_shape(scene: &Scene<'_>, id: PrimId) -> Custom {
    let chain = std::iter::once(id).chain(scene.stage[id].parent);
    let is_shape = |id: &PrimId| {
        ["visual_", "collision_"]
            .iter()
            .any(|start| scene.stage[*id].name().starts_with(start))
    };
    let Some(id) = chain.into_iter().find(is_shape) else {
        return Custom::default();
    };
    let beside = scene
        .stage
        .at(&format!("{}_urdf", scene.stage[id].path))
        .filter(|beside| is_element(scene, *beside));
    let elements = beside
        .map(|beside| elements(scene, beside, 0))
        .unwrap_or_default();
    Custom {
        attributes: own_attributes(scene, id, None),
        elements,
    }
}

/// Returns the custom attributes of an element: `urdf:name`, marked with their owner unless that has
/// the prim, or `urdf:OWNER:name`. The attributes that URDF defines for joints are in the schema, are
/// no strings, or have other prefixes.
fn own_attributes(scene: &Scene<'_>, id: PrimId, owner: Option<&str>) -> Vec<(String, String)> {
    let own = strings(&scene.stage[id]).filter(|string| {
        let name = string.at.strip_prefix(PREFIX);
        let name = name.map(|name| {
            string
                .owner
                .and_then(|owner| name.strip_prefix(owner)?.strip_prefix(':'))
                .unwrap_or(name)
        });
        string.owner == owner
            && string.at != JOINT_NAME
            && name.is_some_and(|name| !name.contains(':'))
    });
    own.map(|string| (string.name.to_owned(), string.text.to_owned()))
        .collect()
}

/// A custom attribute with a string value.
struct Attribute<'a> {
    /// Its name in the layer.
    at: &'a str,
    /// Its name in the URDF.
    name: &'a str,
    text: &'a str,
    /// The element that it belongs to, unless that has the prim.
    owner: Option<&'a str>,
}

fn strings(prim: &Prim) -> impl Iterator<Item = Attribute<'_>> {
    prim.attributes
        .iter()
        .filter(|(_, attribute)| attribute.is_custom)
        .filter_map(|(at, attribute)| {
            let Some(Value::String(text)) = attribute.value.as_ref()?.unless_large_array() else {
                return None;
            };
            let original = attribute
                .metadata
                .get("displayName")
                .and_then(urdf_usd_stage::text);
            Some(Attribute {
                at,
                name: original.unwrap_or(at.rsplit(':').next().unwrap_or(at)),
                text,
                owner: owner(&attribute.metadata),
            })
        })
}

/// Returns the owner in the `customData` of an attribute.
fn owner(metadata: &BTreeMap<String, Value>) -> Option<&str> {
    let mut value = metadata.get("customData")?;
    for key in OWNER.split(':') {
        let Value::Dictionary(entries) = value else {
            return None;
        };
        value = entries.get(key)?;
    }
    urdf_usd_stage::text(value)
}

fn elements(scene: &Scene<'_>, id: PrimId, depth: usize) -> Vec<Element> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let children = scene.stage[id]
        .children
        .iter()
        .filter(|child| is_element(scene, **child));
    children
        .map(|child| element(scene, *child, depth))
        .collect()
}

/// Returns whether a prim is an element of a URDF.
pub(super) fn is_element(scene: &Scene<'_>, id: PrimId) -> bool {
    let prim = &scene.stage[id];
    // Matches a layer inside a package too.
    let is_there = |layer: &std::path::Path| {
        let name = layer.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit('[')
            .next()
            .map(|name| name.trim_end_matches(']'))
            == Some(LAYER)
    };
    prim.type_name == "Scope"
        && prim
            .sites
            .iter()
            .all(|site| is_there(scene.stage[site.layer].path.as_ref()))
}

fn element(scene: &Scene<'_>, id: PrimId, depth: usize) -> Element {
    let prim = &scene.stage[id];
    let attributes = strings(prim).filter(|string| ![TEXT, OWNER].contains(&string.at));
    let attributes = attributes.map(|string| (string.name.to_owned(), string.text.to_owned()));
    Element {
        name: super::display_name(scene, id).unwrap_or_else(|| prim.name().to_owned()),
        attributes: attributes.collect(),
        text: strings(prim)
            .find(|string| string.at == TEXT)
            .map(|string| string.text.to_owned())
            .unwrap_or_default(),
        children: elements(scene, id, depth + 1),
        place: scene.place(id, None),
    }
}
