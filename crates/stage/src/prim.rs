//! Prims and their properties, as composed.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync;

use super::{LayerId, SharedValue, Stage, Value};

/// A prim of a [`Stage`], in the order of [`Stage::prims`].
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

    /// Returns all values, in the order of [`Stage::prims`], for changes.
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
    /// Gives each prim the same value.
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

/// A composed prim.
#[derive(Clone, Debug)]
pub struct Prim {
    /// `/robot/base`.
    pub path: String,
    /// The prim above; none for a root prim.
    pub parent: Option<PrimId>,
    /// The prims below, in their order.
    pub children: Vec<PrimId>,
    /// `Xform`; empty if no layer says.
    pub type_name: String,
    /// The strongest of its layers' that defines it, or `Over` if none does.
    pub specifier: Specifier,
    /// Whether it or a prim above is a class: it is there to be inherited from, and is no part of
    /// the scene.
    pub is_abstract: bool,
    /// Applied schemas, instance names included (`CollectionAPI:colliders`).
    pub schemas: Vec<String>,
    /// `component`, if a layer says.
    pub kind: Option<String>,
    /// Whether it takes part in the scene; below a prim that doesn't, nothing is composed.
    pub is_active: bool,
    /// Whether it asks to be instanced.
    pub is_instanceable: bool,
    /// Whether it is instanced: it asks for it, and has an arc to share.
    pub is_instance: bool,
    /// The nearest instance above, if it stands below one: then it is the same as in every other
    /// instance.
    pub instance: Option<PrimId>,
    /// Whether it is there because of a payload of its own or of a prim above: without that, no
    /// layer defines it.
    pub in_payload: bool,
    /// Those of its schemas, and its type, that it has because of a payload only.
    pub payload_schemas: Vec<String>,
    /// Metadata other than what has fields of its own here: `assetInfo`, `customData`,
    /// `displayName`.
    pub metadata: BTreeMap<String, Value>,
    /// Attributes by name; those of prims below instances are shared.
    pub attributes: sync::Arc<BTreeMap<String, Attribute>>,
    /// Relationships by name.
    pub relationships: BTreeMap<String, Relationship>,
    /// Variant sets in their order.
    pub variant_sets: Vec<VariantSet>,
    /// Arcs that layers author on it.
    pub arcs: Vec<Arc>,
    /// Where layers speak of it, the strongest first.
    pub sites: Vec<Site>,
}

/// What a layer means by a prim that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specifier {
    /// It is here.
    Def,
    /// If it is there, this is so.
    Over,
    /// It is there to be inherited from.
    Class,
}

/// A place in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The layer.
    pub layer: LayerId,
    /// The path there, which differs from the composed one across references and variants.
    pub path: String,
}

/// A composed attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// `float3[]`.
    pub type_name: String,
    /// Whether it belongs to no schema.
    pub is_custom: bool,
    /// Whether it may not vary in time.
    pub is_uniform: bool,
    /// Its value: the default, or else that of the first time sample. None if it has neither, or
    /// blocks it.
    pub value: Option<SharedValue>,
    /// The times of its samples.
    pub times: Vec<f64>,
    /// What it is connected to.
    pub connections: Vec<String>,
    /// `interpolation`, `colorSpace`, `elementSize`, …
    pub metadata: BTreeMap<String, Value>,
    /// Where layers author it, the strongest first.
    pub sites: Vec<Site>,
}

/// A composed relationship.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relationship {
    /// The paths of what it points to.
    pub targets: Vec<String>,
    /// Whether it belongs to no schema.
    pub is_custom: bool,
    /// `bindMaterialAs`, `displayName`, …
    pub metadata: BTreeMap<String, Value>,
    /// Where layers author it, the strongest first.
    pub sites: Vec<Site>,
}

/// A variant set of a prim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSet {
    /// Its name.
    pub name: String,
    /// The names of its variants, sorted.
    pub variants: Vec<String>,
    /// The variant that is composed.
    pub selection: Option<String>,
    /// The selection that the asset's layers author.
    pub authored: Option<String>,
}

/// An arc that a layer authors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arc {
    /// Which kind.
    pub kind: ArcKind,
    /// The asset as written; empty for one in the same layer stack.
    pub asset: String,
    /// The prim that it leads to; empty for the default prim.
    pub prim: String,
    /// Where it stands.
    pub site: Site,
}

/// The kind of an arc.
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
    /// Its own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a schema is applied to it, or an instance of one that can be applied many times.
    pub fn has(&self, schema: &str) -> bool {
        self.instances_of(schema).next().is_some()
    }

    /// The instance names of a schema that can be applied many times; an empty name for one that is
    /// applied without.
    pub fn instances_of<'a>(&'a self, schema: &'a str) -> impl Iterator<Item = &'a str> {
        self.schemas
            .iter()
            .filter_map(move |applied| match applied.strip_prefix(schema)? {
                "" => Some(""),
                rest => rest.strip_prefix(':'),
            })
    }

    /// Whether it is here: defined and active, and no class.
    pub fn is_present(&self) -> bool {
        self.specifier == Specifier::Def && self.is_active && !self.is_abstract
    }

    /// Whether a layer authors a payload on it.
    pub fn bears_payload(&self) -> bool {
        self.arcs.iter().any(|arc| arc.kind == ArcKind::Payload)
    }

    /// An attribute's value.
    pub fn value(&self, attribute: &str) -> Option<&Value> {
        self.attributes.get(attribute)?.value.as_deref()
    }

    /// A number, whatever its precision.
    pub fn number(&self, attribute: &str) -> Option<f64> {
        self.value(attribute).and_then(super::double)
    }

    /// A string or token.
    pub fn text(&self, attribute: &str) -> Option<&str> {
        self.value(attribute).and_then(super::text)
    }

    /// A truth value.
    pub fn flag(&self, attribute: &str) -> Option<bool> {
        match self.value(attribute)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// What a relationship points to; nothing if it is not there.
    pub fn targets(&self, relationship: &str) -> &[String] {
        self.relationships
            .get(relationship)
            .map_or(&[], |relationship| &relationship.targets)
    }

    /// Where the strongest opinion about a property stands, or else about the prim.
    pub fn site(&self, property: Option<&str>) -> Option<&Site> {
        let of_property = property.and_then(|name| {
            let attribute = self.attributes.get(name).map(|attribute| &attribute.sites);
            attribute
                .or_else(|| {
                    self.relationships
                        .get(name)
                        .map(|relationship| &relationship.sites)
                })?
                .first()
        });
        of_property.or_else(|| self.sites.first())
    }
}
