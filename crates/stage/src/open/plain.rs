//! Composes prims that add no arcs to those of their parents, without `openusd`.
//!
//! Most prims of an asset are plain. `openusd` 0.8 composes an index for each and searches all its nodes
//! again for each field, which takes several times as long as reading the opinions at the known sites.
//! A plain prim for which the rules of composition are not trivial is left to `openusd`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use openusd::sdf;
use openusd::tf::Token;

use super::super::Value;
use super::super::classes::without_variants;
use super::super::layer::LayerPrim;
use super::super::prim::{Prim, PrimId, Site, Specifier};
use super::prims::enclosing_instance;
use super::{Read, Reader, layer_at};

/// The children that some sites list.
#[derive(Default)]
pub(super) struct Listed {
    /// The names, in order.
    pub names: Vec<Token>,
    /// The sites of each child, the strongest first.
    pub sites: HashMap<Token, Vec<Site>>,
}

/// The fields of a prim that OpenUSD resolves by rules of their own.
pub(super) struct Basics {
    pub specifier: Specifier,
    pub type_name: String,
    pub schemas: Vec<String>,
    pub kind: Option<String>,
    pub is_active: bool,
    pub is_instanceable: bool,
}

impl From<sdf::Specifier> for Specifier {
    fn from(specifier: sdf::Specifier) -> Self {
        match specifier {
            sdf::Specifier::Def => Self::Def,
            sdf::Specifier::Class => Self::Class,
            sdf::Specifier::Over => Self::Over,
        }
    }
}

/// The opinions about [`Basics`].
#[derive(Default)]
pub(super) struct BasicOpinions {
    specifiers: Vec<sdf::Specifier>,
    type_name: Option<Value>,
    schemas: Vec<sdf::ListOp<Token>>,
    kind: Option<Value>,
    active: Option<Value>,
    instanceable: Option<Value>,
    /// True if a value has another type than the schema of OpenUSD's core defines.
    is_ill_typed: bool,
}

impl BasicOpinions {
    /// Adds a field in the next weaker layer.
    pub fn add(&mut self, key: &str, value: Value) {
        let slot = match (key, value) {
            ("specifier", Value::Specifier(specifier)) => return self.specifiers.push(specifier),
            ("apiSchemas", Value::TokenListOp(op)) => return self.schemas.push(op),
            ("specifier" | "apiSchemas", _) => {
                self.is_ill_typed = true;
                return;
            }
            ("typeName", value) => (&mut self.type_name, value),
            ("kind", value) => (&mut self.kind, value),
            ("active", value) => (&mut self.active, value),
            (_, value) => (&mut self.instanceable, value),
        };
        let (slot, value) = slot;
        // OpenUSD takes the type of the strongest layer that names one.
        let is_unnamed = key == "typeName"
            && matches!(&value, Value::Token(name) if name.is_empty() || name == "__AnyType__");
        if slot.is_none() && !is_unnamed {
            *slot = Some(value);
        }
    }

    /// Resolves the fields; `None` if the result depends on more than the order of the opinions.
    pub fn resolve(self) -> Option<Basics> {
        if self.is_ill_typed {
            return None;
        }
        let mut defining = self
            .specifiers
            .iter()
            .filter(|specifier| **specifier != sdf::Specifier::Over);
        let specifier = match defining.next() {
            None => Specifier::Over,
            // With both, the kinds of the arcs decide.
            Some(first) if defining.any(|other| other != first) => return None,
            Some(sdf::Specifier::Class) => Specifier::Class,
            Some(_) => Specifier::Def,
        };
        let token = |value: Option<Value>| match value {
            Some(Value::Token(token)) => Some(token.to_string()),
            None => Some(String::new()),
            Some(_) => None,
        };
        let flag = |value: Option<Value>, default| match value {
            Some(Value::Bool(flag)) => Some(flag),
            None => Some(default),
            Some(_) => None,
        };
        Some(Basics {
            specifier,
            type_name: token(self.type_name)?,
            schemas: composed_list(&self.schemas)
                .iter()
                .map(ToString::to_string)
                .collect(),
            kind: token(self.kind).map(|kind| Some(kind).filter(|kind| !kind.is_empty()))?,
            is_active: flag(self.active, true)?,
            is_instanceable: flag(self.instanceable, false)?,
        })
    }
}

/// Composes list operations, the strongest first.
fn composed_list<T: Clone + Default + PartialEq>(ops: &[sdf::ListOp<T>]) -> Vec<T> {
    let last = ops.iter().position(|op| op.explicit);
    let ops = ops.get(..=last.unwrap_or(ops.len())).unwrap_or(ops);
    ops.iter()
        .rev()
        .fold(Vec::new(), |weaker, op| op.compose_over(&weaker))
}

