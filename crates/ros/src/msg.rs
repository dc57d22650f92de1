//! ROS messages and services as plain structs, generated from the definitions in `interfaces/`.
//!
//! Each ROS package is a module. Fields keep their order, which is the wire format.
//!
//! Other crates generate their own with `urdf_usd_rosidl`.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::parameter::{Range, Type as ParameterType, Value};
use super::types::Type;
use builtin_interfaces::Time;
use rcl_interfaces::{FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterValue};

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// Returns the standard message or service of this name, if the node uses it.
pub fn find(name: &str) -> Option<&'static Type> {
    all().find(|interface| interface.name == name)
}

/// Returns all standard messages and services that the node uses.
pub fn all() -> impl Iterator<Item = &'static Type> {
    PACKAGES.iter().copied().flatten().copied()
}

/// A message, a service, or a half of a service.
pub trait Interface {
    /// The name and fields of the type.
    const TYPE: &'static Type;
}

/// A value that can be sent: a message, or a half of a service.
pub trait Payload:
    Interface + Serialize + DeserializeOwned + Clone + Debug + Default + Send + Sync + 'static
{
}
impl<T> Payload for T where
    T: Interface + Serialize + DeserializeOwned + Clone + Debug + Default + Send + Sync + 'static
{
}

/// A message type, for topics.
pub trait Message: Payload {
    /// The type that rosidl generated from the same definition.
    #[cfg(feature = "rclrs")]
    type Ros: ::rclrs::MessageIDL + super::rclrs::wire::Mirror<Self>;
}

/// A service type.
pub trait Service: Interface + Send + Sync + 'static {
    /// The type that r2r generated from the same definition.
    #[cfg(feature = "r2r")]
    type R2r: ::r2r::WrappedServiceTypeSupport<Request: Send, Response: Send>
        + Send
        + Sync
        + 'static;
    /// The type that rosidl generated from the same definition.
    #[cfg(feature = "rclrs")]
    type Ros: ::rclrs::ServiceIDL<
            Request: super::rclrs::wire::Mirror<Self::Request>,
            Response: super::rclrs::wire::Mirror<Self::Response>,
        >;
    /// The request.
    type Request: Payload;
    /// The response.
    type Response: Payload;
}

impl Time {
    /// Returns the time of the system clock.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            sec: i32::try_from(since.as_secs()).unwrap_or(i32::MAX),
            nanosec: since.subsec_nanos(),
        }
    }

    /// Returns the time in seconds since 1970, rounded to about a microsecond.
    pub fn seconds(self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec) * 1e-9
    }
}

impl From<Value> for ParameterValue {
    fn from(value: Value) -> Self {
        let mut wire = Self {
            type_: value.kind() as u8,
            ..Self::default()
        };
        match value {
            Value::Bool(v) => wire.bool_value = v,
            Value::Integer(v) => wire.integer_value = v,
            Value::Double(v) => wire.double_value = v,
            Value::String(v) => wire.string_value = v,
            Value::ByteArray(v) => wire.byte_array_value = v,
            Value::BoolArray(v) => wire.bool_array_value = v,
            Value::IntegerArray(v) => wire.integer_array_value = v,
            Value::DoubleArray(v) => wire.double_array_value = v,
            Value::StringArray(v) => wire.string_array_value = v,
        }
        wire
    }
}

impl ParameterValue {
    /// Returns the value that the field `type` selects; `None` if it is unset or its type is
    /// unknown.
    pub fn value(self) -> Option<Value> {
        const fn number(kind: ParameterType) -> u8 {
            kind as u8
        }
        Some(match self.type_ {
            t if t == number(ParameterType::Bool) => Value::Bool(self.bool_value),
            t if t == number(ParameterType::Integer) => Value::Integer(self.integer_value),
            t if t == number(ParameterType::Double) => Value::Double(self.double_value),
            t if t == number(ParameterType::String) => Value::String(self.string_value),
            t if t == number(ParameterType::ByteArray) => Value::ByteArray(self.byte_array_value),
            t if t == number(ParameterType::BoolArray) => Value::BoolArray(self.bool_array_value),
            t if t == number(ParameterType::IntegerArray) => {
                Value::IntegerArray(self.integer_array_value)
            }
            t if t == number(ParameterType::DoubleArray) => {
                Value::DoubleArray(self.double_array_value)
            }
            t if t == number(ParameterType::StringArray) => {
                Value::StringArray(self.string_array_value)
            }
            _ => return None,
        })
    }
}

impl ParameterDescriptor {
    /// Adds a range to the descriptor.
    #[must_use]
    pub fn range(mut self, range: Option<Range>) -> Self {
        match range {
            Some(Range::Integer { from, to }) => {
                self.integer_range = vec![IntegerRange {
                    from_value: from,
                    to_value: to,
                    step: 0,
                }];
            }
            Some(Range::Double { from, to }) => {
                self.floating_point_range = vec![FloatingPointRange {
                    from_value: from,
                    to_value: to,
                    step: 0.0,
                }];
            }
            None => {}
        }
        self
    }
}
