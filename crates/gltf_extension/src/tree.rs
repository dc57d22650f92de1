//! JSON as a tree that keeps the order of members, with access by path. Every value knows its JSON
//! pointer, and values of the wrong type are distinguished from absent ones.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in double precision.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// Members in the order of the file.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Returns the member `key`, even if it is null. Of duplicate members the last one counts, as
    /// in most programs.
    pub fn member(&self, key: &str) -> Option<&Json> {
        self.members()
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Returns the member `key`, unless it is null.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.member(key).filter(|value| **value != Self::Null)
    }

    /// Returns the value at the path `keys`.
    pub fn at(&self, keys: &[&str]) -> Option<&Json> {
        keys.iter().try_fold(self, |json, key| json.get(key))
    }

    /// Returns the items of the list in the member `key`; empty if it is not a list.
    pub fn list(&self, key: &str) -> &[Json] {
        self.get(key).map_or(&[], Json::items)
    }

    /// Returns the members of an object; empty for other types.
    pub fn members(&self) -> &[(String, Json)] {
        if let Self::Object(members) = self {
            members
        } else {
            &[]
        }
    }

    /// Returns the items of a list; empty for other types.
    pub fn items(&self) -> &[Json] {
        if let Self::List(items) = self {
            items
        } else {
            &[]
        }
    }

    /// Returns whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Returns the text, if it is a string.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the number, if it is one.
    pub fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self {
            Some(*number)
        } else {
            None
        }
    }

    /// Returns the number, if it is a valid index: a non-negative integer, which may be written as
    /// 3.0.
    pub fn index(&self) -> Option<usize> {
        // The cast saturates for huge numbers, and no list is that long.
        self.number()
            .filter(|number| *number >= 0.0 && number.fract() == 0.0)
            .map(|number| number as usize)
    }

    /// Returns N numbers, if it is a list of exactly those.
    pub fn numbers<const N: usize>(&self) -> Option<[f64; N]> {
        let items = self.items();
        let mut numbers = [0.0; N];
        if items.len() != N {
            return None;
        }
        for (number, item) in numbers.iter_mut().zip(items) {
            *number = item.number()?;
        }
        Some(numbers)
    }

    /// Converts the tree for the schema validator.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            // The validator tells integers from other numbers. Doubles hold integers up to 2⁵³
            // exactly.
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Value::from(*number as i64)
            }
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.to_value()))
                    .collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Json;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Number(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value as f64))
            }
            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(member) = members.next_entry()? {
                    list.push(member);
                }
                Ok(Json::Object(list))
            }
        }
        deserializer.deserialize_any(Tree)
    }
}

/// Receiver of reports about values of the wrong type.
pub trait Misfits {
    /// Reports that the value at the JSON pointer `at` is not `wanted`.
    fn misfit(&mut self, at: &str, wanted: &str);
}

/// The value of an object's member, converted to a type.
#[derive(Debug)]
pub struct Field<'e, 'a, T> {
    owner: &'e Entry<'a>,
    /// Name of the member.
    pub key: &'e str,
    value: Option<T>,
    /// Description of the expected type, if the member is present and has another one.
    wanted: Option<Cow<'static, str>>,
}

impl<'e, 'a, T> Field<'e, 'a, T> {
    /// Returns the value; `None` if the member is absent or has the wrong type.
    pub fn value(self) -> Option<T> {
        self.value
    }

    /// Returns the JSON pointer to the member.
    pub fn at(&self) -> String {
        self.owner.below(self.key)
    }

    /// Returns the value as [`Self::value`] does, and reports a wrong type.
    pub fn or_report(self, misfits: &mut impl Misfits) -> Option<T> {
        if let Some(wanted) = self.wanted {
            misfits.misfit(&self.owner.below(self.key), &wanted);
        }
        self.value
    }

    /// Applies `of` to the value.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Field<'e, 'a, U> {
        Field {
            owner: self.owner,
            key: self.key,
            value: self.value.map(of),
            wanted: self.wanted,
        }
    }
}

/// A JSON value with its JSON pointer (RFC 6901).
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The value.
    pub json: &'a Json,
    /// The JSON pointer to it.
    pub at: String,
}

