//! Large arrays are in binary layers.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A text layer holds the arrays of a mesh.",
    outcome: "It is slow to read and large, and whoever opens it in an editor sees nothing but \
              numbers.",
    demand: "Heavy-data layers must be authored as binary Crate (.usdc).",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
}

/// Maximum length of a geometry array in a text layer: a box has 24 corners.
const MOST_OF_SHAPES: usize = 50;

/// Maximum length of other arrays in a text layer.
const MOST: usize = 1000;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject
        .stage
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| !layer.is_binary)
    {
        for prim in &layer.prims {
            for property in prim
                .properties
                .iter()
                .filter(|property| !is_text(&property.type_name))
            {
                let is_of_shape = matches!(
                    property.name.as_str(),
                    "points" | "faceVertexCounts" | "normals" | "positions" | "protoIndices"
                );
                let most = if is_of_shape || property.name.starts_with("primvars:") {
                    MOST_OF_SHAPES
                } else {
                    MOST
                };
                if property.elements > most {
                    let path = format!("{}.{}", prim.path, property.name);
                    let message = format!(
                        "the text layer {} holds the {} elements of {path}",
                        layer.file_name(),
                        property.elements
                    );
                    findings.layer(
                        LayerId(index),
                        path,
                        message,
                        "put the shape into a binary layer (.usdc), and reference it",
                    );
                    break;
                }
            }
        }
    }
}

fn is_text(type_name: &str) -> bool {
    ["string", "token", "asset"]
        .iter()
        .any(|text| type_name.starts_with(text))
}
