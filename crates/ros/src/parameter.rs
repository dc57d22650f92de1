//! Parameters: typed values, their declarations, and the checks that every change must pass.
//!
//! This module is independent of ROS clients: those without parameters keep a [`Store`], others map
//! [`Declaration`] to their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::overrides::{Given, Override};
use super::{codes, queue};
use urdf_usd_diagnostic::nearest;
use urdf_usd_diagnostic::{Code, Diagnostic};

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
    /// Bytes. Parameter files can't express them; only other nodes set them.
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
    /// Returns the value's type.
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

    fn is_empty_list(&self) -> bool {
        match self {
            Self::Bool(_) | Self::Integer(_) | Self::Double(_) | Self::String(_) => false,
            Self::ByteArray(list) => list.is_empty(),
            Self::BoolArray(list) => list.is_empty(),
            Self::IntegerArray(list) => list.is_empty(),
            Self::DoubleArray(list) => list.is_empty(),
            Self::StringArray(list) => list.is_empty(),
        }
    }

    /// Returns the bool, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(v) = self {
            Some(*v)
        } else {
            None
        }
    }

    /// Returns the integer, if the value is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(v) = self {
            Some(*v)
        } else {
            None
        }
    }

    /// Returns the number, if the value is a double.
    pub fn as_double(&self) -> Option<f64> {
        if let Self::Double(v) = self {
            Some(*v)
        } else {
            None
        }
    }

    /// Returns the text, if the value is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(v) = self {
            Some(v)
        } else {
            None
        }
    }

    /// Returns the texts, if the value is a string array.
    pub fn as_strings(&self) -> Option<&[String]> {
        if let Self::StringArray(v) = self {
            Some(v)
        } else {
            None
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(v) => write!(f, "{v}"),
            Self::Integer(v) => write!(f, "{v}"),
            Self::Double(v) => write!(f, "{v:?}"),
            Self::String(v) => write!(f, "{v:?}"),
            Self::ByteArray(v) => write!(f, "{v:?}"),
            Self::BoolArray(v) => write!(f, "{v:?}"),
            Self::IntegerArray(v) => write!(f, "{v:?}"),
            Self::DoubleArray(v) => write!(f, "{v:?}"),
            Self::StringArray(v) => write!(f, "{v:?}"),
        }
    }
}

/// The limits of a number, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// The limits of an integer.
    Integer {
        /// The minimum value.
        from: i64,
        /// The maximum value.
        to: i64,
    },
    /// The limits of a double.
    Double {
        /// The minimum value.
        from: f64,
        /// The maximum value.
        to: f64,
    },
}

/// A check beyond type and range. `Err` is the reason for the refusal, written for the user.
pub type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// The declaration of a parameter.
#[derive(Clone)]
pub struct Declaration {
    /// The parameter's name, with dots between levels: `frames.tolerance_m`.
    pub name: String,
    /// The value without an override; its type is the parameter's type.
    pub default: Value,
    /// A sentence that describes the parameter, with its unit.
    pub description: String,
    /// Constraints beyond type and range, in words. May be empty.
    pub constraints: String,
    /// Whether the value is fixed at the start.
    pub read_only: bool,
    /// The limits, for numbers.
    pub range: Option<Range>,
    /// The check beyond type and range.
    pub check: Option<Check>,
}

impl Declaration {
    /// Declares a parameter that accepts any value of the type of `default`.
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

    /// Fixes the parameter's value at the start.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn range(mut self, range: Range) -> Self {
        self.range = Some(range);
        self
    }

    /// Sets the check, and its description in words.
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

/// The reason why a value does not fit a declaration.
struct Misfit {
    code: &'static Code,
    why: String,
    help: String,
}

