//! The extension's JSON conforms to its schema.

use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Registry, ValidationError, Validator};
use serde_json::Value;

use super::{Findings, Subject, rule};
use crate::check::asset::Asset;
use crate::check::findings::{MOST_PER_CODE, short};
use crate::extension::NAME;

rule! {
    severity: Error,
    meaning: "The extension's JSON does not follow its schema: a property is missing, unknown or \
              of another type.",
    outcome: "Loaders may fail, or ignore what they do not understand.",
    demand: "The extension's object MUST follow the JSON schema.",
    section: ("glTF schema", "#gltf-schema"),
    turn: Last,
}

macro_rules! schema {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/EXT_robot_kinematics/schema/",
                $name,
                ".schema.json"
            )),
        )
    };
}

const ROOT: (&str, &str) = schema!("EXT_robot_kinematics");

/// What the root refers to, and what that refers to.
const PARTS: &[(&str, &str)] = &[
    schema!("model"),
    schema!("link"),
    schema!("joint"),
    schema!("dof"),
    schema!("limit"),
    schema!("mimic"),
    schema!("dynamics"),
    schema!("safety"),
    schema!("calibration"),
    schema!("configuration"),
    schema!("source"),
    schema!("property"),
    schema!("index"),
];

/// Where references between schemas are resolved: nowhere outside this program.
const BASE: &str = "json-schema:///";

static VALIDATOR: LazyLock<Result<Validator, String>> =
    LazyLock::new(|| build().map_err(|error| error.to_string()));

fn build() -> Result<Validator, Box<dyn std::error::Error>> {
    let mut registry = Registry::new();
    for (name, text) in PARTS {
        let schema: Value = serde_json::from_str(text)?;
        registry = registry.add(format!("{BASE}{name}.schema.json"), schema)?;
    }
    let registry = registry.prepare()?;
    let root = serde_json::from_str(ROOT.1)?;
    Ok(jsonschema::options()
        .with_base_uri(BASE)
        .with_registry(&registry)
        .build(&root)?)
}

/// What the schema refuses, but for what other rules have found already.
fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(extension) = &subject.extension else {
        return;
    };
    let validator = match &*VALIDATOR {
        Ok(validator) => validator,
        Err(error) => {
            let message = format!("the schema can't be used: {error}");
            findings.report(
                "",
                message,
                "this is a defect of urdf_usd: please report it",
            );
            return;
        }
    };
    let root = &extension.entry.at;
    let value = extension.entry.json.to_value();
    for error in validator
        .iter_errors(&value)
        .take(MOST_PER_CODE * MOST_PER_CODE)
    {
        let pointer = format!("{root}{}", error.instance_path());
        let Some((what, help)) = in_words(&error) else {
            continue;
        };
        let missing = match error.kind() {
            ValidationErrorKind::Required { property } => {
                format!("{pointer}/{}", property.as_str().unwrap_or_default())
            }
            _ => pointer.clone(),
        };
        if findings.is_covered(&pointer) || findings.is_covered(&missing) {
            continue;
        }
        let (title, rest) = title(&subject.asset, error.instance_path().as_str());
        let at = match rest.strip_prefix('/') {
            Some(rest) => format!("{title}, {rest}"),
            None => title,
        };
        findings.report(pointer, format!("{at}: {what}"), help);
    }
}

/// What is wrong, and what to do; `None` if it only follows from another error.
fn in_words(error: &ValidationError<'_>) -> Option<(String, String)> {
    Some(match error.kind() {
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            (
                format!("it has no `{property}`"),
                format!("add `{property}`"),
            )
        }
        ValidationErrorKind::UnevaluatedProperties { unexpected }
        | ValidationErrorKind::AdditionalProperties { unexpected } => {
            // Every object may have these two; they count as unknown where what is in them is
            // wrong.
            let unknown = unexpected
                .iter()
                .filter(|name| !matches!(name.as_str(), "extensions" | "extras"));
            let names: Vec<String> = unknown
                .take(5)
                .map(|name| format!("`{}`", short(name)))
                .collect();
            if names.is_empty() {
                return None;
            }
            (
                format!(
                    "it has {}, which the extension does not know",
                    names.join(", ")
                ),
                "move data of your own to `extras`".to_owned(),
            )
        }
        ValidationErrorKind::FalseSchema => (
            "it may not be here".to_owned(),
            "leave it out, or move data of your own to `extras`".to_owned(),
        ),
        _ => {
            let message = error.masked_with("it").to_string();
            (
                short(&message).into_owned(),
                "see the schema of the object in the specification".to_owned(),
            )
        }
    })
}

/// The link, joint or model that a pointer into the extension leads into, and the rest of the way.
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

/// The list and the place in it that a pointer begins with, and the rest of it.
fn two_steps(pointer: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = pointer.strip_prefix('/')?.split_once('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((list, rest.get(..end)?.parse().ok()?, rest.get(end..)?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_whole() {
        super::build().unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/EXT_robot_kinematics/schema");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut known: Vec<String> = super::PARTS
            .iter()
            .chain([&super::ROOT])
            .map(|(name, _)| format!("{name}.schema.json"))
            .collect();
        known.sort();
        assert_eq!(files, known);
    }
}
