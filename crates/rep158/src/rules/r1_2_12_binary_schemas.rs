//! That layers with schemas and relationships are text.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{LayerId};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.2.12",
        severity: Severity::Error,
        meaning: "A binary layer applies schemas or has relationships.",
        outcome: "Nobody can read in a review what the layer changes.",
    },
    demand: "Schema- and relationship-bearing layers must be authored as ASCII (.usda).",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: &[("robot.usda", Some("def Xform \"robot\" (\n    references = @arm.usdc@\n)\n{\n}")), ("arm.usdc", Some("def Xform \"robot\" (\n    apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\" (\n    references = @arm.usdc@\n)\n{\n}")), ("arm.usdc", Some("def Mesh \"robot\"\n{\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate().filter(|(_, layer)| layer.is_binary) {
        let first = layer.prims.iter().find_map(|prim| {
            let schema = prim.schemas.first().map(|schema| (prim.path.clone(), format!("applies {schema}")));
            let relationship = prim.properties.iter().find(|property| property.is_relationship);
            schema.or_else(|| relationship.map(|property| (format!("{}.{}", prim.path, property.name), "has a relationship".to_owned())))
        });
        if let Some((path, does)) = first {
            let message = format!("the binary layer {} {does} at {path}", layer.file_name());
            findings.layer(&RULE.code, LayerId(index), path, message, "author it in a text layer (.usda) over the binary one");
        }
    }
}
