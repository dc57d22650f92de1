//! Files generated from the parameter tables: a test compares them with the tables, and writes them
//! with `UPDATE_DOCS=1`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Parameters, Row, rows};
use urdf_usd_convert::option::{Kind, Value};
use urdf_usd_ros::overrides::{Given, read_file};
use urdf_usd_ros::parameter::Store;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn default(row: Row) -> Value {
    row.get(&Parameters::default())
}

/// Returns a value in the syntax of a parameter file; `None` for an empty list, which `rcl` can't
/// read.
fn in_yaml(value: &Value) -> Option<String> {
    Some(match value {
        Value::List(texts) if texts.is_empty() => return None,
        Value::List(texts) => format!("[{}]", texts.join(", ")),
        Value::Text(text) => format!("{text:?}"),
        value => value.to_string(),
    })
}

/// Returns the constraint on a value and when it may be set; empty if there is neither.
fn notes(row: Row) -> String {
    let about = row.about();
    let rule = Some(about.kind.rule()).filter(|rule| !rule.is_empty());
    rule.into_iter()
        .chain((!about.is_live).then(|| "at start".to_owned()))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the text of `config/bridge.yaml`: all parameters with defaults, limits and meaning.
fn yaml() -> String {
    let mut text = String::from(
        "# The parameters of the node `bridge`, with their defaults. A parameter file for it needs only the lines that differ:\n\
         #   ros2 launch urdf_usd bridge.launch.py params_file:=my.yaml\n\
         #   ros2 run urdf_usd bridge --ros-args --params-file my.yaml\n\
         # Those marked \"at start\" are fixed while the node runs; `ros2 param set` changes the others.\n\
         # Doubles need a decimal point (1.0): ROS 2 reads 1 as an integer and rejects it.\n\
         /**:\n  ros__parameters:\n",
    );
    let mut group = "";
    for row in rows() {
        let (of, name) = row
            .about()
            .name
            .rsplit_once('.')
            .unwrap_or(("", row.about().name));
        if of != group {
            let _ = write!(text, "\n    {of}:\n");
            group = of;
        } else {
            text.push('\n');
        }
        let indent = if of.is_empty() { "    " } else { "      " };
        for line in wrap(row.about().help, 100) {
            let _ = writeln!(text, "{indent}# {line}");
        }
        let notes = notes(row);
        if !notes.is_empty() {
            let _ = writeln!(text, "{indent}# ({notes})");
        }
        let _ = match in_yaml(&default(row)) {
            Some(default) => writeln!(text, "{indent}{name}: {default}"),
            None => writeln!(text, "{indent}# {name}: [...]  # empty by default"),
        };
    }
    text
}

/// Returns the text of `config/parameters.json`, from which the launch file makes its arguments.
fn json() -> String {
    let described = rows().into_iter().map(|row| {
        let (about, default) = (row.about(), default(row));
        let kind = match default {
            Value::Bool(_) => "bool",
            Value::Integer(_) => "integer",
            Value::Number(_) => "double",
            Value::Text(_) => "string",
            Value::List(_) => "string array",
        };
        let default = match default {
            Value::List(texts) => serde_json::json!(texts),
            Value::Text(text) => serde_json::json!(text),
            Value::Bool(value) => serde_json::json!(value),
            Value::Integer(value) => serde_json::json!(value),
            Value::Number(value) => serde_json::json!(value),
        };
        serde_json::json!({
            "name": about.name,
            "type": kind,
            "default": default,
            "description": about.help,
            "rule": about.kind.rule(),
            "choices": if matches!(about.kind, Kind::Choice(_)) { about.kind.names() } else { Vec::new() },
        })
    });
    let rows: Vec<_> = described.collect();
    serde_json::to_string_pretty(&rows).expect("JSON") + "\n"
}

/// Returns the text of `docs/parameters.md`.
fn page() -> String {
    let mut text = String::from(
        "# Parameters of the node\n\n\
         Each is a parameter of the node, an argument of the launch file with the same name, and an entry in\n\
         [config/bridge.yaml](../config/bridge.yaml), which is a valid parameter file:\n\n\
         ```\n\
         ros2 launch urdf_usd bridge.launch.py discover:=true gltf.physics:=true\n\
         ros2 run urdf_usd bridge --ros-args -p discover:=true --params-file my.yaml\n\
         ros2 param set /urdf_usd strict true\n\
         ```\n\n\
         Parameters set *at start* are fixed while the node runs. Changes of the others apply from the next conversion, check or message\n\
         on. An invalid value is rejected with the reason: at start the node exits, later the call fails and the old\n\
         value is kept. Options of a conversion are also flags of [`urdf_usd convert`](cli.md).\n\n\
         This page is generated: `UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_node parameters`.\n\n\
         | parameter | default | values | set | flag | meaning |\n|---|---|---|---|---|---|\n",
    );
    for row in rows() {
        let about = row.about();
        // As it is typed: `ros2 launch` takes a list in brackets.
        let default = match default(row) {
            list @ Value::List(_) => in_yaml(&list),
            value => Some(value.to_string()).filter(|text| !text.is_empty()),
        };
        let default = default.map_or_else(|| "none".to_owned(), |text| format!("`{text}`"));
        let flag = if matches!(row, Row::Conversion(_)) {
            format!("`--{}`", about.flag())
        } else {
            String::new()
        };
        let set = if about.is_live {
            "at any time"
        } else {
            "at start"
        };
        let help = about.help.replace('*', "\\*");
        let rule = about.kind.rule().replace('*', "\\*");
        let _ = writeln!(
            text,
            "| `{}` | {default} | {rule} | {set} | {flag} | {help} |",
            about.name
        );
    }
    text
}

/// Breaks a sentence into lines of at most `width` characters.
fn wrap(sentence: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[test]
fn the_files_are_made_from_the_tables() {
    for (name, text) in [
        ("config/bridge.yaml", yaml()),
        ("config/parameters.json", json()),
        ("docs/parameters.md", page()),
    ] {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path(name), &text).expect("written");
        }
        let file = std::fs::read_to_string(path(name)).unwrap_or_default();
        assert!(
            file == text,
            "{name} is not what the tables say: run the test with UPDATE_DOCS=1"
        );
    }
}

#[test]
fn the_parameter_file_says_the_defaults() {
    let read = read_file(&path("config/bridge.yaml")).expect("a parameter file");
    let names: Vec<_> = read.iter().map(|o| o.parameter.as_str()).collect();
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|&row| in_yaml(&default(row)).is_some())
        .collect();
    assert_eq!(
        names,
        rows.iter().map(|row| row.about().name).collect::<Vec<_>>()
    );
    for (given, &row) in read.iter().zip(&rows) {
        assert_eq!(
            given.value,
            Given::Value(super::to_ros(default(row))),
            "{}",
            row.about().name
        );
    }
    let declared =
        |mut store: Store| Parameters::default().declared(|declaration| store.declare(declaration));
    let from_file = Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect());
    assert_eq!(declared(from_file), declared(Store::default()));
}
