//! Prints what composition finds in assets, for comparison with OpenUSD: one line of JSON for each path on
//! standard input.

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value as Json, json};
use urdf_usd_stage::{Options, Prim, Stage, Value, asset_paths, double, text};

fn value(value: &Value) -> Json {
    match value {
        Value::AssetPath(_) => {
            let paths = asset_paths(value).into_iter();
            let resolved = paths.filter_map(|(_, resolved)| resolved);
            json!(resolved.collect::<String>())
        }
        Value::Dictionary(entries) => entries
            .iter()
            .map(|(name, entry)| (name.clone(), self::value(entry)))
            .collect(),
        Value::PathExpression(expression) => json!(expression.to_string()),
        other => match (double(other), text(other)) {
            (Some(number), _) => json!(number),
            (None, Some(text)) => json!(text),
            (None, None) => json!(format!("{other:?}")),
        },
    }
}

fn prim(stage: &Stage, prim: &Prim) -> Json {
    let file = |path: &std::path::PathBuf| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let sites = prim
        .sites
        .iter()
        .map(|site| json!([file(&stage[site.layer].path), site.path]));
    let attributes = prim.attributes.iter().map(|(name, attribute)| {
        let found = json!({
            "value": attribute.value.as_deref().map(value),
            "times": attribute.times,
            "connections": attribute.connections,
        });
        (name.clone(), found)
    });
    let relationships = prim
        .relationships
        .iter()
        .map(|(name, relationship)| (name.clone(), json!(relationship.targets)));
    let variants = prim
        .variant_sets
        .iter()
        .map(|set| (set.name.clone(), json!(set.selection)));
    let custom = prim.metadata.get("customData").map(value);
    json!({
        "path": prim.path,
        "sites": sites.collect::<Vec<_>>(),
        "type": prim.type_name,
        "specifier": format!("{:?}", prim.specifier),
        "active": prim.is_active,
        "instance": prim.is_instance,
        "kind": prim.kind,
        "schemas": prim.schemas,
        "attributes": attributes.collect::<serde_json::Map<_, _>>(),
        "relationships": relationships.collect::<serde_json::Map<_, _>>(),
        "variants": variants.collect::<serde_json::Map<_, _>>(),
        "custom": custom,
    })
}

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let found = match Stage::open(Path::new(&line), &Options::default()) {
            Ok(stage) => json!({
                "prims": stage.prims.iter().map(|found| prim(&stage, found)).collect::<Vec<_>>(),
                "errors": stage.errors.iter().map(|error| json!([error.path, error.message])).collect::<Vec<_>>(),
            }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        writeln!(output, "{found}")?;
    }
    Ok(())
}
