//! Metadata of the asset (REP-158 §1.2.2, §1.2.5, §2.1).

use std::collections::HashMap;

use urdf_usd_stage::{Stage, Value};

use super::notes::Notes;
use super::scene::Scene;

/// Authors missing metadata.
pub fn fix(scene: &mut Scene, stage: &Stage, notes: &mut Notes) {
    let root = scene.root;
    let node = &mut scene.nodes[root];
    let path = node.path.clone();
    if stage.default_prim != Some(node.source) {
        notes.changed(&path, "made the prim the default prim");
    }
    if !matches!(
        node.kind.as_deref(),
        Some("component" | "assembly" | "group")
    ) {
        node.kind = Some("component".to_owned());
        notes.changed(&path, "set the kind of the default prim to component");
    }
    let name = node.name().to_owned();
    let mut info = match node.metadata.remove("assetInfo") {
        Some(Value::Dictionary(info)) => info,
        _ => HashMap::new(),
    };
    for (key, value) in [("identifier", name.as_str()), ("version", "1.0.0")] {
        let is_given = info
            .get(key)
            .and_then(urdf_usd_stage::text)
            .is_some_and(|text| !text.is_empty());
        if !is_given {
            info.insert(key.to_owned(), Value::String(value.to_owned()));
            notes.changed(
                &path,
                format!("set the {key} in assetInfo to \"{value}\": replace it by the real one"),
            );
        }
    }
    // OpenUSD defines the identifier as an asset path, but it only identifies: as a string, tools do
    // not try to load it.
    if let Some(Value::AssetPath(identifier)) = info.get("identifier").cloned() {
        info.insert(
            "identifier".to_owned(),
            Value::String(identifier.authored_path),
        );
    }
    node.metadata
        .insert("assetInfo".to_owned(), Value::Dictionary(info));
    // A component may contain only subcomponents.
    let is_component = node.kind.as_deref() == Some("component");
    for index in scene.subtree(root).into_iter().skip(1) {
        let node = &mut scene.nodes[index];
        if is_component
            && matches!(
                node.kind.as_deref(),
                Some("component" | "assembly" | "group")
            )
        {
            node.kind = Some("subcomponent".to_owned());
            notes.changed(
                &node.path,
                "changed the kind of the prim in a component to subcomponent",
            );
        }
    }
}
