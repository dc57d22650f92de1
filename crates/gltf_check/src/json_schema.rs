//! JSON Schema validator (draft 2020-12) for the keywords that the extension's schemas use.
//!
//! Keywords other than [`KEYWORDS`], such as `description` and `format`, are ignored.
//! `unevaluatedProperties` must be `false`, and used together with `properties` and `allOf`.

use std::collections::{BTreeMap, HashSet};

use regex_lite::Regex;
use serde_json::Value;

use super::asset::plural;

/// Supported assertions, in the order in which they are checked.
pub const KEYWORDS: &str = "type const enum minimum minLength minItems maxItems required pattern \
                            uniqueItems properties additionalProperties propertyNames items \
                            prefixItems contains allOf anyOf not if unevaluatedProperties $ref";

/// Schemas by their `$id`, which references use.
pub struct Schemas(pub BTreeMap<&'static str, Value>);

/// Violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A required property is missing.
    Missing(String),
    /// These properties are not defined by the schema.
    Unknown(Vec<String>),
    /// The value must not be present.
    Forbidden,
    /// Any other violation, as a sentence about "it".
    Other(String),
}

/// Violations, each with the JSON pointer to the value.
type Faults = Vec<(String, Fault)>;

impl Schemas {
    /// Validates a value against the schema with `id`.
    pub fn faults(&self, id: &str, value: &Value) -> Faults {
        let mut faults = Faults::new();
        self.check(self.schema(id), value, "", &mut faults);
        faults
    }

    fn schema(&self, id: &str) -> &Value {
        self.0.get(id).unwrap_or(&Value::Null)
    }

    fn allows(&self, schema: &Value, value: &Value) -> bool {
        let mut faults = Faults::new();
        self.check(schema, value, "", &mut faults);
        faults.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Faults) {
        if schema == &Value::Bool(false) {
            faults.push((at.to_owned(), Fault::Forbidden));
        }
        for keyword in KEYWORDS.split(' ') {
            if let Some(argument) = schema.get(keyword)
                && let Some(fault) = self.fault(keyword, argument, schema, value, at, faults)
            {
                faults.push((at.to_owned(), fault));
            }
        }
    }

