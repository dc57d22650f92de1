//! The arcs and variant sets at a site: the list edits of the layers of a layer stack, combined.

use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};

use openusd::sdf::{self, LayerOffset, ListOp};

use super::super::{CompositionError, Value, texts};
use super::Composer;
use super::graph::{NodeKind, StackId};
use super::layers::{Member, fields};
use super::paths::PathId;

/// A reference or payload of a site.
#[derive(Clone)]
pub(crate) struct AssetArc {
    /// The authored asset path; empty for an arc within the layer stack.
    pub asset: String,
    /// The identifier of the layer.
    pub identifier: String,
    pub prim: sdf::Path,
    pub offset: LayerOffset,
    pub source: Member,
}

impl PartialEq for AssetArc {
    fn eq(&self, other: &Self) -> bool {
        self.identifier == other.identifier
            && self.prim == other.prim
            && self.offset.to_bits() == other.offset.to_bits()
    }
}

impl Eq for AssetArc {}

impl Hash for AssetArc {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.identifier, &self.prim, self.offset.to_bits()).hash(state);
    }
}

/// Applies the edits of a stronger layer to a list, as `SdfListOp::ApplyOperations`: it deletes, adds,
/// prepends, appends and then reorders.
pub(crate) fn edit<T, U: Clone + Eq + Hash>(
    list: &mut Vec<U>,
    op: &ListOp<T>,
    mut map: impl FnMut(&T, bool) -> Option<U>,
) where
    T: Default + Clone + PartialEq,
{
    let mut known: HashSet<U> = HashSet::new();
    let mut mapped = |items: &[T], is_deleted: bool| -> Vec<U> {
        let items = items.iter();
        items.filter_map(|item| map(item, is_deleted)).collect()
    };
    if op.explicit {
        *list = mapped(&op.explicit_items, false);
        list.retain(|item| known.insert(item.clone()));
        return;
    }
    let deleted: HashSet<U> = mapped(&op.deleted_items, true).into_iter().collect();
    list.retain(|item| !deleted.contains(item));
    let added = mapped(&op.added_items, false);
    if !added.is_empty() {
        known.extend(list.iter().cloned());
        list.extend(added.into_iter().filter(|item| known.insert(item.clone())));
    }
    // The first of equal prepended items stays, and the last of equal appended ones.
    let mut first = mapped(&op.prepended_items, false);
    known.clear();
    first.retain(|item| known.insert(item.clone()));
    list.retain(|item| !known.contains(item));
    list.splice(0..0, first);
    let mut last = mapped(&op.appended_items, false);
    known.clear();
    last.reverse();
    last.retain(|item| known.insert(item.clone()));
    list.retain(|item| !known.contains(item));
    list.extend(last.into_iter().rev());
    let order = mapped(&op.ordered_items, false);
    sdf::apply_ordering(list, &order);
}

