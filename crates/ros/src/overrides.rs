//! Parameter files and values: YAML as `rcl` reads it, with the place of every fault.
//!
//! Types are those of `rcl`: `yes` is a bool, `0x10` an integer, `1e3` a double, quoted text a
//! string. All items of a list have the same type.

use std::fs::File;
use std::io::Read;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use super::codes;
use super::parameter::Value;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_text::yaml::{self as yaml, Content, Key, Mark, Yaml};

/// Maximum size of a parameter file, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Key above the parameters of a node.
const PARAMETERS: &str = "ros__parameters";

/// The value of a parameter as written, before its type is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A value with a type.
    Value(Value),
    /// `[]`, a list of any type.
    EmptyList,
}

/// A pattern of node names that a value is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePattern(Vec<String>);

impl NodePattern {
    /// Every node: `/**`.
    pub fn any() -> Self {
        Self(vec!["**".to_owned()])
    }

    /// Parses `node`, `/ns/node`, `/*/node` or `/**/node`.
    ///
    /// `*` matches one part of a name, `**` any number of them.
    pub fn parse(text: &str) -> Option<Self> {
        let tokens: Vec<String> = text
            .strip_prefix('/')
            .unwrap_or(text)
            .split('/')
            .map(str::to_owned)
            .collect();
        let allowed = |token: &String| {
            token == "*" || token == "**" || super::names::check_node_name(token).is_ok()
        };
        tokens.iter().all(allowed).then_some(Self(tokens))
    }

    /// Returns whether the pattern matches the node of this fully qualified name.
    pub fn matches(&self, fully_qualified: &str) -> bool {
        // `ends[i]`: whether the pattern so far matches the first `i` parts of the name. One pass
        // over the pattern, without backtracking, takes time proportional to pattern × name.
        let name: Vec<&str> = fully_qualified.trim_start_matches('/').split('/').collect();
        let mut ends: Vec<bool> = iter::once(true).chain(name.iter().map(|_| false)).collect();
        for token in &self.0 {
            ends = if token == "**" {
                let first = ends.iter().position(|&ends| ends).unwrap_or(usize::MAX);
                (0..ends.len()).map(|at| at >= first).collect()
            } else {
                let matches_part = |part: &str| token == "*" || token == part;
                iter::once(false)
                    .chain(
                        name.iter()
                            .zip(&ends)
                            .map(|(part, &ends)| ends && matches_part(part)),
                    )
                    .collect()
            };
        }
        ends.last() == Some(&true)
    }

    /// Returns whether the pattern matches only one node.
    pub fn is_exact(&self) -> bool {
        self.0.iter().all(|token| token != "*" && token != "**")
    }
}

/// One value for a parameter of some nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The nodes that the value is for.
    pub nodes: NodePattern,
    /// The parameter's name, with dots between levels.
    pub parameter: String,
    /// Its value.
    pub value: Given,
    /// The place where it was written.
    pub place: Place,
}

/// Reads a parameter file.
///
/// # Errors
/// [`codes::PARAMETER_FILE`] with file, line and column.
pub fn read_file(path: &Path) -> Result<Vec<Override>, Diagnostic> {
    let cannot = |why: String| {
        Diagnostic::new(
            &codes::PARAMETER_FILE,
            Place::file(path),
            format!("can't read the parameter file: {why}"),
        )
        .help("check the path given with --params-file, and its permissions")
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| cannot(e.to_string()))?;
    // One byte more tells a file that is too large from one of the maximum size.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| cannot(e.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(cannot("it is larger than 4 MiB".to_owned()));
    }
    let text =
        String::from_utf8(bytes).map_err(|e| cannot(format!("it is not UTF-8 text ({e})")))?;
    let place = if is_of_launch(path) {
        Place::default()
    } else {
        Place::file(path)
    };
    read_text(&text, &Source { place })
}

/// Returns whether launch_ros wrote this file, for parameters that a launch file or its arguments
/// give. Users have never seen it, so the parameter's name says more than a line in it.
fn is_of_launch(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with("launch_params_"))
}

fn read_text(text: &str, source: &Source) -> Result<Vec<Override>, Diagnostic> {
    let mut overrides = Vec::new();
    for document in documents(text, source)? {
        let mut nodes = Vec::new();
        match document.content {
            Content::Map(entries) => read_nodes(entries, &mut nodes, source, &mut overrides)?,
            Content::Scalar {
                text,
                quoted: false,
            } if text.is_empty() => {}
            _ => {
                return Err(layout(
                    source,
                    document.at,
                    "a parameter file must begin with the name of a node",
                ));
            }
        }
    }
    Ok(overrides)
}

