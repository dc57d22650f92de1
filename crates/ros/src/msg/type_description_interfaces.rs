//! `type_description_interfaces`: what a type is made of.

use serde::{Deserialize, Serialize};

use crate::types;

/// `type_description_interfaces/msg/FieldType`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldType {
    /// What it is.
    pub type_id: u8,
    /// The length of an array, or the most elements of a sequence.
    pub capacity: u64,
    /// The most characters of a text.
    pub string_capacity: u64,
    /// The interface that it is, if it is one.
    pub nested_type_name: String,
}

/// `type_description_interfaces/msg/Field`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: FieldType,
    /// Its default, as Python writes it.
    pub default_value: String,
}

/// `type_description_interfaces/msg/IndividualTypeDescription`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndividualTypeDescription {
    /// Its full name.
    pub type_name: String,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// `type_description_interfaces/msg/TypeDescription`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeDescription {
    /// The type.
    pub type_description: IndividualTypeDescription,
    /// The types of its fields, and theirs.
    pub referenced_type_descriptions: Vec<IndividualTypeDescription>,
}

/// `type_description_interfaces/msg/TypeSource`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeSource {
    /// The type.
    pub type_name: String,
    /// `msg`, `srv`, `action` or `idl`.
    pub encoding: String,
    /// The text of its definition.
    pub raw_file_contents: String,
}

/// `type_description_interfaces/msg/KeyValue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValue {
    /// What.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// The request of `type_description_interfaces/srv/GetTypeDescription`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetTypeDescriptionRequest {
    /// The type's name.
    pub type_name: String,
    /// Its hash, by which it is found.
    pub type_hash: String,
    /// Whether its definition is wanted, too.
    pub include_type_sources: bool,
}

/// Its response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetTypeDescriptionResponse {
    /// Whether the type was found.
    pub successful: bool,
    /// Why not.
    pub failure_reason: String,
    /// What it is made of.
    pub type_description: TypeDescription,
    /// Definitions.
    pub type_sources: Vec<TypeSource>,
    /// More about it.
    pub extra_information: Vec<KeyValue>,
}

/// `type_description_interfaces/srv/GetTypeDescription`.
pub struct GetTypeDescription;

super::service!(type_description_interfaces: GetTypeDescription(GetTypeDescriptionRequest) -> GetTypeDescriptionResponse);

impl From<types::Individual> for IndividualTypeDescription {
    fn from(types::Individual { type_name, fields }: types::Individual) -> Self {
        let fields = fields.into_iter().map(
            |types::Field {
                 name,
                 kind,
                 default,
             }| {
                let types::FieldType {
                    type_id,
                    capacity,
                    string_capacity,
                    nested_type_name,
                } = kind;
                Field {
                    name,
                    type_: FieldType {
                        type_id,
                        capacity,
                        string_capacity,
                        nested_type_name,
                    },
                    default_value: default,
                }
            },
        );
        Self {
            type_name,
            fields: fields.collect(),
        }
    }
}

impl From<types::Description> for TypeDescription {
    fn from(
        types::Description {
            type_description,
            referenced_type_descriptions,
        }: types::Description,
    ) -> Self {
        Self {
            type_description: type_description.into(),
            referenced_type_descriptions: referenced_type_descriptions
                .into_iter()
                .map(Into::into)
                .collect(),
        }
    }
}
