//! Parameters: typed values, what may be declared about them, and the rules every change has to pass.
//!
//! Free of any ROS client: clients without parameters of their own keep a [`Store`], others map [`Declaration`] to theirs.

use std::fmt;
use std::sync::Arc;

use super::queue;

/// The type of a parameter, numbered as in `rcl_interfaces/msg/ParameterType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Type {
    /// `bool`
    Bool = 1,
    /// `int64`
    Integer = 2,
    /// `float64`
    Double = 3,
    /// `string`
    String = 4,
    /// `byte[]`
    ByteArray = 5,
    /// `bool[]`
    BoolArray = 6,
    /// `int64[]`
    IntegerArray = 7,
    /// `float64[]`
    DoubleArray = 8,
    /// `string[]`
    StringArray = 9,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::ByteArray => "byte array",
            Self::BoolArray => "bool array",
            Self::IntegerArray => "integer array",
            Self::DoubleArray => "double array",
            Self::StringArray => "string array",
        })
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a decimal point.
    Double(f64),
    /// Text.
    String(String),
    /// Bytes. No parameter file can hold them; only other nodes set them.
    ByteArray(Vec<u8>),
    /// A list of bools.
    BoolArray(Vec<bool>),
    /// A list of whole numbers.
    IntegerArray(Vec<i64>),
    /// A list of numbers.
    DoubleArray(Vec<f64>),
    /// A list of texts.
    StringArray(Vec<String>),
}

impl Value {
    /// Its type.
    pub fn kind(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Integer(_) => Type::Integer,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::ByteArray(_) => Type::ByteArray,
            Self::BoolArray(_) => Type::BoolArray,
            Self::IntegerArray(_) => Type::IntegerArray,
            Self::DoubleArray(_) => Type::DoubleArray,
            Self::StringArray(_) => Type::StringArray,
        }
    }

    /// The bool, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(v) = self { Some(*v) } else { None }
    }

    /// The integer, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(v) = self { Some(*v) } else { None }
    }

    /// The number, if it is a double.
    pub fn as_double(&self) -> Option<f64> {
        if let Self::Double(v) = self { Some(*v) } else { None }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(v) = self { Some(v) } else { None }
    }

    /// The texts, if it is a string array.
    pub fn as_strings(&self) -> Option<&[String]> {
        if let Self::StringArray(v) = self { Some(v) } else { None }
    }
}

/// The limits of a number, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Of an integer.
    Integer {
        /// The smallest value allowed.
        from: i64,
        /// The largest value allowed.
        to: i64,
    },
    /// Of a double.
    Double {
        /// The smallest value allowed.
        from: f64,
        /// The largest value allowed.
        to: f64,
    },
}

/// A rule of a parameter's own, beyond type and range: `Err` is the reason for refusing, in words for the person who tried.
pub type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// What a node says about a parameter when it declares it.
#[derive(Clone)]
pub struct Declaration {
    /// Its name, with dots between levels: `frames.tolerance_m`.
    pub name: String,
    /// Its value unless overridden; fixes its type.
    pub default: Value,
    /// What it is for, in a sentence, with its unit.
    pub description: String,
    /// Constraints in words, beyond type and range. May be empty.
    pub constraints: String,
    /// Whether it keeps its first value.
    pub read_only: bool,
    /// The limits, for numbers.
    pub range: Option<Range>,
    /// Its own rule.
    pub check: Option<Check>,
}

impl Declaration {
    /// A parameter that may be changed to any value of the type of `default`.
    pub fn new(name: impl Into<String>, default: Value, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            default,
            description: description.into(),
            constraints: String::new(),
            read_only: false,
            range: None,
            check: None,
        }
    }

    /// The same, but it keeps its first value.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The same with limits.
    #[must_use]
    pub fn range(mut self, range: Range) -> Self {
        self.range = Some(range);
        self
    }

    /// The same with a rule, and the rule in words.
    #[must_use]
    pub fn check(
        mut self,
        constraints: impl Into<String>,
        check: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.constraints = constraints.into();
        self.check = Some(Arc::new(check));
        self
    }
}

/// An accepted change of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which parameter.
    pub name: String,
    /// Its new value.
    pub value: Value,
}

/// The changes of a node's parameters, in order.
pub struct Changes(queue::Receiver<Change>);

impl Changes {
    /// For implementations of [`super::Node`].
    pub fn new(queue: queue::Receiver<Change>) -> Self {
        Self(queue)
    }

    /// Waits for the next change; `None` when the node has shut down. Cancel-safe.
    pub async fn next(&mut self) -> Option<Change> {
        self.0.next().await
    }
}
