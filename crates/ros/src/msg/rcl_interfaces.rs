//! `rcl_interfaces`: parameters over the wire, and the log topic.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;
use crate::parameter::{Range, Type, Value};

/// `rcl_interfaces/msg/ParameterValue`. Only the field that `type` names means anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParameterValue {
    /// `rcl_interfaces/msg/ParameterType`; 0 means not set.
    pub type_: u8,
    /// If `type` is 1.
    pub bool_value: bool,
    /// If `type` is 2.
    pub integer_value: i64,
    /// If `type` is 3.
    pub double_value: f64,
    /// If `type` is 4.
    pub string_value: String,
    /// If `type` is 5.
    pub byte_array_value: Vec<u8>,
    /// If `type` is 6.
    pub bool_array_value: Vec<bool>,
    /// If `type` is 7.
    pub integer_array_value: Vec<i64>,
    /// If `type` is 8.
    pub double_array_value: Vec<f64>,
    /// If `type` is 9.
    pub string_array_value: Vec<String>,
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
    /// The value, or `None` if it is not set or of a type that does not exist.
    pub fn value(self) -> Option<Value> {
        const fn is(t: Type) -> u8 {
            t as u8
        }
        Some(match self.type_ {
            t if t == is(Type::Bool) => Value::Bool(self.bool_value),
            t if t == is(Type::Integer) => Value::Integer(self.integer_value),
            t if t == is(Type::Double) => Value::Double(self.double_value),
            t if t == is(Type::String) => Value::String(self.string_value),
            t if t == is(Type::ByteArray) => Value::ByteArray(self.byte_array_value),
            t if t == is(Type::BoolArray) => Value::BoolArray(self.bool_array_value),
            t if t == is(Type::IntegerArray) => Value::IntegerArray(self.integer_array_value),
            t if t == is(Type::DoubleArray) => Value::DoubleArray(self.double_array_value),
            t if t == is(Type::StringArray) => Value::StringArray(self.string_array_value),
            _ => return None,
        })
    }
}

/// `rcl_interfaces/msg/Parameter`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: ParameterValue,
}

/// `rcl_interfaces/msg/ParameterEvent`, on `/parameter_events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParameterEvent {
    /// When.
    pub stamp: Time,
    /// The node's fully qualified name.
    pub node: String,
    /// Parameters declared.
    pub new_parameters: Vec<Parameter>,
    /// Parameters changed.
    pub changed_parameters: Vec<Parameter>,
    /// Parameters removed.
    pub deleted_parameters: Vec<Parameter>,
}

/// `rcl_interfaces/msg/Log`, on `/rosout`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// When.
    pub stamp: Time,
    /// 10 debug, 20 info, 30 warning, 40 error, 50 fatal.
    pub level: u8,
    /// The logger.
    pub name: String,
    /// The text.
    pub msg: String,
    /// The source file.
    pub file: String,
    /// The function in it.
    pub function: String,
    /// The line in it.
    pub line: u32,
}

/// `rcl_interfaces/msg/FloatingPointRange`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloatingPointRange {
    /// The smallest value allowed.
    pub from_value: f64,
    /// The largest value allowed.
    pub to_value: f64,
    /// The distance of allowed values; 0 for any.
    pub step: f64,
}

/// `rcl_interfaces/msg/IntegerRange`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegerRange {
    /// The smallest value allowed.
    pub from_value: i64,
    /// The largest value allowed.
    pub to_value: i64,
    /// The distance of allowed values; 0 for any.
    pub step: u64,
}

/// `rcl_interfaces/msg/ParameterDescriptor`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParameterDescriptor {
    /// Its name.
    pub name: String,
    /// `rcl_interfaces/msg/ParameterType`.
    pub type_: u8,
    /// What it is for.
    pub description: String,
    /// Constraints in words.
    pub additional_constraints: String,
    /// Whether it keeps its first value.
    pub read_only: bool,
    /// Whether it may change its type.
    pub dynamic_typing: bool,
    /// At most one.
    pub floating_point_range: Vec<FloatingPointRange>,
    /// At most one.
    pub integer_range: Vec<IntegerRange>,
}

impl ParameterDescriptor {
    /// The same with limits.
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

/// `rcl_interfaces/msg/SetParametersResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetParametersResult {
    /// Whether the value was taken.
    pub successful: bool,
    /// Why not.
    pub reason: String,
}

/// `rcl_interfaces/msg/ListParametersResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListParametersResult {
    /// The parameters.
    pub names: Vec<String>,
    /// The groups they are in.
    pub prefixes: Vec<String>,
}

/// A request that names parameters: of `GetParameters`, `GetParameterTypes` and
/// `DescribeParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The parameters asked for.
    pub names: Vec<String>,
}

/// The response of `GetParameters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetParametersResponse {
    /// In the order asked.
    pub values: Vec<ParameterValue>,
}

/// The response of `GetParameterTypes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetParameterTypesResponse {
    /// In the order asked; 0 for parameters that do not exist.
    pub types: Vec<u8>,
}

/// The response of `DescribeParameters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribeParametersResponse {
    /// In the order asked.
    pub descriptors: Vec<ParameterDescriptor>,
}

/// The request of `ListParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListParametersRequest {
    /// Only parameters in these groups; all if empty.
    pub prefixes: Vec<String>,
    /// How many levels deep; 0 for all.
    pub depth: u64,
}

/// The response of `ListParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListParametersResponse {
    /// What was found.
    pub result: ListParametersResult,
}

/// The request of `SetParameters` and `SetParametersAtomically`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetParametersRequest {
    /// The new values.
    pub parameters: Vec<Parameter>,
}

/// The response of `SetParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetParametersResponse {
    /// One for each parameter, in order.
    pub results: Vec<SetParametersResult>,
}

/// The response of `SetParametersAtomically`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetParametersAtomicallyResponse {
    /// For all together.
    pub result: SetParametersResult,
}

/// `rcl_interfaces/srv/GetParameters`.
pub struct GetParameters;
/// `rcl_interfaces/srv/GetParameterTypes`.
pub struct GetParameterTypes;
/// `rcl_interfaces/srv/DescribeParameters`.
pub struct DescribeParameters;
/// `rcl_interfaces/srv/ListParameters`.
pub struct ListParameters;
/// `rcl_interfaces/srv/SetParameters`.
pub struct SetParameters;
/// `rcl_interfaces/srv/SetParametersAtomically`.
pub struct SetParametersAtomically;

super::service!(rcl_interfaces: GetParameters(Names) -> GetParametersResponse);
super::service!(rcl_interfaces: GetParameterTypes(Names) -> GetParameterTypesResponse);
super::service!(rcl_interfaces: DescribeParameters(Names) -> DescribeParametersResponse);
super::service!(rcl_interfaces: ListParameters(ListParametersRequest) -> ListParametersResponse);
super::service!(rcl_interfaces: SetParameters(SetParametersRequest) -> SetParametersResponse);
super::service!(rcl_interfaces: SetParametersAtomically(SetParametersRequest) -> SetParametersAtomicallyResponse);
super::message!(rcl_interfaces: ParameterEvent, Log);