impl Declaration {
    /// Checks type, range and rule of a value.
    fn admit(&self, value: &Value) -> Result<(), Misfit> {
        let (name, wanted, kind) = (&self.name, self.default.kind(), value.kind());
        if kind != wanted {
            let help = match (value, wanted) {
                (Value::Integer(v), Type::Double) => format!("write {v}.0"),
                (_, Type::String) => "put the value in quotes".to_owned(),
                (Value::String(_), Type::StringArray) => format!("write a list: [{value}]"),
                _ => format!("give a value like {}", self.default),
            };
            return Err(Misfit {
                code: &codes::PARAMETER_TYPE,
                why: format!("`{name}` takes a value of type {wanted}, not {kind}"),
                help,
            });
        }
        let outside = match (self.range, value) {
            (Some(Range::Integer { from, to }), Value::Integer(v)) if !(from..=to).contains(v) => {
                Some(format!("{from} … {to}"))
            }
            (Some(Range::Double { from, to }), Value::Double(v)) if !(from..=to).contains(v) => {
                Some(format!("{from:?} … {to:?}"))
            }
            _ => None,
        };
        if let Some(range) = outside {
            let why = format!("`{name}` can't be {value}");
            return Err(Misfit {
                code: &codes::PARAMETER_VALUE,
                why,
                help: format!("its range is {range}"),
            });
        }
        let Some(check) = &self.check else {
            return Ok(());
        };
        check(value).map_err(|why| Misfit {
            code: &codes::PARAMETER_VALUE,
            why: format!("`{name}` can't be {value}: {why}"),
            help: self.constraints.clone(),
        })
    }

    /// Returns an override as a value of this parameter, if it fits.
    fn first_value(&self, given: &Given) -> Result<Value, Misfit> {
        let value = match given {
            Given::Value(value) => value.clone(),
            Given::EmptyList => self.empty_list().ok_or_else(|| Misfit {
                code: &codes::PARAMETER_TYPE,
                why: format!(
                    "`{}` takes a value of type {}, not a list",
                    self.name,
                    self.default.kind()
                ),
                help: format!("give a value like {}", self.default),
            })?,
        };
        self.admit(&value)?;
        Ok(value)
    }

    /// Returns `[]` as a value of this parameter's type.
    fn empty_list(&self) -> Option<Value> {
        Some(match self.default.kind() {
            Type::ByteArray => Value::ByteArray(Vec::new()),
            Type::BoolArray => Value::BoolArray(Vec::new()),
            Type::IntegerArray => Value::IntegerArray(Vec::new()),
            Type::DoubleArray => Value::DoubleArray(Vec::new()),
            Type::StringArray => Value::StringArray(Vec::new()),
            Type::Bool | Type::Integer | Type::Double | Type::String => return None,
        })
    }
}

/// The parameters of a node: declarations, values, and the rules for changing them, for clients
/// that have no parameters of their own.
#[derive(Default)]
pub struct Store {
    parameters: BTreeMap<String, (Declaration, Value)>,
    overrides: BTreeMap<String, Override>,
}

impl Store {
    /// Creates a store whose initial values come from `overrides`, by parameter name.
    pub fn new(overrides: BTreeMap<String, Override>) -> Self {
        Self {
            overrides,
            ..Self::default()
        }
    }

