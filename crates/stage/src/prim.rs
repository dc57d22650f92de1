//! Composed prims and their properties.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync;

use super::{LayerId, SharedValue, Stage, Value};

/// The id of a prim of a [`Stage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrimId(pub(crate) usize);

impl PrimId {
    /// Returns the index into [`Stage::prims`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// A value for each prim of a [`Stage`].
#[derive(Clone, Debug, PartialEq)]
pub struct PrimMap<V> {
    values: Vec<V>,
}

impl<V> PrimMap<V> {
    /// Returns all values, in the order of [`Stage::prims`].
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.values.iter()
    }

    /// Returns mutable references to all values, in the order of [`Stage::prims`].
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.values.iter_mut()
    }
}

impl<V> Index<PrimId> for PrimMap<V> {
    type Output = V;

    #[allow(
        clippy::indexing_slicing,
        reason = "there is a value for each prim, and only the stage makes their ids"
    )]
    fn index(&self, id: PrimId) -> &V {
        &self.values[id.0]
    }
}

impl<V> IndexMut<PrimId> for PrimMap<V> {
    #[allow(
        clippy::indexing_slicing,
        reason = "there is a value for each prim, and only the stage makes their ids"
    )]
    fn index_mut(&mut self, id: PrimId) -> &mut V {
        &mut self.values[id.0]
    }
}

impl Stage {
    /// Returns a map with the same value for each prim.
    pub fn filled<V: Clone>(&self, value: V) -> PrimMap<V> {
        PrimMap {
            values: vec![value; self.prims.len()],
        }
    }

    /// Computes a value for each prim from that of the prim above it, from the roots downwards.
    pub fn inherit<V>(&self, mut value: impl FnMut(PrimId, &Prim, Option<&V>) -> V) -> PrimMap<V> {
        let mut values: Vec<V> = Vec::with_capacity(self.prims.len());
        for (id, prim) in self.iter() {
            // Parents come before their children.
            let above = prim.parent.and_then(|parent| values.get(parent.0));
            let value = value(id, prim, above);
            values.push(value);
        }
        PrimMap { values }
    }
}

/// Properties by name. Boxed: a node of a B-tree has room for eleven values, and most prims have few
/// properties.
pub type Properties<P> = BTreeMap<String, Box<P>>;

/// A composed prim.
#[derive(Clone, Debug)]
pub struct Prim {
    /// The path, such as `/robot/base`.
    pub path: String,
    /// The parent; `None` for a root prim.
    pub parent: Option<PrimId>,
    /// The children, in order.
    pub children: Vec<PrimId>,
    /// The type, such as `Xform`; empty without one.
    pub type_name: String,
    /// The specifier of the strongest layer that defines the prim, or `Over`.
    pub specifier: Specifier,
    /// Whether the prim or an ancestor is a class, which is inherited from but not part of the scene.
    pub is_abstract: bool,
    /// Applied schemas, with instance names (`CollectionAPI:colliders`).
    pub schemas: Vec<String>,
    /// The kind, such as `component`.
    pub kind: Option<String>,
    /// Whether the prim is active; nothing is composed below an inactive prim.
    pub is_active: bool,
    /// Whether the prim is marked as instanceable.
    pub is_instanceable: bool,
    /// Whether the prim is an instance: instanceable, with a composition arc.
    pub is_instance: bool,
    /// The nearest instance above, if the prim is part of a prototype.
    pub instance: Option<PrimId>,
    /// Whether only a payload, on the prim or an ancestor, defines the prim.
    pub in_payload: bool,
    /// The schemas, and the type, that only a payload gives to the prim.
    pub payload_schemas: Vec<String>,
    /// Other metadata, such as `assetInfo`, `customData` and `displayName`.
    pub metadata: BTreeMap<String, Value>,
    /// Attributes by name, shared between the instances of a prototype.
    pub attributes: sync::Arc<Properties<Attribute>>,
    /// Relationships by name.
    pub relationships: Properties<Relationship>,
    /// Variant sets, sorted by name.
    pub variant_sets: Vec<VariantSet>,
    /// Authored composition arcs.
    pub arcs: Vec<Arc>,
    /// The sites of opinions about the prim, the strongest first.
    pub sites: Vec<Site>,
}

/// The specifier of a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specifier {
    /// `def`: defines a prim.
    Def,
    /// `over`: adds opinions to a prim, if others define it.
    Over,
    /// `class`: defines an abstract prim, to be inherited from.
    Class,
}