impl<'a> Entry<'a> {
    /// Returns the member `key`; `None` if it is absent or null.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        Some(Entry {
            json: self.json.get(key)?,
            at: self.below(key),
        })
    }

    /// Returns the JSON pointer to the member `key`.
    pub fn below(&self, key: &str) -> String {
        format!("{}/{}", self.at, escaped(key))
    }

    fn field<'e, T>(
        &'e self,
        key: &'e str,
        wanted: impl Into<Cow<'static, str>>,
        of: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Field<'e, 'a, T> {
        let json = self.json.get(key);
        let value = json.and_then(of);
        let wanted = (json.is_some() && value.is_none()).then(|| wanted.into());
        Field {
            owner: self,
            key,
            value,
            wanted,
        }
    }

    /// Returns the text in the member `key`.
    pub fn text<'e>(&'e self, key: &'e str) -> Field<'e, 'a, &'a str> {
        self.field(key, "text", Json::text)
    }

    /// Returns the number in the member `key`.
    pub fn number<'e>(&'e self, key: &'e str) -> Field<'e, 'a, f64> {
        self.field(key, "a number", Json::number)
    }

    /// Returns the index in the member `key`.
    pub fn index<'e>(&'e self, key: &'e str) -> Field<'e, 'a, usize> {
        self.field(key, "an index", Json::index)
    }

    /// Returns the N numbers in the member `key`.
    pub fn numbers<'e, const N: usize>(&'e self, key: &'e str) -> Field<'e, 'a, [f64; N]> {
        self.field(key, format!("a list of {N} numbers"), Json::numbers)
    }

    /// Returns the indices in the member `key`.
    pub fn indices<'e>(&'e self, key: &'e str) -> Field<'e, 'a, Vec<usize>> {
        self.field(key, "a list of indices", |json| match json {
            Json::List(items) => items.iter().map(Json::index).collect(),
            _ => None,
        })
    }

    /// Returns the items of the list in the member `key`, `None` for those that are not an index.
    pub fn each_index(&self, key: &str) -> Vec<Option<usize>> {
        self.json.list(key).iter().map(Json::index).collect()
    }

    /// Returns the items of the list in the member `key`.
    pub fn list<'e>(&'e self, key: &'e str) -> Field<'e, 'a, Vec<Entry<'a>>> {
        let list = self.field(key, "a list", |json| {
            if let Json::List(items) = json {
                Some(items)
            } else {
                None
            }
        });
        list.map(|items| {
            let at = self.below(key);
            items
                .iter()
                .enumerate()
                .map(|(index, json)| Entry {
                    json,
                    at: format!("{at}/{index}"),
                })
                .collect()
        })
    }
}

/// Escapes `segment` for a JSON pointer (RFC 6901).
pub fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Misfits for Vec<String> {
        fn misfit(&mut self, at: &str, wanted: &str) {
            self.push(format!("{at}: {wanted}"));
        }
    }

    #[test]
    fn members_keep_their_order_and_numbers_their_bits() {
        let numbers = [
            0.1,
            1.0 / 3.0,
            -2.2250738585072014e-308,
            1.7976931348623157e308,
            0.30000000000000004,
            5e-324,
        ];
        let text = serde_json::to_string(&numbers).unwrap();
        let tree: Json = serde_json::from_str(&format!(
            "{{\"z\": {text}, \"a\": null, \"m\": [3, -1, true]}}"
        ))
        .unwrap();
        assert_eq!(
            tree.members()
                .iter()
                .map(|(key, _)| key.as_str())
                .collect::<Vec<_>>(),
            ["z", "a", "m"]
        );
        assert_eq!(tree.get("z").unwrap().numbers::<6>(), Some(numbers));
        assert_eq!(tree.get("a"), None, "null is nothing");
        assert_eq!(
            tree.get("m")
                .unwrap()
                .items()
                .iter()
                .map(Json::index)
                .collect::<Vec<_>>(),
            [Some(3), None, None]
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_told_at_its_place() {
        let tree: Json =
            serde_json::from_str(r#"{"a/b": {"n": "x", "l": [1, "y"], "z": null}}"#).unwrap();
        let entry = Entry {
            json: &tree,
            at: String::new(),
        }
        .get("a/b")
        .unwrap();
        let mut misfits = Vec::new();
        assert_eq!(entry.number("n").value(), None);
        assert_eq!(entry.number("n").or_report(&mut misfits), None);
        assert_eq!(entry.numbers::<2>("l").or_report(&mut misfits), None);
        assert_eq!(
            entry
                .list("l")
                .map(|list| list.len())
                .or_report(&mut misfits),
            Some(2)
        );
        assert_eq!(entry.index("absent").or_report(&mut misfits), None);
        assert_eq!(entry.index("z").or_report(&mut misfits), None);
        assert_eq!(
            misfits,
            ["/a~1b/n: a number", "/a~1b/l: a list of 2 numbers"]
        );
        assert_eq!(
            (
                tree.at(&["a/b", "z"]),
                tree.at(&["a/b"]).unwrap().member("z")
            ),
            (None, Some(&Json::Null))
        );
    }

    #[test]
    fn the_validator_gets_the_same_values() {
        let text = r#"{"a": [0, -3, 2.5, 1e300, 18446744073709551615], "b": {"c": null, "d": true, "e": "x", "c": 1}}"#;
        let tree: Json = serde_json::from_str(text).unwrap();
        let mut expected: Value = serde_json::from_str(text).unwrap();
        expected["a"][4] = Value::from(u64::MAX as f64);
        assert_eq!(tree.to_value(), expected);
    }
}