    /// Declares a parameter and returns its value.
    ///
    /// A second declaration has no effect.
    ///
    /// # Errors
    /// [`codes::PARAMETER_TYPE`], [`codes::PARAMETER_VALUE`] if its override does not fit, with the
    /// place of the override.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Value, Diagnostic> {
        if let Some((_, value)) = self.parameters.get(&declaration.name) {
            return Ok(value.clone());
        }
        let value =
            match self.overrides.get(&declaration.name) {
                None => declaration.default.clone(),
                Some(given) => declaration.first_value(&given.value).map_err(
                    |Misfit { code, why, help }| {
                        Diagnostic::new(code, given.place.clone(), format!("parameter {why}"))
                            .help(help)
                    },
                )?,
            };
        self.parameters
            .insert(declaration.name.clone(), (declaration, value.clone()));
        Ok(value)
    }

    /// Returns a parameter's declaration and value.
    pub fn get(&self, name: &str) -> Option<(&Declaration, &Value)> {
        self.parameters
            .get(name)
            .map(|(declaration, value)| (declaration, value))
    }

    /// Returns "did you mean …?" with parameters of similar names; empty if there are none.
    pub fn suggestion(&self, name: &str) -> String {
        let near = nearest(name, self.parameters.keys().map(String::as_str));
        if near.is_empty() {
            String::new()
        } else {
            format!("did you mean `{}`?", near.join("`, `"))
        }
    }

    /// Changes parameters, all or none, and returns the changes.
    ///
    /// An empty list of any type is converted to the parameter's: the `[]` of a file that `ros2
    /// param load` reads arrives as a list of bools.
    ///
    /// # Errors
    /// The reason, written for the user.
    pub fn set(&mut self, mut changes: Vec<Change>) -> Result<Vec<Change>, String> {
        for Change { name, value } in &mut changes {
            let Some((declaration, _)) = self.get(name) else {
                let suggestion = self.suggestion(name);
                let suggestion = if suggestion.is_empty() {
                    suggestion
                } else {
                    format!("; {suggestion}")
                };
                return Err(format!("no parameter `{name}`{suggestion}"));
            };
            if declaration.read_only {
                return Err(format!(
                    "`{name}` is read-only: set it when the node is started"
                ));
            }
            if value.is_empty_list()
                && let Some(empty) = declaration.empty_list()
            {
                *value = empty;
            }
            declaration
                .admit(value)
                .map_err(|Misfit { why, help, .. }| format!("{why} ({help})"))?;
        }
        // All have passed, so none is applied without the others.
        for Change { name, value } in &changes {
            if let Some((_, current)) = self.parameters.get_mut(name) {
                current.clone_from(value);
            }
        }
        Ok(changes)
    }

    /// Returns the names of parameters in the groups `prefixes` (all if empty), and the groups of
    /// these.
    ///
    /// At most `depth` levels deep (0: unlimited), counted as rclcpp does.
    pub fn list(&self, prefixes: &[String], depth: u64) -> (Vec<String>, Vec<String>) {
        let shallow = |rest: &str| depth == 0 || (rest.matches('.').count() as u64) < depth;
        let wanted = |name: &str| {
            let under = |prefix: &String| {
                name == prefix
                    || name
                        .strip_prefix(prefix.as_str())
                        .is_some_and(|rest| rest.starts_with('.') && shallow(rest))
            };
            if prefixes.is_empty() {
                shallow(name)
            } else {
                prefixes.iter().any(under)
            }
        };
        let names: Vec<String> = self
            .parameters
            .keys()
            .filter(|name| wanted(name))
            .cloned()
            .collect();
        let groups: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| name.rsplit_once('.'))
            .map(|(group, _)| group)
            .collect();
        let groups = groups.into_iter().map(str::to_owned).collect();
        (names, groups)
    }

    /// Returns the overrides that match no declared parameter.
    ///
    /// An override from a file for many nodes counts only if its name resembles one of this node's:
    /// it may belong to another node.
    pub fn unused(&self) -> impl Iterator<Item = &Override> {
        self.overrides.values().filter(|o| {
            let is_for_this_node = o.nodes.is_exact() || o.place.file.is_none();
            self.get(&o.parameter).is_none()
                && (is_for_this_node || !self.suggestion(&o.parameter).is_empty())
        })
    }
}

/// An accepted change of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The parameter's name.
    pub name: String,
    /// Its new value.
    pub value: Value,
}

/// A stream of the changes of a node's parameters, in order.
pub struct Changes(queue::Receiver<Change>);

impl Changes {
    /// Creates a stream, for implementations of [`super::Node`].
    pub fn new(queue: queue::Receiver<Change>) -> Self {
        Self(queue)
    }

    /// Waits for the next change; `None` after the node has shut down. Cancel-safe.
    pub async fn next(&mut self) -> Option<Change> {
        self.0.next().await
    }

    /// Returns the next change if one is queued.
    pub fn try_next(&mut self) -> Option<Change> {
        self.0.try_next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overrides::read_str;

    fn store(text: &str) -> Store {
        let text = format!("/n:\n  ros__parameters: {{{text}}}\n");
        let read = read_str(&text, "f.yaml").expect("valid");
        Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect())
    }

    fn rate() -> Declaration {
        Declaration::new("rate", Value::Double(1.0), "how often").range(Range::Double {
            from: 0.0,
            to: 10.0,
        })
    }

    fn change(name: &str, value: Value) -> Change {
        Change {
            name: name.into(),
            value,
        }
    }

    #[test]
    fn overrides_are_taken_if_they_fit() {
        assert_eq!(store("").declare(rate()), Ok(Value::Double(1.0)));
        assert_eq!(store("rate: 2.5").declare(rate()), Ok(Value::Double(2.5)));
        let list = || Declaration::new("l", Value::StringArray(vec!["a".into()]), "");
        assert_eq!(
            store("l: []").declare(list()),
            Ok(Value::StringArray(Vec::new()))
        );
        for (text, code, part) in [
            ("rate: 5", codes::PARAMETER_TYPE, "write 5.0"),
            (
                "rate: fast",
                codes::PARAMETER_TYPE,
                "`rate` takes a value of type double, not string",
            ),
            ("rate: 11.0", codes::PARAMETER_VALUE, "0.0 … 10.0"),
            ("rate: .nan", codes::PARAMETER_VALUE, "NaN"),
            ("rate: []", codes::PARAMETER_TYPE, "not a list"),
        ] {
            let fault = store(text).declare(rate()).expect_err(text);
            assert_eq!(fault.code, code.id, "{fault}");
            assert!(
                fault.to_string().contains(part) && fault.place.line == 2,
                "{fault}"
            );
        }
        assert!(
            store("l: a")
                .declare(list())
                .expect_err("type")
                .help
                .contains("[\"a\"]")
        );
    }

