//! Writes findings as SARIF 2.1.0, the format of code scanning.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::codes;
use urdf_usd_diagnostic::{Diagnostic, Place, Severity};
use urdf_usd_rep158::Revision;

/// Characters that are percent-encoded in a segment of a URI: all but the unreserved ones of RFC
/// 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns a log with one run that contains all of `diagnostics`. `revision`: that of REP-158, for OpenUSD assets.
pub fn log(diagnostics: &[Diagnostic], revision: Option<Revision>) -> Value {
    // Rules are numbered in order of their first appearance.
    let mut index = BTreeMap::new();
    let mut rules = Vec::new();
    for diagnostic in diagnostics {
        index.entry(diagnostic.code).or_insert_with(|| {
            rules.push(rule(diagnostic.code));
            rules.len() - 1
        });
    }
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| result(diagnostic, index.get(diagnostic.code)))
        .collect();
    let mut run = json!({
        "tool": { "driver": {
            "name": "urdf_usd",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        } },
        // Columns of a `Place` count characters, not UTF-16 code units.
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    if let Some((revision, run)) = revision.zip(run.as_object_mut()) {
        run.insert("properties".into(), json!({ "rep158": revision }));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    })
}

fn rule(id: &str) -> Value {
    let Some(code) = codes::find(id) else {
        return json!({ "id": id });
    };
    json!({
        "id": id,
        "shortDescription": { "text": code.meaning },
        "help": { "text": code.outcome },
        "defaultConfiguration": { "level": level(code.severity) },
    })
}

fn result(diagnostic: &Diagnostic, rule: Option<&usize>) -> Value {
    let text = match diagnostic.help.as_str() {
        "" => diagnostic.message.clone(),
        help => format!("{}\nHelp: {help}", diagnostic.message),
    };
    json!({
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": level(diagnostic.severity),
        "message": { "text": text },
        "locations": [location(&diagnostic.place)],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn location(place: &Place) -> Value {
    let mut location = Map::new();
    if let Some(file) = &place.file {
        let mut physical = Map::new();
        physical.insert("artifactLocation".into(), json!({ "uri": uri(file) }));
        let mut region = Map::new();
        if place.line > 0 {
            region.insert("startLine".into(), place.line.into());
        }
        if place.line > 0 && place.column > 0 {
            region.insert("startColumn".into(), place.column.into());
        }
        if !region.is_empty() {
            physical.insert("region".into(), region.into());
        }
        location.insert("physicalLocation".into(), physical.into());
    }
    if !place.element.is_empty() {
        location.insert(
            "logicalLocations".into(),
            json!([{ "fullyQualifiedName": place.element }]),
        );
    }
    location.into()
}

/// Returns `file` as a URI, relative to the working directory if it is below it and absolute
/// otherwise.
fn uri(file: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here
        .as_deref()
        .and_then(|here| file.strip_prefix(here).ok())
        .unwrap_or(file);
    let segment = |component: Component<'_>| match component {
        Component::RootDir | Component::Prefix(_) => String::new(),
        component => {
            utf8_percent_encode(&component.as_os_str().to_string_lossy(), SEGMENT).to_string()
        }
    };
    let components = relative
        .components()
        .filter(|component| *component != Component::CurDir);
    let path = components.map(segment).collect::<Vec<_>>().join("/");
    if relative.is_absolute() {
        format!("file://{path}")
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::{log, uri};
    use crate::codes::find;
    use std::path::Path;
    use urdf_usd_diagnostic::{Diagnostic, Place};
    use urdf_usd_rep158::Revision;

    #[test]
    fn files_have_relative_names_where_they_can() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            uri(&here.join("a b/größe#1.gltf")),
            "a%20b/gr%C3%B6%C3%9Fe%231.gltf"
        );
        assert_eq!(uri(Path::new("../x.glb")), "../x.glb");
        assert_eq!(uri(Path::new("./x.glb")), "x.glb");
        assert_eq!(
            uri(Path::new("/no where/x.glb")),
            "file:///no%20where/x.glb"
        );
    }

    #[test]
    fn rules_come_once_and_results_refer_to_them() {
        let at = |line, element: &str| Place {
            file: Some(Path::new("x.gltf").into()),
            line,
            column: line,
            element: element.into(),
            ..Place::default()
        };
        let [axis, required] =
            ["kinematics-axis-zero", "kinematics-required"].map(|id| find(id).unwrap());
        let log = log(
            &[
                Diagnostic::new(axis, at(3, "/a"), "one"),
                Diagnostic::new(required, at(0, ""), "two").help("do"),
                Diagnostic::new(axis, Place::default(), "three"),
            ],
            Some(Revision::July2026),
        );
        assert_eq!(log["runs"][0]["properties"]["rep158"], "2026-07");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(
            rules.iter().map(|rule| &rule["id"]).collect::<Vec<_>>(),
            ["kinematics-axis-zero", "kinematics-required"]
        );
        let results = run["results"].as_array().unwrap();
        assert_eq!(
            results
                .iter()
                .map(|result| result["ruleIndex"].as_u64().unwrap())
                .collect::<Vec<_>>(),
            [0, 1, 0]
        );
        assert_eq!(
            results[0]["locations"][0]["physicalLocation"]["region"]["startLine"],
            3
        );
        assert!(results[1]["locations"][0]["physicalLocation"]["region"].is_null());
        assert_eq!(
            (&results[1]["level"], &results[1]["message"]["text"]),
            (&"warning".into(), &"two\nHelp: do".into())
        );
        assert_eq!(results[2]["locations"][0], serde_json::json!({}));
    }
}
