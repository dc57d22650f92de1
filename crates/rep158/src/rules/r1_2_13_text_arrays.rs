//! That heavy data is binary.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::LayerId;

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.13",
        severity: Severity::Error,
        meaning: "A text layer holds the arrays of a mesh.",
        outcome: "It is slow to read and large, and whoever opens it in an editor sees nothing but numbers.",
    },
    demand: "Heavy-data layers must be authored as binary Crate (.usdc).",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: &[("robot.usda", Some("def Mesh \"robot\"\n{\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 0), (6, 0, 0), (7, 0, 0), (8, 0, 0), (9, 0, 0), (10, 0, 0), (11, 0, 0), (12, 0, 0), (13, 0, 0), (14, 0, 0), (15, 0, 0), (16, 0, 0), (17, 0, 0), (18, 0, 0), (19, 0, 0), (20, 0, 0), (21, 0, 0), (22, 0, 0), (23, 0, 0), (24, 0, 0), (25, 0, 0), (26, 0, 0), (27, 0, 0), (28, 0, 0), (29, 0, 0), (30, 0, 0), (31, 0, 0), (32, 0, 0), (33, 0, 0), (34, 0, 0), (35, 0, 0), (36, 0, 0), (37, 0, 0), (38, 0, 0), (39, 0, 0), (40, 0, 0), (41, 0, 0), (42, 0, 0), (43, 0, 0), (44, 0, 0), (45, 0, 0), (46, 0, 0), (47, 0, 0), (48, 0, 0), (49, 0, 0), (50, 0, 0), (51, 0, 0), (52, 0, 0), (53, 0, 0), (54, 0, 0), (55, 0, 0), (56, 0, 0), (57, 0, 0), (58, 0, 0), (59, 0, 0)]\n}"))],
    keeps: &[("robot.usda", Some("def Mesh \"robot\"\n{\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]\n}"))],
    turn: Turn::Usual,
    check,
};

/// The longest array of a shape that may stand in text: a box has 24 corners.
const MOST_OF_SHAPES: usize = 50;

/// The longest array of other numbers.
const MOST: usize = 1000;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate().filter(|(_, layer)| !layer.is_binary) {
        for prim in &layer.prims {
            for property in prim.properties.iter().filter(|property| !is_text(&property.type_name)) {
                let is_of_shape = matches!(property.name.as_str(), "points" | "faceVertexCounts" | "normals" | "positions" | "protoIndices");
                let most = if is_of_shape || property.name.starts_with("primvars:") { MOST_OF_SHAPES } else { MOST };
                if property.elements > most {
                    let path = format!("{}.{}", prim.path, property.name);
                    let message = format!("the text layer {} holds the {} elements of {path}", layer.file_name(), property.elements);
                    findings.layer(&RULE.code, LayerId(index), path, message, "put the shape into a binary layer (.usdc), and reference it");
                    break;
                }
            }
        }
    }
}

fn is_text(type_name: &str) -> bool {
    ["string", "token", "asset"].iter().any(|text| type_name.starts_with(text))
}
