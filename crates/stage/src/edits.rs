//! Rewrites the list edits of a layer that `openusd` 0.8.0 composes differently from OpenUSD.
//!
//! - An edit that deletes and adds the same item: OpenUSD deletes first, `openusd` last.
//! - A prim that inherits a class which it already inherits through an ancestor ([`classes`]).
//!
//! The rewritten layer means the same to OpenUSD.

use openusd::ar::{AssetBuffer, SharedBuffer};
use openusd::sdf::{self, AbstractData as _, ListOp, SpecType, Value};
use openusd::usdc::{CrateData, CrateFile};

use super::classes::{self, LeftOut};
use super::layer::{LayerId, arcs};
use super::prim::{Arc, ArcKind};
use super::usda;

/// The fields with arcs to classes.
const INHERITS: &str = "inheritPaths";
const SPECIALIZES: &str = "specializes";

/// Returns a binary layer with its list edits rewritten, and without the arcs of `left_out`; `None` if
/// it can stay.
pub(super) fn rewritten(
    file: &CrateFile,
    bytes: &SharedBuffer,
    left_out: &[&LeftOut],
) -> Option<Vec<u8>> {
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
    let arcs: Vec<Arc> = data
        .spec_paths()
        .iter()
        .filter(|_| has_classes)
        .filter(|path| {
            matches!(
                data.spec_type(path),
                Some(SpecType::Prim | SpecType::Variant)
            )
        })
        .flat_map(|path| arcs(LayerId(0), &data, path))
        .collect();
    // A layer with too many arcs is rejected by the reader of the stage.
    let repeats = classes::repeated(arcs.iter()).unwrap_or_default();
    let repeated: Vec<(&str, bool, &str)> = repeats
        .iter()
        .filter(|repeat| repeat.is_exact)
        .map(|repeat| repeat.arc)
        .map(|arc| {
            let is_inherit = arc.kind == ArcKind::Inherit;
            (arc.site.path.as_str(), is_inherit, arc.prim.as_str())
        })
        .chain(
            left_out
                .iter()
                .map(|arc| (arc.prim.as_str(), arc.is_inherit, arc.class.as_str())),
        )
        .collect();
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
    for (path, is_inherit, class) in repeated {
        let Some(spec) = sdf::Path::new(path)
            .ok()
            .and_then(|path| data.spec_mut(&path))
        else {
            continue;
        };
        let wanted = if is_inherit { INHERITS } else { SPECIALIZES };
        for (_, value) in spec.fields.iter_mut().filter(|(key, _)| key == wanted) {
            if let Value::PathListOp(edit) = value {
                for (items, _) in edit.buckets_mut() {
                    items.retain(|item| item.as_str() != class);
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