/// Parses the value in `-p name:=value`.
///
/// # Errors
/// The reason, as a diagnostic with the place `element`.
pub fn read_value(text: &str, element: &str) -> Result<Given, Diagnostic> {
    let source = Source {
        place: Place {
            element: element.to_owned(),
            ..Place::default()
        },
    };
    let mut documents = documents(text, &source)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(yaml), true) => given(yaml, &source),
        _ => Err(source
            .fault(None, "the value is missing")
            .help("write NAME:=VALUE; an empty text is NAME:=''")),
    }
}

fn read_nodes(
    entries: Vec<(Key, Yaml)>,
    nodes: &mut Vec<String>,
    source: &Source,
    overrides: &mut Vec<Override>,
) -> Result<(), Diagnostic> {
    for (key, yaml) in entries {
        if key.text == PARAMETERS {
            let pattern = nodes.join("/");
            if nodes.is_empty() {
                return Err(layout(
                    source,
                    key.at,
                    "`ros__parameters` is outside of any node",
                ));
            }
            let Some(pattern) = NodePattern::parse(&pattern) else {
                let fault = source.fault(
                    Some(key.at),
                    format!("`{pattern}` is not the name of a node"),
                );
                return Err(
                    fault.help("write `/**` for every node, or the node's name with its namespace: `/left_arm/urdf_usd`")
                );
            };
            let Content::Map(parameters) = yaml.content else {
                return Err(layout(
                    source,
                    yaml.at,
                    "`ros__parameters` must be a map of parameters; `{}` if there are none",
                ));
            };
            read_parameters(parameters, "", &pattern, source, overrides)?;
        } else {
            let Content::Map(inner) = yaml.content else {
                return Err(layout(
                    source,
                    key.at,
                    &format!("`{}` is outside of `ros__parameters`", key.text),
                ));
            };
            nodes.push(key.text);
            read_nodes(inner, nodes, source, overrides)?;
            nodes.pop();
        }
    }
    Ok(())
}

fn read_parameters(
    entries: Vec<(Key, Yaml)>,
    prefix: &str,
    nodes: &NodePattern,
    source: &Source,
    overrides: &mut Vec<Override>,
) -> Result<(), Diagnostic> {
    for (key, yaml) in entries {
        let parameter = if prefix.is_empty() {
            key.text
        } else {
            format!("{prefix}.{}", key.text)
        };
        let place = source.at(Some(yaml.at), &format!("parameter `{parameter}`"));
        match yaml.content {
            Content::Map(inner) => read_parameters(inner, &parameter, nodes, source, overrides)?,
            _ => {
                let value = given(
                    yaml,
                    &Source {
                        place: place.clone(),
                    },
                )?;
                overrides.push(Override {
                    nodes: nodes.clone(),
                    parameter,
                    value,
                    place,
                });
            }
        }
    }
    Ok(())
}

fn layout(source: &Source, at: Mark, why: &str) -> Diagnostic {
    source
        .fault(Some(at), why)
        .help("lay it out as\n/**:\n  ros__parameters:\n    name: value")
}

/// Parses the value of a scalar or a list.
fn given(yaml: Yaml, source: &Source) -> Result<Given, Diagnostic> {
    let at = yaml.at;
    match yaml.content {
        Content::Scalar { text, quoted } => {
            if text.is_empty() && !quoted {
                return Err(source
                    .fault(Some(at), "the value is missing")
                    .help("give one, or remove the line; an empty text is ''"));
            }
            Ok(Given::Value(scalar(text, quoted)))
        }
        Content::List(items) => list(items, source),
        Content::Map(_) => Err(source.fault(
            Some(at),
            "a map can't be the value of a parameter in a list or argument",
        )),
    }
}

fn list(items: Vec<Yaml>, source: &Source) -> Result<Given, Diagnostic> {
    let mut values: Option<Value> = None;
    for item in items {
        let at = item.at;
        let value = match given(item, source)? {
            Given::Value(value) => value,
            Given::EmptyList => return Err(nested(source, at)),
        };
        let kind = value.kind();
        match (&mut values, value) {
            (None, Value::Bool(v)) => values = Some(Value::BoolArray(vec![v])),
            (None, Value::Integer(v)) => values = Some(Value::IntegerArray(vec![v])),
            (None, Value::Double(v)) => values = Some(Value::DoubleArray(vec![v])),
            (None, Value::String(v)) => values = Some(Value::StringArray(vec![v])),
            (Some(Value::BoolArray(list)), Value::Bool(v)) => list.push(v),
            (Some(Value::IntegerArray(list)), Value::Integer(v)) => list.push(v),
            (Some(Value::DoubleArray(list)), Value::Double(v)) => list.push(v),
            (Some(Value::StringArray(list)), Value::String(v)) => list.push(v),
            (
                Some(list),
                Value::Bool(_) | Value::Integer(_) | Value::Double(_) | Value::String(_),
            ) => {
                let why = format!(
                    "{kind} in {}: all items of a list must have one type",
                    list.kind()
                );
                return Err(source
                    .fault(Some(at), why)
                    .help("quote texts; write whole numbers as 1.0 among doubles"));
            }
            _ => return Err(nested(source, at)),
        }
    }
    Ok(values.map_or(Given::EmptyList, Given::Value))
}