/// The site of an opinion: a layer and a path in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The layer.
    pub layer: LayerId,
    /// The path in the layer, which differs from the composed path across references and variants.
    pub path: String,
}

/// A composed attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The type, such as `float3[]`.
    pub type_name: String,
    /// Whether it is declared `custom`: not part of a schema.
    pub is_custom: bool,
    /// Whether it is uniform: must not vary over time.
    pub is_uniform: bool,
    /// The default value, or else that of the first time sample; `None` without either, or if the
    /// value is blocked.
    pub value: Option<SharedValue>,
    /// The times of the samples, in time codes.
    pub times: Vec<f64>,
    /// The paths of the sources that it is connected to.
    pub connections: Vec<String>,
    /// Metadata, such as `interpolation`, `colorSpace` and `elementSize`.
    pub metadata: BTreeMap<String, Value>,
    /// The sites of opinions, the strongest first.
    pub sites: Vec<Site>,
}

/// A composed relationship.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relationship {
    /// The target paths.
    pub targets: Vec<String>,
    /// Whether it is declared `custom`: not part of a schema.
    pub is_custom: bool,
    /// Metadata, such as `bindMaterialAs` and `displayName`.
    pub metadata: BTreeMap<String, Value>,
    /// The sites of opinions, the strongest first.
    pub sites: Vec<Site>,
}

/// A variant set of a prim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSet {
    /// The name.
    pub name: String,
    /// The names of the variants, sorted.
    pub variants: Vec<String>,
    /// The variant that is composed.
    pub selection: Option<String>,
    /// The selection in the layers of the asset, in the default variants of the prims above.
    pub authored: Option<String>,
}

/// An authored composition arc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The kind.
    pub kind: ArcKind,
    /// The authored asset path; empty for an arc within the layer stack.
    pub asset: String,
    /// The path of the target prim; empty for the default prim.
    pub prim: String,
    /// The site of the arc.
    pub site: Site,
}

/// The kind of a composition arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArcKind {
    /// `references`.
    Reference,
    /// `payload`.
    Payload,
    /// `inherits`.
    Inherit,
    /// `specializes`.
    Specialize,
}

impl Prim {
    /// Returns the name of the prim.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a schema is applied, with or without an instance name.
    pub fn has(&self, schema: &str) -> bool {
        self.instances_of(schema).next().is_some()
    }

    /// Iterates over the instance names of an applied schema; an empty name for a single-apply schema.
    pub fn instances_of<'a>(&'a self, schema: &'a str) -> impl Iterator<Item = &'a str> {
        self.schemas
            .iter()
            .filter_map(move |applied| match applied.strip_prefix(schema)? {
                "" => Some(""),
                rest => rest.strip_prefix(':'),
            })
    }

    /// Whether the prim is part of the scene: defined, active, and not abstract.
    pub fn is_present(&self) -> bool {
        self.specifier == Specifier::Def && self.is_active && !self.is_abstract
    }

    /// Whether a payload is authored on the prim itself.
    pub fn has_payload(&self) -> bool {
        self.arcs.iter().any(|arc| arc.kind == ArcKind::Payload)
    }

    /// Returns the value of an attribute.
    pub fn value(&self, attribute: &str) -> Option<&Value> {
        self.attributes.get(attribute)?.value.as_deref()
    }

    /// Returns the number that an attribute holds, of any precision.
    pub fn number(&self, attribute: &str) -> Option<f64> {
        self.value(attribute).and_then(super::double)
    }

    /// Returns the string, token or asset path that an attribute holds.
    pub fn text(&self, attribute: &str) -> Option<&str> {
        self.value(attribute).and_then(super::text)
    }

    /// Returns the Boolean that an attribute holds.
    pub fn flag(&self, attribute: &str) -> Option<bool> {
        match self.value(attribute)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Returns the targets of a relationship; empty if it does not exist.
    pub fn targets(&self, relationship: &str) -> &[String] {
        self.relationships
            .get(relationship)
            .map_or(&[], |relationship| &relationship.targets)
    }

    /// Returns the site of the strongest opinion about a property, or else about the prim.
    pub fn site(&self, property: Option<&str>) -> Option<&Site> {
        let property_site = property.and_then(|name| {
            let attribute = self.attributes.get(name).map(|attribute| &attribute.sites);
            attribute
                .or_else(|| {
                    self.relationships
                        .get(name)
                        .map(|relationship| &relationship.sites)
                })?
                .first()
        });
        property_site.or_else(|| self.sites.first())
    }
}
