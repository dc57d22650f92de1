//! Value types that several parts of the document share.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// An index into one of the document's lists.
pub type Index = usize;

/// Serialises pairs as a JSON object, in their order.
pub fn as_object<S: Serializer, V: Serialize>(
    pairs: &[(String, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        object.serialize_entry(name, value)?;
    }
    object.end()
}

/// Returns the index of `item` in `list`, and appends it if it is absent.
pub fn position_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> Index {
    list.iter()
        .position(|known| *known == item)
        .unwrap_or_else(|| {
            list.push(item);
            list.len() - 1
        })
}
