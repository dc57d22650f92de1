//! What ROS types are made of, and the hash that tells two definitions of one name apart (REP-2016,
//! "RIHS01").
//!
//! Everything is derived from the definitions: those of this package in `msg/` and `srv/`, and the
//! fields of the standard interfaces that the node uses, in `types/standard.msg`. A [`Description`]
//! has the layout of `type_description_interfaces/msg/TypeDescription`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// This package's own interfaces: their names and definitions.
const OWN: [(&str, &str); 10] = [
    ("urdf_usd/msg/Asset", include_str!("../msg/Asset.msg")),
    (
        "urdf_usd/msg/FrameVerdict",
        include_str!("../msg/FrameVerdict.msg"),
    ),
    (
        "urdf_usd/msg/NamedPose",
        include_str!("../msg/NamedPose.msg"),
    ),
    (
        "urdf_usd/srv/CheckFrames",
        include_str!("../srv/CheckFrames.srv"),
    ),
    (
        "urdf_usd/srv/ComputeFk",
        include_str!("../srv/ComputeFk.srv"),
    ),
    ("urdf_usd/srv/Convert", include_str!("../srv/Convert.srv")),
    (
        "urdf_usd/srv/DeletePose",
        include_str!("../srv/DeletePose.srv"),
    ),
    (
        "urdf_usd/srv/ListPoses",
        include_str!("../srv/ListPoses.srv"),
    ),
    ("urdf_usd/srv/SolveIk", include_str!("../srv/SolveIk.srv")),
    (
        "urdf_usd/srv/StorePose",
        include_str!("../srv/StorePose.srv"),
    ),
];
const STANDARD: &str = include_str!("types/standard.msg");

/// `type_description_interfaces/msg/FieldType`: kinds of values, and what is added for arrays and
/// sequences of them.
const NESTED: u8 = 1;
const STRING: u8 = 17;
const BOUNDED_STRING: u8 = 21;
const ARRAY: u8 = 48;
const BOUNDED_SEQUENCE: u8 = 96;
const SEQUENCE: u8 = 144;
/// The types of a definition that are not other definitions. In definitions, a `char` is an
/// unsigned byte.
const PLAIN: [(&str, u8); 14] = [
    ("int8", 2),
    ("uint8", 3),
    ("int16", 4),
    ("uint16", 5),
    ("int32", 6),
    ("uint32", 7),
    ("int64", 8),
    ("uint64", 9),
    ("float32", 10),
    ("float64", 11),
    ("char", 3),
    ("bool", 15),
    ("byte", 16),
    ("string", STRING),
];

/// The type of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FieldType {
    /// What it is, as `type_description_interfaces/msg/FieldType` numbers it.
    pub type_id: u8,
    /// The length of an array, or the most elements of a sequence; 0 if unlimited or a single
    /// value.
    pub capacity: u64,
    /// The most characters of a text; 0 if unlimited.
    pub string_capacity: u64,
    /// Its name, if it is another interface; empty otherwise.
    pub nested_type_name: String,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: FieldType,
    /// Its default, written as Python writes it; empty if it has none.
    pub default: String,
}

/// One type by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Individual {
    /// Its full name: `std_msgs/msg/Header`.
    pub type_name: String,
    /// Its fields in order.
    pub fields: Vec<Field>,
}

/// A type with all that it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// The type.
    pub type_description: Individual,
    /// The types of its fields, and theirs, by name.
    pub referenced_type_descriptions: Vec<Individual>,
}

// For the hash: a default does not make another type.
impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Field", 2)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("type", &self.kind)?;
        fields.end()
    }
}

impl Description {
    /// `RIHS01_` and the SHA-256 of the description, as REP-2016 writes it.
    pub fn hash(&self) -> String {
        let mut sha = Sha256::new();
        let mut json = serde_json::Serializer::with_formatter(HashedBy(&mut sha), Spaced);
        // Neither writing to a hash nor these types can fail.
        let _ = self.serialize(&mut json);
        sha.finalize()
            .iter()
            .fold("RIHS01_".to_owned(), |text, byte| {
                format!("{text}{byte:02x}")
            })
    }
}

/// A message or service type, or a half of a service, by its full name (`std_msgs/msg/String`,
/// `urdf_usd/srv/Convert_Request`); `None` if the node does not use it.
pub fn describe(type_name: &str) -> Option<Description> {
    let type_description = ALL.get(type_name)?.clone();
    let mut found = BTreeSet::new();
    let mut open: Vec<&Individual> = vec![&type_description];
    while let Some(next) = open.pop() {
        for name in next
            .fields
            .iter()
            .map(|field| &field.kind.nested_type_name)
            .filter(|name| !name.is_empty())
        {
            if found.insert(name.clone()) {
                open.extend(ALL.get(name));
            }
        }
    }
    let referenced_type_descriptions = found
        .iter()
        .filter_map(|name| ALL.get(name).cloned())
        .collect();
    Some(Description {
        type_description,
        referenced_type_descriptions,
    })
}

/// The hash of a type that the node uses; see [`describe`].
pub fn hash(type_name: &str) -> Option<String> {
    static KNOWN: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains_key(type_name) {
        known.insert(type_name.to_owned(), describe(type_name)?.hash());
    }
    known.get(type_name).cloned()
}

