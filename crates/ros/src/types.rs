//! Type descriptions for tools, and the hash that distinguishes definitions of the same name
//! (REP-2016, "RIHS01").
//!
//! Every generated message has its [`Type`] as a constant.

use std::collections::BTreeMap;
use std::io::Write;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A message, a service, or a half of a service.
///
/// Its serialization is a `type_description_interfaces/msg/IndividualTypeDescription` as REP-2016
/// hashes it.
#[derive(Debug, Serialize)]
pub struct Type {
    /// The full name: `std_msgs/msg/Header`, `urdf_usd/srv/Convert_Request`.
    #[serde(rename = "type_name")]
    pub name: &'static str,
    /// The fields in order.
    pub fields: &'static [Field],
    /// The text of its `.msg` or `.srv` file, if this program defines the type.
    #[serde(skip)]
    pub source: Option<&'static str>,
}

/// A field.
#[derive(Debug, Serialize)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The type.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// The default value in Python syntax; empty if there is none. Defaults do not affect the hash.
    #[serde(skip)]
    pub default: &'static str,
}

/// The type of a field.
#[derive(Debug, Serialize)]
pub struct FieldType {
    /// The type's number in `type_description_interfaces/msg/FieldType`.
    pub type_id: u8,
    /// Length of an array, or maximum length of a sequence; 0 if unlimited or not a list.
    pub capacity: u64,
    /// Maximum length of a text; 0 if unlimited.
    pub string_capacity: u64,
    /// The message type, if the field is a message.
    #[serde(rename = "nested_type_name", serialize_with = "serialize_name")]
    pub nested: Option<&'static Type>,
}

impl FieldType {
    /// Returns the name of the field's message type; empty if the field is not a message.
    pub fn nested_name(&self) -> &'static str {
        self.nested.map_or("", |nested| nested.name)
    }
}

fn serialize_name<S: Serializer>(
    nested: &Option<&'static Type>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(nested.map_or("", |nested| nested.name))
}

/// A type with all types that it refers to.
#[derive(Serialize)]
struct Description {
    type_description: &'static Type,
    referenced_type_descriptions: Vec<&'static Type>,
}

impl Type {
    /// Returns all types that the fields refer to, directly or indirectly, by name.
    pub fn references(&'static self) -> BTreeMap<&'static str, &'static Self> {
        let mut found = BTreeMap::new();
        let mut open = vec![self];
        while let Some(next) = open.pop() {
            for nested in next.fields.iter().filter_map(|field| field.kind.nested) {
                if found.insert(nested.name, nested).is_none() {
                    open.push(nested);
                }
            }
        }
        found
    }

    /// Returns `RIHS01_` and the SHA-256 of the description, as REP-2016 defines it.
    pub fn hash(&'static self) -> String {
        let description = Description {
            type_description: self,
            // Sorted by name: the order enters the hash.
            referenced_type_descriptions: self.references().into_values().collect(),
        };
        let mut sha = Sha256::new();
        let mut json = serde_json::Serializer::with_formatter(HashWriter(&mut sha), Spaced);
        // Neither writing to a hash nor serializing these types can fail.
        let _ = description.serialize(&mut json);
        let hash = sha.finalize();
        hash.iter().fold("RIHS01_".to_owned(), |text, byte| {
            format!("{text}{byte:02x}")
        })
    }

    /// Returns the request and the response of a service.
    pub fn halves(&self) -> Option<(&'static Self, &'static Self)> {
        let [request, response, _event] = self.fields else {
            return None;
        };
        request.kind.nested.zip(response.kind.nested)
    }
}

/// Feeds the written bytes into a hash.
struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
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

impl Spaced {
    fn separate<W: ?Sized + Write>(writer: &mut W, is_first: bool) -> std::io::Result<()> {
        writer.write_all(if is_first { b"" } else { b", " })
    }
}

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests;
