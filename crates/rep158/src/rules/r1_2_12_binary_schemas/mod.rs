//! Layers with schemas or relationships are text.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A binary layer applies schemas or has relationships.",
    outcome: "Reviewers cannot read what the layer changes.",
    demand: "Schema- and relationship-bearing layers must be authored as ASCII (.usda).",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "arm.usdc" from "arm.usda"],
    keeps: ["robot.usda", "arm.usdc" from "arm.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject
        .stage
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.is_binary)
    {
        let first = layer.prims.iter().find_map(|prim| {
            let schema = prim
                .schemas
                .first()
                .map(|schema| (prim.path.clone(), format!("applies {schema}")));
            let relationship = prim
                .properties
                .iter()
                .find(|property| property.is_relationship);
            schema.or_else(|| {
                relationship.map(|property| {
                    (
                        format!("{}.{}", prim.path, property.name),
                        "has a relationship".to_owned(),
                    )
                })
            })
        });
        if let Some((path, does)) = first {
            let message = format!("the binary layer {} {does} at {path}", layer.file_name());
            findings.layer(
                LayerId(index),
                path,
                message,
                "author it in a text layer (.usda) over the binary one",
            );
        }
    }
}
