//! Layers have the names that REP-158 gives to their contents.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::Content;

rule! {
    severity: Warning,
    meaning: "A layer does not have the name that REP-158 gives to its contents.",
    outcome: "Tools and people that look for the layer by its name do not find it.",
    demand: "The core data must be decomposed into granular, functional files: geometries.usdc, \
             materials.usda, base.usda. Domain metadata must be isolated into overlay files: \
             physics.usda, ros.usda.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "dynamics.usda"],
    keeps: ["robot.usda", "physics.usda"],
}

/// Kinds of layers, with their names and the words that are accepted in other names.
const NAMES: &[(Content, &str, &[&str])] = &[
    (Content::Physics, "physics.usda", &["physics"]),
    (Content::Ros, "ros.usda", &["ros"]),
    (
        Content::MeshData,
        "geometries.usdc",
        &["geometr", "geom", "geo", "mesh"],
    ),
    (
        Content::Looks,
        "materials.usda",
        &["material", "mtl", "look"],
    ),
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = subject.contents(index);
        // Mesh points imply geometry.
        let kinds: Vec<Content> = contents
            .iter()
            .map(|found| found.content)
            .filter(|content| !matches!(content, Content::Geometry | Content::Transforms))
            .collect();
        // Mixed layers are left to other rules; overlays have the names of their programs.
        let [kind] = kinds.as_slice() else { continue };
        let Some((_, name, words)) = NAMES.iter().find(|(content, ..)| content == kind) else {
            continue;
        };
        let is_other = contents
            .iter()
            .any(|found| found.content == Content::Transforms)
            && *kind != Content::MeshData;
        let written = layer.file_name().to_ascii_lowercase();
        let is_named = words.iter().any(|word| written.contains(word))
            || (*kind == Content::Looks && written.contains("openpbr"));
        if !is_named && !is_other {
            let message = format!(
                "{} holds only {}, but is not named {name}",
                layer.file_name(),
                kind.name()
            );
            findings.layer(
                LayerId(index),
                "",
                message,
                format!("rename it to {name}, or include that word in its name"),
            );
        }
    }
}
