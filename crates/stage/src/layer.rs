//! Layers before composition: their prims and properties, in all variants.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc as Shared;

use openusd::sdf::{self, AbstractData, FieldKey, SpecType};

use super::Value;
use super::prim::{Arc, ArcKind, Site, Specifier};
use super::value::{array_len, asset_paths};

/// An index into [`Stage::layers`](super::Stage::layers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(pub usize);

/// A layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The identifier in the composition.
    pub identifier: String,
    /// The path of the file; `package.usdz[layer.usda]` for a layer in a package.
    pub path: PathBuf,
    /// Whether it has the binary encoding, by its content and not by its name.
    pub is_binary: bool,
    /// Whether it is in the root layer stack.
    pub is_local: bool,
    /// The layer metadata: `metersPerUnit`, `defaultPrim`, `subLayers`.
    pub metadata: BTreeMap<String, Value>,
    /// Every prim with an opinion, also in variants, sorted by path.
    pub prims: Shared<[LayerPrim]>,
}

/// The opinions of a layer about a prim.
#[derive(Clone, Debug)]
pub struct LayerPrim {
    /// The path in the layer, with variant selections: `/robot{set=name}base`.
    pub path: String,
    /// The specifier.
    pub specifier: Specifier,
    /// The type, such as `Xform`; empty without one.
    pub type_name: String,
    /// Applied schemas.
    pub schemas: Vec<String>,
    /// Authored composition arcs.
    pub arcs: Vec<Arc>,
    /// Selected variants by set.
    pub selections: BTreeMap<String, String>,
    /// The names of all its metadata.
    pub metadata: Vec<String>,
    /// Authored properties, sorted by name.
    pub properties: Vec<LayerProperty>,
    /// The path as the data of the layer has it. Checking the text again takes long.
    pub(super) key: sdf::Path,
}

/// The opinions of a layer about a property.
#[derive(Clone, Debug)]
pub struct LayerProperty {
    /// The name.
    pub name: String,
    /// Whether it is a relationship.
    pub is_relationship: bool,
    /// Whether it is a relationship whose targets replace those of weaker layers, rather than being
    /// added to them.
    pub is_explicit: bool,
    /// The type, such as `float3[]`; empty for a relationship.
    pub type_name: String,
    /// Number of array elements, in a text layer; 0 for other values and in binary layers.
    pub elements: usize,
    /// The authored asset paths.
    pub assets: Vec<String>,
    /// The path as the data of the layer has it.
    pub(super) key: sdf::Path,
}

impl Layer {
    /// Returns the name of the file, or of the file in the package.
    pub fn file_name(&self) -> &str {
        let name = self
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or(&self.identifier);
        name.strip_suffix(']')
            .and_then(|name| name.rsplit_once('['))
            .map_or(name, |(_, inside)| inside)
    }

    /// Returns the opinions about the prim at `path`, which may contain variant selections.
    pub fn prim(&self, path: &str) -> Option<&LayerPrim> {
        self.prims
            .binary_search_by(|prim| prim.path.as_str().cmp(path))
            .ok()
            .and_then(|index| self.prims.get(index))
    }

    /// Returns the authored sublayers.
    pub fn sublayers(&self) -> Vec<&str> {
        self.metadata
            .get("subLayers")
            .and_then(super::texts)
            .unwrap_or_default()
    }

    pub(super) fn read(
        id: LayerId,
        identifier: String,
        path: PathBuf,
        data: &dyn AbstractData,
        is_binary: bool,
    ) -> Self {
        let root = sdf::Path::abs_root();
        let metadata = fields(data, &root, |_| true).collect();
        let mut prims = BTreeMap::new();
        let mut properties = Vec::new();
        for path in data.spec_paths() {
            match data.spec_type(&path) {
                Some(SpecType::Prim | SpecType::Variant) => {
                    prims.insert(path.as_str().to_owned(), prim(id, data, &path));
                }
                Some(kind @ (SpecType::Attribute | SpecType::Relationship)) => {
                    properties.push((path, kind == SpecType::Relationship));
                }
                _ => {}
            }
        }
        properties.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        for (path, is_relationship) in properties {
            let Some((owner, name)) = path.split_property() else {
                continue;
            };
            let Some(prim) = prims.get_mut(owner.as_str()) else {
                continue;
            };
            prim.properties
                .push(property(data, &path, name, is_relationship, is_binary));
        }
        Self {
            identifier,
            path,
            is_binary,
            is_local: false,
            metadata,
            prims: prims.into_values().collect(),
        }
    }
}

/// Iterates over the wanted fields of a spec, without lists of specs, and those that cannot be read.
pub(super) fn fields<'a>(
    data: &'a dyn AbstractData,
    path: &'a sdf::Path,
    is_wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (String, Value)> + 'a {
    let names = data.list_fields(path).unwrap_or_default();
    let names = names.into_iter().filter(move |name| {
        name != super::usda::FIRST_TOKEN && !is_list_of_specs(name) && is_wanted(name)
    });
    names.filter_map(move |name| {
        let value = data.try_field(path, &name).ok()??.into_owned();
        Some((name, value))
    })
}