    /// Checks `value` against one keyword of `schema`. Further violations, and those of nested
    /// values, are added to `faults`.
    fn fault(
        &self,
        keyword: &str,
        argument: &Value,
        schema: &Value,
        value: &Value,
        at: &str,
        faults: &mut Faults,
    ) -> Option<Fault> {
        let limit = argument.as_u64().unwrap_or(0) as usize;
        let (is_met, message) = match (keyword, argument, value) {
            ("type", Value::String(name), _) => (
                is_type(value, name),
                format!("it is not of type {argument}"),
            ),
            ("type", Value::Array(names), _) => {
                let mut names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                names.sort_unstable();
                let is_met = names.iter().any(|name| is_type(value, name));
                (
                    is_met,
                    format!("it is not of types \"{}\"", names.join("\", \"")),
                )
            }
            ("const", ..) => (argument == value, format!("{argument} was expected")),
            ("enum", Value::Array(options), _) => (
                options.contains(value),
                format!("it is not one of {}", one_of(options)),
            ),
            ("minimum", _, Value::Number(_)) => {
                let message = format!("it is less than the minimum of {argument}");
                (value.as_f64() >= argument.as_f64(), message)
            }
            ("minLength", _, Value::String(text)) => {
                let message = format!("it is shorter than {}", plural(limit, "character"));
                (text.chars().count() >= limit, message)
            }
            ("minItems", _, Value::Array(items)) => {
                let message = format!("it has less than {}", plural(limit, "item"));
                (items.len() >= limit, message)
            }
            ("maxItems", _, Value::Array(items)) => {
                let message = format!("it has more than {}", plural(limit, "item"));
                (items.len() <= limit, message)
            }
            ("required", Value::Array(names), Value::Object(members)) => {
                let names = names.iter().filter_map(Value::as_str);
                let missing = names.filter(|name| !members.contains_key(*name));
                faults.extend(missing.map(|name| (at.to_owned(), Fault::Missing(name.to_owned()))));
                return None;
            }
            ("pattern", Value::String(pattern), Value::String(text)) => {
                let is_met = Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
                (is_met, format!("it does not match \"{pattern}\""))
            }
            ("uniqueItems", _, Value::Array(items)) => {
                let mut seen = HashSet::new();
                let is_met = items.iter().all(|item| seen.insert(item));
                (is_met, "it has non-unique elements".to_owned())
            }
            ("properties" | "additionalProperties", _, Value::Object(members)) => {
                for (name, member) in members {
                    let known = schema.get("properties").and_then(|known| known.get(name));
                    let schema = match keyword {
                        "properties" => known,
                        _ => Some(argument).filter(|_| known.is_none()),
                    };
                    if let Some(schema) = schema {
                        let name = name.replace('~', "~0").replace('/', "~1");
                        self.check(schema, member, &format!("{at}/{name}"), faults);
                    }
                }
                return None;
            }
            ("propertyNames", _, Value::Object(members)) => {
                for name in members.keys().map(|name| Value::from(name.as_str())) {
                    let from = faults.len();
                    self.check(argument, &name, at, faults);
                    for (_, fault) in faults.iter_mut().skip(from) {
                        if let Fault::Other(message) = fault {
                            *message = message.replacen("it", &name.to_string(), 1);
                        }
                    }
                }
                return None;
            }
            ("items" | "prefixItems", _, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let schema = match keyword {
                        "items" => Some(argument),
                        _ => argument.get(index),
                    };
                    if let Some(schema) = schema {
                        self.check(schema, item, &format!("{at}/{index}"), faults);
                    }
                }
                return None;
            }
            ("contains", _, Value::Array(items)) => {
                let is_met = items.iter().any(|item| self.allows(argument, item));
                (
                    is_met,
                    "None of it are valid under the given schema".to_owned(),
                )
            }
            ("allOf", Value::Array(schemas), _) => {
                for schema in schemas {
                    self.check(schema, value, at, faults);
                }
                return None;
            }
            ("anyOf", Value::Array(schemas), _) => {
                let is_met = schemas.iter().any(|schema| self.allows(schema, value));
                let list = "any of the schemas listed in the 'anyOf' keyword";
                (is_met, format!("it is not valid under {list}"))
            }
            ("not", ..) => (
                !self.allows(argument, value),
                format!("{argument} is not allowed for it"),
            ),
            ("if", ..) => {
                if let Some(then) = schema.get("then").filter(|_| self.allows(argument, value)) {
                    self.check(then, value, at, faults);
                }
                return None;
            }
            ("unevaluatedProperties", _, Value::Object(members)) => {
                let unknown = members.keys().filter(|name| !self.defines(schema, name));
                let unknown: Vec<String> = unknown.cloned().collect();
                return (!unknown.is_empty()).then_some(Fault::Unknown(unknown));
            }
            ("$ref", Value::String(id), _) => {
                self.check(self.schema(id), value, at, faults);
                return None;
            }
            _ => return None,
        };
        (!is_met).then_some(Fault::Other(message))
    }

    /// Returns whether a schema, or one that it includes, defines a property of this name.
    fn defines(&self, schema: &Value, name: &str) -> bool {
        let included = schema.get("allOf").and_then(Value::as_array);
        let referred = schema.get("$ref").and_then(Value::as_str);
        schema
            .get("properties")
            .is_some_and(|known| known.get(name).is_some())
            || included.is_some_and(|all| all.iter().any(|schema| self.defines(schema, name)))
            || referred.is_some_and(|id| self.defines(self.schema(id), name))
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            let is_integer = || number.as_f64().is_some_and(|number| number.fract() == 0.0);
            name == "number" || name == "integer" && is_integer()
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Formats at most three options: `1, 2 or 3`, or `1, 2 or 4 other candidates`.
fn one_of(options: &[Value]) -> String {
    let shown = if options.len() > 3 { 2 } else { options.len() };
    let mut texts: Vec<String> = options.iter().take(shown).map(Value::to_string).collect();
    let last = match options.len() - shown {
        0 => texts.pop().unwrap_or_default(),
        more => format!("{more} other candidates"),
    };
    if texts.is_empty() {
        last
    } else {
        format!("{} or {last}", texts.join(", "))
    }
}
