//! URDF data that USD has no equivalent for, as this program keeps it in `urdf.usda`: attributes
//! `urdf:…`, and Scopes that occur in no other layer (mapping, appendix F).

use super::scene::Scene;
use urdf_usd_robot::{Custom, Element};
use urdf_usd_stage::{Prim, PrimId, Value};

/// File name of the layer.
const LAYER: &str = "urdf.usda";
/// Prefix of attributes from a URDF element.
const PREFIX: &str = "urdf:";
/// Attribute with the text content of an element.
const TEXT: &str = "urdf:text";
/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 64;

/// Returns the custom data of a link, a joint or the robot.
pub(super) fn of(scene: &Scene<'_>, id: PrimId) -> Custom {
    Custom {
        attributes: own_attributes(scene, id),
        elements: elements(scene, id, 0),
    }
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
        attributes: own_attributes(scene, id),
        elements,
    }
}

/// Returns the attributes that URDF defines for an element, `urdf:name` with a single colon. A
/// joint's own attributes are in the schema or have two colons.
fn own_attributes(scene: &Scene<'_>, id: PrimId) -> Vec<(String, String)> {
    let own = strings(&scene.stage[id]).filter(|string| {
        string
            .at
            .strip_prefix(PREFIX)
            .is_some_and(|name| !name.contains(':'))
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
                name: original.unwrap_or(at.strip_prefix(PREFIX).unwrap_or(at)),
                text,
            })
        })
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

fn is_element(scene: &Scene<'_>, id: PrimId) -> bool {
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
    let attributes = strings(prim).filter(|string| string.at != TEXT);
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