impl Reader<'_> {
    /// Lists the children of a prim with these sites, like `PcpPrimIndex::ComputePrimChildNames`: from the
    /// weakest site to the strongest, each appends its new names and then applies its order.
    pub(super) fn listed(&self, sites: &[Site]) -> Listed {
        let mut listed = Listed::default();
        for site in sites.iter().rev() {
            let Some(layer) = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)
            else {
                continue;
            };
            let path = match site.path.as_str() {
                "" => sdf::Path::abs_root(),
                path => match sdf::Path::new(path) {
                    Ok(path) => path,
                    Err(_) => continue,
                },
            };
            let names = |key| match layer.data().try_field(&path, key).ok().flatten() {
                Some(value) => match value.into_owned() {
                    Value::TokenVec(names) => names,
                    _ => Vec::new(),
                },
                None => Vec::new(),
            };
            // A child of a variant continues its path without a slash: /robot{set=variant}arm.
            let separator = if site.path.ends_with('}') { "" } else { "/" };
            for name in names("primChildren") {
                let sites = listed.sites.entry(name.clone()).or_insert_with(|| {
                    listed.names.push(name.clone());
                    Vec::new()
                });
                sites.push(Site {
                    layer: site.layer,
                    path: format!("{}{separator}{name}", site.path),
                });
            }
            let order = names("primOrder");
            if !order.is_empty() {
                sdf::apply_ordering(&mut listed.names, &order);
            }
        }
        listed.sites.values_mut().for_each(|sites| sites.reverse());
        listed
    }

    /// Returns the sites of a child of a prim with these sites, and its fields, without payloads; `None` if
    /// `openusd` has to compose it.
    pub(super) fn plain_child(&self, sites: &[Site], name: &str) -> Option<(Vec<Site>, Basics)> {
        let mut found = Vec::new();
        for site in sites {
            let separator = if site.path.ends_with('}') { "" } else { "/" };
            let path = format!("{}{separator}{name}", site.path);
            match layer_at(&self.layers, site.layer).prim(&path) {
                Some(spec) if !spec.is_plain_without_payload() => return None,
                Some(_) => found.push(Site {
                    layer: site.layer,
                    path,
                }),
                None => {}
            }
        }
        let basics = self.prim_opinions(&found).basics.resolve()?;
        Some((found, basics))
    }

    /// Reads a prim with these sites. Returns `None` if `openusd` has to compose it.
    pub(super) fn plain_prim(
        &mut self,
        path: &str,
        parent: Option<(PrimId, &Prim)>,
        id: PrimId,
        sites: Vec<Site>,
    ) -> Read<Option<Prim>> {
        let specs = sites.iter().map(|site| {
            let layer = layer_at(&self.layers, site.layer);
            layer.prim(&site.path).filter(|spec| spec.is_plain())
        });
        if specs
            .collect::<Option<Vec<&LayerPrim>>>()
            .is_none_or(|specs| specs.is_empty())
        {
            return Ok(None);
        }
        let opinions = self.prim_opinions(&sites);
        let Some(basics) = opinions.basics.resolve() else {
            return Ok(None);
        };
        let (properties, is_mixed) = self.property_sites(&sites);
        let instance = parent.and_then(enclosing_instance);
        let prototype = parent
            .filter(|_| instance.is_some())
            .and_then(|(parent, _)| {
                let (_, name) = path.rsplit_once('/')?;
                Some(format!("{}/{name}", self.prototypes.get(&parent)?))
            });
        // `openusd` reports a property that is both attribute and relationship.
        if is_mixed || (instance.is_some() && prototype.is_none()) {
            return Ok(None);
        }
        if let Some(prototype) = &prototype {
            self.prototypes.insert(id, prototype.clone());
        }
        let (attributes, relationships) = self.properties(path, prototype, properties)?;
        Ok(Some(Prim {
            path: path.to_owned(),
            parent: parent.map(|(parent, _)| parent),
            children: Vec::new(),
            type_name: basics.type_name,
            specifier: basics.specifier,
            is_abstract: basics.specifier == Specifier::Class
                || parent.is_some_and(|(_, above)| above.is_abstract),
            schemas: basics.schemas,
            kind: basics.kind,
            is_active: basics.is_active,
            is_instanceable: basics.is_instanceable,
            is_instance: false,
            instance,
            in_payload: false,
            payload_schemas: Vec::new(),
            metadata: opinions.metadata,
            attributes,
            relationships,
            variant_sets: Vec::new(),
            arcs: Vec::new(),
            sites,
        }))
    }

    /// Returns the composed targets of a relationship, or the connections of an attribute.
    pub(super) fn targets(
        &self,
        prim: &str,
        name: &str,
        field: &str,
        sites: &[Site],
    ) -> Read<Vec<String>> {
        if let Some(targets) = self.local_targets(prim, field, sites) {
            return Ok(targets);
        }
        let prim = self.source.prim(prim)?;
        let targets = match field {
            "targetPaths" => prim.relationship(name).targets()?,
            _ => prim.attribute(name).connections()?,
        };
        Ok(targets
            .iter()
            .map(|path| path.as_str().to_owned())
            .collect())
    }

    /// Returns the targets that one opinion in the layer stack of the prim lists, in which paths need no
    /// translation; `None` in other cases.
    fn local_targets(&self, prim: &str, field: &str, sites: &[Site]) -> Option<Vec<String>> {
        if !self.is_hierarchical {
            return None;
        }
        let mut list = None;
        for site in sites {
            let layer = layer_at(&self.layers, site.layer);
            let (owner, _) = site.path.rsplit_once('.')?;
            let is_same = owner == prim || without_variants(owner) == prim;
            if !layer.is_local || !is_same {
                return None;
            }
            let source = self.source.layer(&layer.identifier)?;
            let path = sdf::Path::new(&site.path).ok()?;
            match source
                .data()
                .try_field(&path, field)
                .ok()?
                .map(Cow::into_owned)
            {
                None => {}
                Some(Value::PathListOp(op)) if list.is_none() => list = Some(op),
                Some(_) => return None,
            }
        }
        let op = list.unwrap_or_default();
        if !op.deleted_items.is_empty() || !op.ordered_items.is_empty() {
            return None;
        }
        let mut seen = HashSet::new();
        let mut targets = Vec::new();
        for path in op.iter().map(sdf::Path::as_str) {
            let is_plain = path.starts_with('/') && !path.contains('{');
            if is_plain && seen.insert(path) {
                targets.push(path.to_owned());
            }
        }
        // Duplicates, and paths that are relative or have variants, follow further rules.
        (targets.len() == op.iter().count()).then_some(targets)
    }
}