    #[test]
    fn changes_are_all_or_none_and_refusals_have_reasons() {
        let mut store = store("");
        let even = Declaration::new("even", Value::Integer(0), "").check("an even number", |v| {
            match v.as_integer() {
                Some(v) if v % 2 == 0 => Ok(()),
                _ => Err("it is odd".into()),
            }
        });
        for declaration in [
            rate(),
            even,
            Declaration::new("fixed", Value::Bool(true), "").read_only(),
        ] {
            store.declare(declaration).expect("declared");
        }
        let changes = vec![
            change("rate", Value::Double(3.0)),
            change("even", Value::Integer(2)),
        ];
        assert_eq!(store.set(changes.clone()), Ok(changes));
        for (bad, part) in [
            (change("rate", Value::Double(99.0)), "its range is"),
            (change("rate", Value::Integer(3)), "write 3.0"),
            (
                change("even", Value::Integer(3)),
                "it is odd (an even number)",
            ),
            (change("fixed", Value::Bool(false)), "read-only"),
            (change("nothing", Value::Bool(false)), "no parameter"),
        ] {
            let reason = store
                .set(vec![change("rate", Value::Double(4.0)), bad])
                .expect_err(part);
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(
            store.get("rate").map(|(_, value)| value.clone()),
            Some(Value::Double(3.0))
        );
    }

    #[test]
    fn an_empty_list_takes_the_type_of_its_parameter() {
        let mut store = store("");
        store
            .declare(Declaration::new(
                "l",
                Value::StringArray(vec!["a".into()]),
                "",
            ))
            .expect("declared");
        store.declare(rate()).expect("declared");
        let none = change("l", Value::StringArray(Vec::new()));
        assert_eq!(
            store.set(vec![change("l", Value::BoolArray(Vec::new()))]),
            Ok(vec![none])
        );
        for misfit in [
            change("l", Value::BoolArray(vec![true])),
            change("rate", Value::BoolArray(Vec::new())),
        ] {
            assert!(
                store
                    .set(vec![misfit])
                    .expect_err("type")
                    .contains("not bool array")
            );
        }
    }

    #[test]
    fn lists_as_rclcpp_does_and_finds_misspelt_overrides() {
        let mut store = store("a.x: 1, rat: 2.0, a: {y: 1}");
        for name in ["b", "a.x", "a.c.d", "ab.z"] {
            store
                .declare(Declaration::new(name, Value::Integer(0), ""))
                .expect("declared");
        }
        let list = |prefixes: &[&str], depth| {
            store.list(
                &prefixes.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>(),
                depth,
            )
        };
        assert_eq!(
            list(&[], 0),
            (
                vec!["a.c.d".into(), "a.x".into(), "ab.z".into(), "b".into()],
                vec!["a".into(), "a.c".into(), "ab".into()]
            )
        );
        assert_eq!(list(&[], 1).0, ["b"]);
        assert_eq!(list(&["a"], 0).0, ["a.c.d", "a.x"]);
        assert_eq!(list(&["a"], 2).0, ["a.x"]);
        let unused: Vec<_> = store.unused().map(|o| o.parameter.as_str()).collect();
        assert_eq!(unused, ["a.y", "rat"]);
    }

    #[test]
    fn an_unknown_name_is_reported_unless_it_may_belong_to_another_node() {
        let text = "/**:\n  ros__parameters: {rates: 1.0, camera: 1}\n";
        let read = read_str(text, "f.yaml").expect("valid");
        let mut store = Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect());
        store.declare(rate()).expect("declared");
        assert_eq!(
            store
                .unused()
                .map(|o| o.parameter.as_str())
                .collect::<Vec<_>>(),
            ["rates"]
        );
        let reason = store
            .set(vec![change("raet", Value::Double(1.0))])
            .expect_err("unknown");
        assert_eq!(reason, "no parameter `raet`");
        let reason = store
            .set(vec![change("rates", Value::Double(1.0))])
            .expect_err("unknown");
        assert_eq!(reason, "no parameter `rates`; did you mean `rate`?");
    }
}
