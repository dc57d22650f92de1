//! JSON as a tree that keeps the order of members, and the way through it: every value knows its place, and one of the wrong kind
//! is a finding.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::codes;
use crate::diagnostic::{Code, Collector, Diagnostic, Most, Place};

/// Findings with one code beyond this many are counted only.
const FINDINGS_PER_CODE: usize = 20;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// Members in the order of the text.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member `key`; the last one if there are several, as most programs have it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.members().iter().rev().find(|(name, _)| name == key).map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    /// The members of an object; none of anything else.
    pub fn members(&self) -> &[(String, Json)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Json] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// The number, if it can be an index.
    pub fn index(&self) -> Option<usize> {
        let number = self.number()?;
        (number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0).then_some(number as usize)
    }

    /// N numbers, if it is a list of them.
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

/// What was found in a file.
pub struct Findings {
    file: Option<Arc<Path>>,
    list: Collector,
}

impl Findings {
    pub fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Arc::from), list: Collector::new(Most::OfEachCode(FINDINGS_PER_CODE)) }
    }

    /// The place of the value that the JSON pointer `at` names.
    pub fn place(&self, at: &str) -> Place {
        Place { file: self.file.clone(), element: at.to_owned(), ..Place::default() }
    }

    /// Reports a finding about the value at the JSON pointer `at`.
    pub fn report(&mut self, code: &'static Code, at: &str, message: impl Into<String>, help: &str) {
        self.list.push(Diagnostic::new(code, self.place(at), message).help(help));
    }

    /// Reports that the value at `at` is not what it should be.
    pub fn bad_value(&mut self, at: &str, wanted: &str) {
        self.report(&codes::BAD_VALUE, at, format!("{at} is not {wanted}; it counts as not given"), "correct the value");
    }

    /// All of them.
    pub fn finish(self) -> Vec<Diagnostic> {
        let place = self.place("");
        let (mut list, mut omitted) = self.list.finish();
        omitted.sort_by_key(|more| list.iter().position(|finding| finding.code == more.code));
        list.extend(
            omitted.iter().map(|more| more.summary(place.clone(), format!("{} more findings of this kind", more.count))),
        );
        list
    }
}

/// A value and its place, as a JSON pointer (RFC 6901).
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    pub json: &'a Json,
    pub at: String,
}

impl<'a> Entry<'a> {
    /// The member `key`; `None` if it is not there or null.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        Some(Entry { json: self.json.get(key)?, at: self.below(key) })
    }

    /// Where the member `key` is.
    pub fn below(&self, key: &str) -> String {
        format!("{}/{}", self.at, key.replace('~', "~0").replace('/', "~1"))
    }

    fn read<T>(&self, key: &str, wanted: &str, findings: &mut Findings, of: impl FnOnce(&'a Json) -> Option<T>) -> Option<T> {
        let value = of(self.json.get(key)?);
        if value.is_none() {
            findings.bad_value(&self.below(key), wanted);
        }
        value
    }

    /// The text in the member `key`.
    pub fn text(&self, key: &str, findings: &mut Findings) -> Option<&'a str> {
        self.read(key, "text", findings, Json::text)
    }

    /// The number in the member `key`.
    pub fn number(&self, key: &str, findings: &mut Findings) -> Option<f64> {
        self.read(key, "a number", findings, Json::number)
    }

    /// The index in the member `key`.
    pub fn index(&self, key: &str, findings: &mut Findings) -> Option<usize> {
        self.read(key, "an index", findings, Json::index)
    }

    /// The N numbers in the member `key`.
    pub fn numbers<const N: usize>(&self, key: &str, findings: &mut Findings) -> Option<[f64; N]> {
        self.read(key, &format!("a list of {N} numbers"), findings, Json::numbers)
    }

    /// The indices in the member `key`; none if it is not there.
    pub fn indices(&self, key: &str, findings: &mut Findings) -> Vec<usize> {
        let indices = self.read(key, "a list of indices", findings, |json| match json {
            Json::List(items) => items.iter().map(Json::index).collect(),
            _ => None,
        });
        indices.unwrap_or_default()
    }

    /// The items of the list in the member `key`; none if it is not there.
    pub fn list(&self, key: &str, findings: &mut Findings) -> Vec<Entry<'a>> {
        let items = self.read(key, "a list", findings, |json| match json {
            Json::List(items) => Some(items),
            _ => None,
        });
        let at = self.below(key);
        let items = items.map_or(&[][..], Vec::as_slice).iter().enumerate();
        items.map(|(index, json)| Entry { json, at: format!("{at}/{index}") }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_numbers_their_bits() {
        let numbers = [0.1, 1.0 / 3.0, -2.2250738585072014e-308, 1.7976931348623157e308, 0.30000000000000004, 5e-324];
        let text = serde_json::to_string(&numbers).unwrap();
        let tree: Json = serde_json::from_str(&format!("{{\"z\": {text}, \"a\": null, \"m\": [3, -1, true]}}")).unwrap();
        assert_eq!(tree.members().iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
        assert_eq!(tree.get("z").unwrap().numbers::<6>(), Some(numbers));
        assert_eq!(tree.get("a"), None, "null is nothing");
        assert_eq!(tree.get("m").unwrap().items().iter().map(Json::index).collect::<Vec<_>>(), [Some(3), None, None]);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_a_finding_at_its_place() {
        let tree: Json = serde_json::from_str(r#"{"a/b": {"n": "x", "l": [1, "y"]}}"#).unwrap();
        let mut findings = Findings::new(None);
        let entry = Entry { json: &tree, at: String::new() }.get("a/b").unwrap();
        assert_eq!(entry.number("n", &mut findings), None);
        assert_eq!(entry.numbers::<2>("l", &mut findings), None);
        assert_eq!(entry.index("absent", &mut findings), None);
        for _ in 0..30 {
            entry.text("l", &mut findings);
        }
        let found = findings.finish();
        assert_eq!(found.len(), 21);
        assert_eq!((found[0].code, found[0].place.element.as_str()), ("gltf-read-bad-value", "/a~1b/n"));
        assert_eq!(found[20].message, "12 more findings of this kind");
    }
}