impl Composer {
    /// Returns the references or payloads of a site.
    pub(super) fn asset_arcs(
        &mut self,
        stack: StackId,
        path: PathId,
        kind: NodeKind,
    ) -> Vec<AssetArc> {
        let (key, field) = match kind {
            NodeKind::Payload => ("payload", fields::PAYLOAD),
            _ => ("references", fields::REFERENCES),
        };
        let mut arcs: Vec<AssetArc> = Vec::new();
        for (member, value) in self.edits(stack, path, key, field) {
            let mut arc = |asset: &str, prim: &sdf::Path, offset: LayerOffset| {
                self.asset_arc(stack, path, kind, member, asset, prim, offset)
            };
            match value {
                Value::ReferenceListOp(op) => edit(&mut arcs, &op, |item, _| {
                    arc(&item.asset_path, &item.prim_path, item.layer_offset)
                }),
                Value::PayloadListOp(op) => edit(&mut arcs, &op, |item, _| {
                    arc(&item.asset_path, &item.prim_path, item.layer_offset)
                }),
                Value::Payload(item) => {
                    let arc = arc(&item.asset_path, &item.prim_path, item.layer_offset);
                    arcs = arc.into_iter().collect();
                }
                _ => {}
            }
        }
        arcs
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "these are the parts of an arc and its place"
    )]
    fn asset_arc(
        &mut self,
        stack: StackId,
        path: PathId,
        kind: NodeKind,
        source: Member,
        asset: &str,
        prim: &sdf::Path,
        offset: LayerOffset,
    ) -> Option<AssetArc> {
        let variables = &self.layers.stack(stack).variables;
        let evaluated = sdf::expr::evaluate_string(asset, variables);
        for error in evaluated.errors {
            let message = format!("the {} @{asset}@ cannot be evaluated: {error}", kind.name());
            self.report(message, Some(source), Some(path));
        }
        let evaluated = evaluated.value?;
        if evaluated.is_empty() && !asset.is_empty() {
            return None;
        }
        Some(AssetArc {
            asset: asset.to_owned(),
            identifier: match evaluated.is_empty() {
                true => String::new(),
                false => self.layers.identifier(&evaluated, Some(source.layer)),
            },
            prim: prim.clone(),
            offset,
            source,
        })
    }

    /// Returns the values of a field at a site, the weakest first.
    fn edits(&self, stack: StackId, path: PathId, key: &str, field: u8) -> Vec<(Member, Value)> {
        let specs = self.layers.specs(stack, path).rev();
        let specs = specs.filter(|(_, spec)| spec.fields & field != 0);
        let values = specs.filter_map(|(member, spec)| {
            let value = self.layers.opened(member.layer).field(spec, key)?;
            Some((member, value))
        });
        values.collect()
    }

    /// Returns the classes that a site inherits or specializes.
    pub(super) fn class_arcs(
        &self,
        stack: StackId,
        path: PathId,
        kind: NodeKind,
    ) -> Vec<sdf::Path> {
        let (key, field) = match kind {
            NodeKind::Specialize => ("specializes", fields::SPECIALIZES),
            _ => ("inheritPaths", fields::INHERITS),
        };
        let site = sdf::Path::new(&self.paths.text(path)).unwrap_or_default();
        let mut classes = Vec::new();
        for (_, value) in self.edits(stack, path, key, field) {
            if let Value::PathListOp(op) = value {
                edit(&mut classes, &op, |class, _| {
                    Some(site.make_absolute(class))
                });
            }
        }
        classes
    }

    /// Returns the names of the variant sets of a site.
    pub(crate) fn variant_sets(&self, stack: StackId, path: PathId) -> Vec<String> {
        let mut sets = Vec::new();
        for (_, value) in self.edits(stack, path, "variantSetNames", fields::VARIANT_SETS) {
            match value {
                Value::StringListOp(op) => edit(&mut sets, &op, |set, _| Some(set.clone())),
                value => sets.extend(
                    texts(&value)
                        .unwrap_or_default()
                        .into_iter()
                        .map(str::to_owned),
                ),
            }
        }
        sets
    }

    /// Returns the variant that a site selects, which is empty for none; `None` without an opinion.
    pub(super) fn selection(&mut self, stack: StackId, path: PathId, set: &str) -> Option<String> {
        let chosen = |sets: &BTreeMap<String, String>| sets.get(set).cloned();
        if stack == self.root
            && let Some(chosen) = self.chosen.get(&path).and_then(chosen)
        {
            return Some(chosen);
        }
        let specs = self.layers.specs(stack, path);
        let specs = specs.filter(|(_, spec)| spec.fields & fields::SELECTIONS != 0);
        let mut errors = Vec::new();
        let found = specs.filter_map(|(member, spec)| {
            let layer = self.layers.layer(member.layer);
            let selected = layer.prims.get(spec.prim)?.selections.get(set)?;
            let variables = &self.layers.stack(stack).variables;
            let evaluated = sdf::expr::evaluate_string(selected, variables);
            if evaluated.errors.is_empty() {
                return Some(evaluated.value.unwrap_or_default());
            }
            for error in evaluated.errors {
                errors.push(CompositionError {
                    message: format!("the selection {selected} of the variant set {set} cannot be evaluated: {error}"),
                    layer: Some(layer.identifier.clone()),
                    path: Some(self.paths.text(path)),
                });
            }
            None
        });
        let found = { found }.next();
        errors.into_iter().for_each(|error| self.add_error(error));
        found
    }
}
