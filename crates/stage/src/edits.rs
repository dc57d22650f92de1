//! Rewrites the list edits of a layer that `openusd` 0.8.0 composes differently from OpenUSD.
//!
//! - An edit that deletes and adds the same item: OpenUSD deletes first, `openusd` last.
//! - A prim that inherits a class which it already inherits through its parent, as scene cloners
//!   write it: OpenUSD follows the arc once, `openusd` does not terminate.
//!
//! The rewritten layer means the same to OpenUSD.

use std::collections::HashMap;

use openusd::ar::{AssetBuffer, SharedBuffer};
use openusd::sdf::{self, AbstractData, ListOp, SpecType, Value};
use openusd::usdc::{CrateData, CrateFile};

use super::usda;

/// The fields with arcs to classes.
const INHERITS: &str = "inheritPaths";
const SPECIALIZES: &str = "specializes";

/// Returns a binary layer with its list edits rewritten; `None` if they can stay.
pub(super) fn rewritten(file: &CrateFile, bytes: &SharedBuffer) -> Option<Vec<u8>> {
    // Fields of equal value are stored once, so that this looks at few values.
    let contradicts = file.fields.iter().any(|field| {
        is_list_edit(field.value_rep.0)
            && file
                .value(field.value_rep)
                .is_ok_and(|mut value| drop_deletes(&mut value))
    });
    let has_classes = file
        .tokens
        .iter()
        .any(|token| token == INHERITS || token == SPECIALIZES);
    if !contradicts && !has_classes {
        return None;
    }
    let data = CrateData::open(AssetBuffer::Shared(bytes.clone()), true).ok()?;
    let repeated = if has_classes {
        repeated_arcs(&data)
    } else {
        Vec::new()
    };
    if !contradicts && repeated.is_empty() {
        return None;
    }
    let mut data = sdf::Data::from_abstract(&data).ok()?;
    for path in data.spec_paths() {
        for (_, value) in data
            .spec_mut(&path)
            .into_iter()
            .flat_map(|spec| &mut spec.fields)
        {
            drop_deletes(value);
        }
    }
    for arc in repeated {
        let Some(spec) = data.spec_mut(&arc.path) else {
            continue;
        };
        for (_, value) in spec.fields.iter_mut().filter(|(key, _)| key == arc.key) {
            if let Value::PathListOp(edit) = value {
                for (items, _) in edit.buckets_mut() {
                    items.retain(|class| *class != arc.class);
                }
            }
        }
        spec.fields
            .retain(|(_, value)| !matches!(value, Value::PathListOp(edit) if edit.is_empty()));
    }
    usda::write(data).ok()
}

/// Returns whether a value representation is that of a list edit, by its type number in OpenUSD's
/// `crateDataTypes.h`.
fn is_list_edit(code: u64) -> bool {
    matches!((code >> 48) & 0xff, 32..=39 | 54 | 55)
}

/// Removes items from the deletes of a list edit that the same edit adds. Returns whether there were
/// any.
fn drop_deletes(value: &mut Value) -> bool {
    fn drop<T: Default + Clone + PartialEq>(edit: &mut ListOp<T>) -> bool {
        let before = edit.deleted_items.len();
        let added = [
            &edit.added_items,
            &edit.prepended_items,
            &edit.appended_items,
        ];
        edit.deleted_items
            .retain(|item| !added.iter().any(|items| items.contains(item)));
        edit.deleted_items.len() < before
    }
    match value {
        Value::TokenListOp(edit) => drop(edit),
        Value::StringListOp(edit) | Value::UnregisteredValueListOp(edit) => drop(edit),
        Value::PathListOp(edit) => drop(edit),
        Value::ReferenceListOp(edit) => drop(edit),
        Value::PayloadListOp(edit) => drop(edit),
        Value::IntListOp(edit) => drop(edit),
        Value::Int64ListOp(edit) => drop(edit),
        Value::UIntListOp(edit) => drop(edit),
        Value::UInt64ListOp(edit) => drop(edit),
        _ => false,
    }
}

/// An arc of a prim to a class.
struct ClassArc {
    /// The prim, with the variants that the arc is in.
    path: sdf::Path,
    key: &'static str,
    class: sdf::Path,
}

/// Finds the arcs of prims to classes that an arc of an ancestor leads to already.
///
/// An inherit repeats an inherit, and a specialize repeats both; an inherit of a class that an ancestor
/// specializes is stronger, and stays. An ancestor in a variant counts for prims in the same variant.
fn repeated_arcs(data: &dyn AbstractData) -> Vec<ClassArc> {
    let mut arcs: HashMap<String, Vec<ClassArc>> = HashMap::new();
    for path in data.spec_paths() {
        if !matches!(
            data.spec_type(&path),
            Some(SpecType::Prim | SpecType::Variant)
        ) {
            continue;
        }
        let prim = path.strip_all_variant_selections();
        for key in [INHERITS, SPECIALIZES] {
            let Ok(Some(value)) = data.try_field(&path, key) else {
                continue;
            };
            let Value::PathListOp(edit) = &*value else {
                continue;
            };
            let found = edit
                .iter()
                .filter(|class| !edit.deleted_items.contains(class));
            arcs.entry(prim.as_str().to_owned())
                .or_default()
                .extend(found.map(|class| ClassArc {
                    path: path.clone(),
                    key,
                    class: class.clone(),
                }));
        }
    }
    let is_repeated = |prim: &str, arc: &ClassArc| {
        let above = prim.match_indices('/').map(|(at, _)| prim.split_at(at));
        above.into_iter().any(|(above, rest)| {
            arcs.get(above).into_iter().flatten().any(|stronger| {
                let is_composed = !stronger.path.as_str().contains('{')
                    || arc.path.as_str().starts_with(stronger.path.as_str());
                let is_stronger = stronger.key == INHERITS || arc.key == SPECIALIZES;
                is_composed
                    && is_stronger
                    && arc.class.as_str().strip_prefix(stronger.class.as_str()) == Some(rest)
            })
        })
    };
    let all = arcs
        .iter()
        .flat_map(|(prim, arcs)| arcs.iter().map(move |arc| (prim, arc)));
    all.filter(|(prim, arc)| is_repeated(prim, arc))
        .map(|(_, arc)| ClassArc {
            path: arc.path.clone(),
            key: arc.key,
            class: arc.class.clone(),
        })
        .collect()
}