/// The name of the type with this hash, if the node uses it.
pub fn of_hash(wanted: &str) -> Option<&'static str> {
    ALL.keys()
        .map(String::as_str)
        .find(|name| hash(name).as_deref() == Some(wanted))
}

/// How an interface of this package is written (`msg` or `srv`), and its definition.
pub fn source(type_name: &str) -> Option<(&'static str, &'static str)> {
    let (name, text) = OWN.into_iter().find(|(name, _)| *name == type_name)?;
    Some((name.split('/').nth(1)?, text))
}

static ALL: LazyLock<BTreeMap<String, Individual>> = LazyLock::new(|| {
    let mut all = BTreeMap::new();
    let standard = STANDARD
        .split("\n= ")
        .skip(1)
        .filter_map(|definition| definition.split_once('\n'));
    for (name, text) in OWN.into_iter().chain(standard) {
        read(name, text, &mut all);
    }
    all
});

/// Adds the types of one definition file.
fn read(name: &str, text: &str, all: &mut BTreeMap<String, Individual>) {
    let package = name.split('/').next().unwrap_or_default();
    let fields = |text: &str| -> Vec<Field> {
        text.lines()
            .filter_map(|line| field(line, package))
            .collect()
    };
    let mut add = |type_name: String, mut fields: Vec<Field>| {
        if fields.is_empty() {
            let kind = FieldType {
                type_id: 3,
                ..FieldType::default()
            };
            fields.push(Field {
                name: "structure_needs_at_least_one_member".to_owned(),
                kind,
                default: String::new(),
            });
        }
        all.insert(type_name.clone(), Individual { type_name, fields });
    };
    let Some((request, response)) = text.split_once("\n---") else {
        return add(name.to_owned(), fields(text));
    };
    add(format!("{name}_Request"), fields(request));
    add(format!("{name}_Response"), fields(response));
    // What rosidl adds: the messages of service introspection, and a type that holds all three.
    let part = |field: &str, type_id: u8, nested: String| {
        let capacity = u64::from(type_id == NESTED + BOUNDED_SEQUENCE);
        let kind = FieldType {
            type_id,
            capacity,
            string_capacity: 0,
            nested_type_name: nested,
        };
        Field {
            name: field.to_owned(),
            kind,
            default: String::new(),
        }
    };
    let event = vec![
        part(
            "info",
            NESTED,
            "service_msgs/msg/ServiceEventInfo".to_owned(),
        ),
        part(
            "request",
            NESTED + BOUNDED_SEQUENCE,
            format!("{name}_Request"),
        ),
        part(
            "response",
            NESTED + BOUNDED_SEQUENCE,
            format!("{name}_Response"),
        ),
    ];
    add(format!("{name}_Event"), event);
    let halves = ["request", "response", "event"].map(|half| {
        let (first, rest) = half.split_at(1);
        part(
            &format!("{half}_message"),
            NESTED,
            format!("{name}_{}{rest}", first.to_uppercase()),
        )
    });
    add(name.to_owned(), halves.into());
}

/// One line of a definition; `None` for comments, constants and blank lines.
fn field(line: &str, package: &str) -> Option<Field> {
    let line = line.split('#').next()?.trim();
    let (kind, rest) = line.split_once(char::is_whitespace)?;
    let (name, default) = rest
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((rest.trim(), ""));
    if name.contains('=') || default.trim().starts_with('=') {
        return None;
    }
    let (of, count) = kind
        .strip_suffix(']')
        .and_then(|kind| kind.rsplit_once('['))
        .map_or((kind, None), |(of, n)| (of, Some(n)));
    let (of, longest) = of
        .split_once("<=")
        .map_or((of, None), |(of, longest)| (of, Some(longest)));
    let (plus, capacity) = match count {
        None => (0, 0),
        Some("") => (SEQUENCE, 0),
        Some(count) => match count.strip_prefix("<=") {
            Some(most) => (BOUNDED_SEQUENCE, most.parse().ok()?),
            None => (ARRAY, count.parse().ok()?),
        },
    };
    let plain = PLAIN
        .iter()
        .find(|(name, _)| *name == of)
        .map(|(_, id)| *id);
    let type_id = if longest.is_some() {
        BOUNDED_STRING
    } else {
        plain.unwrap_or(NESTED)
    };
    let nested_type_name = match (plain, of.split_once('/')) {
        (Some(_), _) => String::new(),
        (None, Some((package, name))) => format!("{package}/msg/{name}"),
        (None, None) => format!("{package}/msg/{of}"),
    };
    let string_capacity = longest.map_or(Ok(0), str::parse).ok()?;
    let kind = FieldType {
        type_id: type_id + plus,
        capacity,
        string_capacity,
        nested_type_name,
    };
    Some(Field {
        name: name.to_owned(),
        default: written(default.trim(), of),
        kind,
    })
}

/// A default as Python writes it.
fn written(default: &str, kind: &str) -> String {
    match (kind, default) {
        ("bool", "true") => "True".to_owned(),
        ("bool", "false") => "False".to_owned(),
        ("float32" | "float64", number) => number
            .parse::<f64>()
            .map(|number| format!("{number:?}"))
            .unwrap_or_default(),
        _ => default.to_owned(),
    }
}

/// A hash to write to.
struct HashedBy<'a>(&'a mut Sha256);

impl Write for HashedBy<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// JSON with a space after each comma and colon, as REP-2016 hashes it.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests;
