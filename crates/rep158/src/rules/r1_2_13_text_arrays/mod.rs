//! Large arrays are in binary layers.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A text layer holds the arrays of a mesh.",
    outcome: "The layer is large and slow to parse, and an editor shows little but numbers.",
    demand: "Heavy-data layers must be authored as binary Crate (.usdc).",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
}

/// Maximum length of a geometry array in a text layer. A box has 24 corners and stays below it.
const MAX_GEOMETRY_ELEMENTS: usize = 50;

/// Maximum length of other arrays in a text layer.
const MAX_ELEMENTS: usize = 1000;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject
        .stage
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| !layer.is_binary)
    {
        for prim in layer.prims.iter() {
            for property in prim
                .properties
                .iter()
                .filter(|property| !is_text(&property.type_name))
            {
                let is_geometry = matches!(
                    property.name.as_str(),
                    "points" | "faceVertexCounts" | "normals" | "positions" | "protoIndices"
                );
                let max = if is_geometry || property.name.starts_with("primvars:") {
                    MAX_GEOMETRY_ELEMENTS
                } else {
                    MAX_ELEMENTS
                };
                if property.elements > max {
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
                        "move the shape into a binary layer (.usdc), and reference it",
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