fn field(data: &dyn AbstractData, path: &sdf::Path, key: &str) -> Option<Value> {
    data.try_field(path, key)
        .ok()?
        .map(std::borrow::Cow::into_owned)
}

/// Whether a field only lists child specs.
pub(super) fn is_list_of_specs(key: &str) -> bool {
    matches!(
        key,
        "primChildren"
            | "properties"
            | "propertyChildren"
            | "variantChildren"
            | "variantSetChildren"
            | "targetChildren"
            | "connectionChildren"
    )
}

fn prim(layer: LayerId, data: &dyn AbstractData, path: &sdf::Path) -> LayerPrim {
    let token = |key: FieldKey| {
        field(data, path, key.as_str())
            .as_ref()
            .and_then(super::text)
            .unwrap_or_default()
            .to_owned()
    };
    let schemas = match field(data, path, FieldKey::ApiSchemas.as_str()) {
        Some(Value::TokenListOp(op)) => op.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let selections = match field(data, path, FieldKey::VariantSelection.as_str()) {
        Some(Value::VariantSelectionMap(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    };
    let mut metadata = data.list_fields(path).unwrap_or_default();
    metadata.retain(|key| !is_list_of_specs(key));
    metadata.sort();
    LayerPrim {
        path: path.as_str().to_owned(),
        specifier: specifier(field(data, path, FieldKey::Specifier.as_str()).as_ref()),
        type_name: token(FieldKey::TypeName),
        schemas,
        arcs: arcs(layer, data, path),
        selections,
        metadata,
        properties: Vec::new(),
        key: path.clone(),
    }
}

pub(super) fn specifier(value: Option<&Value>) -> Specifier {
    match value {
        Some(Value::Specifier(sdf::Specifier::Def)) => Specifier::Def,
        Some(Value::Specifier(sdf::Specifier::Class)) => Specifier::Class,
        _ => Specifier::Over,
    }
}

fn property(
    data: &dyn AbstractData,
    path: &sdf::Path,
    name: &str,
    is_relationship: bool,
    is_binary: bool,
) -> LayerProperty {
    let type_name = match field(data, path, FieldKey::TypeName.as_str()) {
        Some(value) if !is_relationship => super::text(&value).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    // Arrays in a binary layer may be large, and are not needed.
    let is_needed = !is_relationship && (!is_binary || type_name.starts_with("asset"));
    let value = if is_needed {
        field(data, path, FieldKey::Default.as_str())
    } else {
        None
    };
    let samples = if type_name.starts_with("asset") {
        field(data, path, FieldKey::TimeSamples.as_str())
    } else {
        None
    };
    let targets = if is_relationship {
        field(data, path, FieldKey::TargetPaths.as_str())
    } else {
        None
    };
    LayerProperty {
        name: name.to_owned(),
        is_relationship,
        is_explicit: matches!(targets, Some(Value::PathListOp(op)) if op.explicit),
        type_name,
        elements: value.as_ref().and_then(array_len).unwrap_or(0),
        assets: value
            .iter()
            .chain(&samples)
            .flat_map(asset_paths)
            .map(|(authored, _)| authored)
            .collect(),
        key: path.clone(),
    }
}

/// Returns the arcs of a prim of a layer.
pub(super) fn arcs(layer: LayerId, data: &dyn AbstractData, path: &sdf::Path) -> Vec<Arc> {
    let site = || Site {
        layer,
        path: path.as_str().to_owned(),
    };
    let mut arcs = Vec::new();
    let mut add = |kind, asset: &str, prim: &sdf::Path| {
        arcs.push(Arc {
            kind,
            asset: asset.to_owned(),
            prim: prim.as_str().to_owned(),
            site: site(),
        });
    };
    if let Some(Value::ReferenceListOp(op)) = field(data, path, FieldKey::References.as_str()) {
        let deleted = &op.deleted_items;
        op.iter()
            .filter(|item| !deleted.contains(item))
            .for_each(|item| add(ArcKind::Reference, &item.asset_path, &item.prim_path));
    }
    match field(data, path, FieldKey::Payload.as_str()) {
        Some(Value::PayloadListOp(op)) => {
            let deleted = &op.deleted_items;
            op.iter()
                .filter(|item| !deleted.contains(item))
                .for_each(|item| add(ArcKind::Payload, &item.asset_path, &item.prim_path));
        }
        Some(Value::Payload(item)) => add(ArcKind::Payload, &item.asset_path, &item.prim_path),
        _ => {}
    }
    for (kind, key) in [
        (ArcKind::Inherit, FieldKey::InheritPaths),
        (ArcKind::Specialize, FieldKey::Specializes),
    ] {
        if let Some(Value::PathListOp(op)) = field(data, path, key.as_str()) {
            let deleted = &op.deleted_items;
            op.iter()
                .filter(|item| !deleted.contains(item))
                .for_each(|item| add(kind, "", item));
        }
    }
    arcs
}
