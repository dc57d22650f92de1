//! Robots are in the scene that viewers show.

use std::collections::HashSet;

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use urdf_usd_gltf_extension::Json;

rule! {
    severity: Warning,
    meaning: "The model's rootNode is in no scene, or not in the scene that the asset shows by \
              default.",
    outcome: "Viewers do not show the robot; loaders that only load scenes do not find it.",
    demand: "`rootNode` SHOULD be in the asset's default scene, or in a scene if it has no default.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let scenes = subject.root.list("scenes");
    let default = subject.root.get("scene").and_then(Json::index);
    let shown = match default.and_then(|scene| scenes.get(scene)) {
        Some(scene) => std::slice::from_ref(scene),
        None => scenes,
    };
    let tops: HashSet<usize> = shown
        .iter()
        .flat_map(|scene| scene.list("nodes"))
        .filter_map(Json::index)
        .collect();
    let is_shown = subject.hierarchy.at_or_below(|node| tops.contains(&node));
    for model in &subject.asset.models {
        let Some(root) = model.root else { continue };
        if is_shown.get(root).is_some_and(|is| *is) {
            continue;
        }
        let message = format!(
            "{}: its rootNode, {}, is not in {}",
            model.title(),
            node_title(subject.asset.nodes, root),
            match default {
                Some(scene) => format!("scene {scene}, the default"),
                None => "a scene".to_owned(),
            }
        );
        let help = "add rootNode, or the topmost node above it, to the `nodes` of the scene";
        findings.report(model.read.root_node().at(), message, help);
    }
}