fn nested(source: &Source, at: Mark) -> Diagnostic {
    source.fault(
        Some(at),
        "a list in a list can't be the value of a parameter",
    )
}

/// Returns the typed value of a scalar, by the rules of `rcl_yaml_param_parser`.
fn scalar(text: String, quoted: bool) -> Value {
    if quoted {
        return Value::String(text);
    }
    match text.as_str() {
        "Y" | "y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "N" | "n" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if let Some(v) = integer(&text) {
        return Value::Integer(v);
    }
    double(&text).map_or(Value::String(text), Value::Double)
}

/// Parses an integer as C's `strtoll` with base 0 does: decimal, `0x` hexadecimal, leading `0`
/// octal.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None; // from_str_radix would take a second sign
    }
    i64::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

/// Parses a double as C's `strtod` does, and YAML's `.inf` and `.nan`.
fn double(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    // Overflow is an error in `strtod`, after which rcl reads a string; Rust returns infinity.
    text.parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() || !text.bytes().any(|b| b.is_ascii_digit()))
}

/// The source of a YAML text, for the places of its faults.
struct Source {
    place: Place,
}

impl Source {
    fn at(&self, marker: Option<Mark>, element: &str) -> Place {
        let mut place = self.place.clone();
        // A value on the command line has no lines.
        if let (Some(marker), true) = (marker, place.file.is_some()) {
            (place.line, place.column) = (marker.line, marker.column);
        }
        if !element.is_empty() {
            element.clone_into(&mut place.element);
        }
        place
    }

    fn fault(&self, marker: Option<Mark>, why: impl Into<String>) -> Diagnostic {
        let why = why.into();
        let place = self.at(marker, "");
        let message = if place.element.is_empty() {
            why
        } else {
            format!("{}: {why}", place.element)
        };
        let code = if place.file.is_some() {
            &codes::PARAMETER_FILE
        } else {
            &codes::ARGUMENT
        };
        Diagnostic::new(code, place, message)
    }
}

fn documents(text: &str, source: &Source) -> Result<Vec<Yaml>, Diagnostic> {
    yaml::read(text).map_err(|fault| source.fault(Some(fault.at), fault.message).help(fault.help))
}

