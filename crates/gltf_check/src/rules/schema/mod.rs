//! The extension's JSON conforms to its schema.

use std::sync::LazyLock;

use super::{Findings, Subject, rule};
use crate::asset::Asset;
use crate::findings::short;
use crate::json_schema::{Fault, Schemas};
use urdf_usd_diagnostic::MAX_PER_CODE;
use urdf_usd_gltf_extension::NAME;

rule! {
    severity: Error,
    meaning: "The extension's JSON does not follow its schema: a property is missing, unknown or \
              of another type.",
    outcome: "Loaders may fail, or ignore what they do not understand.",
    demand: "The extension's object MUST follow the JSON schema.",
    section: ("glTF schema", "#gltf-schema"),
    turn: Last,
}

macro_rules! schemas {
    ($($name:literal),*) => {
        &[$((
            concat!($name, ".schema.json"),
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/EXT_robot_kinematics/schema/",
                $name,
                ".schema.json"
            )),
        )),*]
    };
}

const ROOT: &str = "EXT_robot_kinematics.schema.json";

/// The schemas with their ids.
const TEXTS: &[(&str, &str)] = schemas!(
    "EXT_robot_kinematics",
    "model",
    "link",
    "joint",
    "dof",
    "limit",
    "mimic",
    "dynamics",
    "safety",
    "calibration",
    "configuration",
    "source",
    "property",
    "index"
);

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let schema = |&(id, text): &(_, _)| Some((id, serde_json::from_str(text).ok()?));
    Schemas(TEXTS.iter().filter_map(schema).collect())
});

/// Reports schema violations that no other rule has reported.
fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(extension) = &subject.extension else {
        return;
    };
    let root = &extension.entry.at;
    let value = extension.entry.json.to_value();
    let faults = SCHEMAS.faults(ROOT, &value).into_iter();
    for (at, fault) in faults.take(MAX_PER_CODE * MAX_PER_CODE) {
        let pointer = format!("{root}{at}");
        let missing = match &fault {
            Fault::Missing(name) => format!("{pointer}/{name}"),
            _ => pointer.clone(),
        };
        if findings.is_covered(&pointer) || findings.is_covered(&missing) {
            continue;
        }
        let (what, help) = in_words(fault);
        let (title, rest) = title(&subject.asset, &at);
        let at = match rest.strip_prefix('/') {
            Some(rest) => format!("{title}, {rest}"),
            None => title,
        };
        findings.report(pointer, format!("{at}: {what}"), help);
    }
}

/// Returns the message and the help text of a violation.
fn in_words(fault: Fault) -> (String, String) {
    match fault {
        Fault::Missing(name) => (format!("it has no `{name}`"), format!("add `{name}`")),
        Fault::Unknown(names) => {
            let names = names.iter().take(5);
            let names: Vec<String> = names.map(|name| format!("`{}`", short(name))).collect();
            let names = names.join(", ");
            (
                format!("it has {names}, which the extension does not know"),
                "move data of your own to `extras`".to_owned(),
            )
        }
        Fault::Forbidden => (
            "it may not be here".to_owned(),
            "leave it out, or move data of your own to `extras`".to_owned(),
        ),
        Fault::Other(message) => (
            short(&message).into_owned(),
            "see the schema of the object in the specification".to_owned(),
        ),
    }
}

/// Returns the title of the link, joint or model that contains a pointer, and the rest of the
/// pointer.
fn title<'p>(asset: &Asset<'_>, pointer: &'p str) -> (String, &'p str) {
    let whole = || (NAME.to_owned(), pointer);
    let Some(("models", index, in_model)) = two_steps(pointer) else {
        return whole();
    };
    let Some(model) = asset.models.get(index) else {
        return whole();
    };
    let found = two_steps(in_model).and_then(|(list, index, rest)| match list {
        "links" => Some((model.links.get(index)?.title(), rest)),
        "joints" => Some((model.joints.get(index)?.title(), rest)),
        _ => None,
    });
    found.unwrap_or_else(|| (model.title(), in_model))
}

/// Splits a pointer into the list and the index that it begins with, and the rest.
fn two_steps(pointer: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = pointer.strip_prefix('/')?.split_once('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((list, rest.get(..end)?.parse().ok()?, rest.get(end..)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{SCHEMAS, TEXTS};
    use crate::json_schema::KEYWORDS;

    #[test]
    fn all_schemas_are_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/EXT_robot_kinematics/schema");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(files, TEXTS.iter().map(|(id, _)| id.to_string()).collect());
        assert_eq!(SCHEMAS.0.len(), TEXTS.len());
        for (id, schema) in &SCHEMAS.0 {
            assert_eq!(schema["$id"], *id);
        }
    }

    /// Collects the keywords of a schema and of those in it.
    fn keywords(schema: &Value, found: &mut BTreeSet<String>) {
        for (keyword, argument) in schema.as_object().into_iter().flatten() {
            found.insert(keyword.clone());
            match (keyword.as_str(), argument) {
                ("properties", Value::Object(schemas)) => {
                    schemas.values().for_each(|schema| keywords(schema, found));
                }
                ("const" | "enum" | "default", _) => {}
                (_, Value::Array(schemas)) => {
                    schemas.iter().for_each(|schema| keywords(schema, found));
                }
                _ => keywords(argument, found),
            }
        }
    }

    #[test]
    fn all_keywords_of_the_schemas_are_known() {
        let mut found = BTreeSet::new();
        for schema in SCHEMAS.0.values() {
            keywords(schema, &mut found);
            let unevaluated = schema.get("unevaluatedProperties");
            assert!(unevaluated.is_none_or(|argument| argument == false));
        }
        let annotations = [
            "$schema",
            "$id",
            "title",
            "description",
            "default",
            "format",
            "then",
        ];
        let known = KEYWORDS.split(' ').chain(annotations).map(str::to_owned);
        assert_eq!(found, known.collect());
    }
}