/// Reads the overrides in `text`, as if it were the file `name`: for tests and other sources.
///
/// # Errors
/// As for [`read_file`].
pub fn read_str(text: &str, name: &str) -> Result<Vec<Override>, Diagnostic> {
    read_text(
        text,
        &Source {
            place: Place {
                file: Some(Arc::from(Path::new(name))),
                ..Place::default()
            },
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Value {
        match read_value(text, "-p x") {
            Ok(Given::Value(value)) => value,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn scalars_have_the_types_of_rcl() {
        for (text, expected) in [
            ("1", Value::Integer(1)),
            ("-7", Value::Integer(-7)),
            ("+7", Value::Integer(7)),
            ("0x1F", Value::Integer(31)),
            ("010", Value::Integer(8)),
            ("0", Value::Integer(0)),
            ("1.0", Value::Double(1.0)),
            ("1e3", Value::Double(1000.0)),
            ("5.", Value::Double(5.0)),
            (".5", Value::Double(0.5)),
            ("-.inf", Value::Double(f64::NEG_INFINITY)),
            ("99999999999999999999", Value::Double(1e20)),
            ("089", Value::Double(89.0)),
            ("yes", Value::Bool(true)),
            ("Off", Value::Bool(false)),
            ("true", Value::Bool(true)),
            ("'1'", Value::String("1".into())),
            ("\"yes\"", Value::String("yes".into())),
            ("!!str 5", Value::String("5".into())),
            ("''", Value::String(String::new())),
            ("~/.ros", Value::String("~/.ros".into())),
            ("auto", Value::String("auto".into())),
            ("1e999", Value::String("1e999".into())),
            ("0x", Value::String("0x".into())),
            ("1 2", Value::String("1 2".into())),
            ("[1, 2]", Value::IntegerArray(vec![1, 2])),
            (
                "[usd, glb]",
                Value::StringArray(vec!["usd".into(), "glb".into()]),
            ),
            ("[true]", Value::BoolArray(vec![true])),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!(matches!(value(".nan"), Value::Double(v) if v.is_nan()));
        assert_eq!(read_value("[]", ""), Ok(Given::EmptyList));
        for text in ["", "[1, 2.0]", "[[1]]", "{a: 1}", "[1", "a: b: c", "*x"] {
            let fault = read_value(text, "-p x:=…").expect_err(text);
            assert!(fault.message.starts_with("-p x:=…: "), "{}", fault.message);
        }
    }

    #[test]
    fn a_file_is_read_with_nested_nodes_and_parameters() {
        let text = "\
# a comment
/**:
  ros__parameters:
    use_sim_time: true
    frames: {tolerance_m: 0.5, deep: {er: [1, 2]}}
left:
  urdf_usd:
    ros__parameters:
      output_dir: '/a' # another
/right/urdf_usd:
  ros__parameters: {}
";
        let read = read_str(text, "f.yaml").expect("valid");
        let names: Vec<_> = read.iter().map(|o| o.parameter.as_str()).collect();
        assert_eq!(
            names,
            [
                "use_sim_time",
                "frames.tolerance_m",
                "frames.deep.er",
                "output_dir"
            ]
        );
        assert!(read[0].nodes.matches("/any/thing") && read[3].nodes.matches("/left/urdf_usd"));
        assert!(!read[3].nodes.matches("/urdf_usd"));
        assert_eq!((read[3].place.line, read[3].place.column), (9, 19));
    }

    #[test]
    fn patterns_match_as_in_rclcpp() {
        for (pattern, node, expected) in [
            ("/**", "/a", true),
            ("/**", "/a/b/c", true),
            ("/*", "/a", true),
            ("/*", "/a/b", false),
            ("node", "/node", true),
            ("node", "/ns/node", false),
            ("/*/node", "/ns/node", true),
            ("/*/node", "/a/b/node", false),
            ("/**/node", "/node", true),
            ("/**/node", "/a/b/node", true),
            ("/a/**", "/a", true),
            ("/a/**/b", "/a/x/y/b", true),
            ("/a/**/b", "/a/x/y/c", false),
        ] {
            assert_eq!(
                NodePattern::parse(pattern).map(|p| p.matches(node)),
                Some(expected),
                "{pattern} {node}"
            );
        }
        for pattern in ["", "/", "a//b", "/a*", "a b", "/1"] {
            assert_eq!(NodePattern::parse(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn faults_have_a_place_and_a_remedy() {
        for (text, line, column, part) in [
            ("a:\n  b: 1\n", 2, 3, "outside of `ros__parameters`"),
            ("ros__parameters:\n  b: 1\n", 1, 1, "outside of any node"),
            (
                "/**:\n  ros__parameters:\n    x:\n",
                3,
                6,
                "value is missing",
            ),
            (
                "/**:\n  ros__parameters:\n    x: [1, two]\n",
                3,
                12,
                "one type",
            ),
            (
                "/**:\n  ros__parameters: 5\n",
                2,
                20,
                "must be a map of parameters",
            ),
            (
                "/a b/c:\n  ros__parameters: {x: 1}\n",
                2,
                3,
                "not the name of a node",
            ),
            ("- 1\n", 1, 1, "must begin with the name of a node"),
            (
                "/**:\n  ros__parameters:\n    x: &a 1\n    y: *a\n",
                4,
                8,
                "aliases",
            ),
            ("/**:\n\tros__parameters:\n", 2, 2, "not YAML"),
        ] {
            let fault = read_str(text, "f.yaml").expect_err(text);
            assert!(fault.message.contains(part), "{text}: {fault}");
            assert_eq!(
                (fault.place.line, fault.place.column),
                (line, column),
                "{text}: {fault}"
            );
            assert_eq!(fault.code, codes::PARAMETER_FILE.id);
        }
        let fault = read_file(Path::new("/nowhere/f.yaml")).expect_err("absent");
        assert!(fault.to_string().contains("/nowhere/f.yaml"), "{fault}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z*/]{0,3}:? ?\n? ?[\\[\\]{}&*!'\"|>0-9.~-]{0,3}){0,12}") {
            let _ = read_str(&text, "f.yaml");
            let _ = read_value(&text, "");
        }
    }

    #[test]
    fn values_of_launch_files_have_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let text = "/**:\n  ros__parameters:\n    http.port: 70000\n";
        for (name, is_shown) in [("launch_params_x1y2", false), ("bridge.yaml", true)] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let overrides = read_file(&path).unwrap();
            assert_eq!(overrides[0].place.file.is_some(), is_shown, "{name}");
            assert_eq!(overrides[0].place.line > 0, is_shown, "{name}");
            assert!(overrides[0].place.element.contains("http.port"));
        }
    }
}
