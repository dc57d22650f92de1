//! That colours which vary over a mesh are those of its points.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use std::collections::BTreeSet;
use urdf_usd_stage::text;

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::visuals;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.3.2",
        severity: Severity::Warning,
        meaning: "Colours that vary over a mesh stand by face or by corner, and not by point.",
        outcome: "Converters to glTF have to split points, and the mesh grows.",
    },
    demand: "\"vertex\" interpolation is recommended, as \"uniform\" and \"faceVarying\" require converters to split the mesh vertices.",
    section: ("Texture Baking", "§3.3"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        color3f[] primvars:displayColor = [(1, 0, 0)] (\n            interpolation = \"uniform\"\n        )\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0), (0, 0, 1)] (\n            interpolation = \"vertex\"\n        )\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in visuals(subject.stage, &subject.shading) {
        let prim = &subject.stage[mesh];
        let mut names: BTreeSet<String> = ["displayColor".to_owned(), "displayOpacity".to_owned()].into();
        names.extend(subject.shading.material_of(subject.stage, mesh).into_iter().flat_map(|material| material.colors.clone()));
        for name in names.iter().map(|name| format!("primvars:{name}")) {
            let Some(attribute) = prim.attributes.get(&name) else { continue };
            let interpolation = attribute.metadata.get("interpolation").and_then(text).unwrap_or("constant");
            if matches!(interpolation, "uniform" | "faceVarying") {
                let message = format!("{name} of the mesh {} has the interpolation \"{interpolation}\"", prim.path);
                findings.prim(&RULE.code, mesh, Some(&name), message, "give each point its colour: interpolation = \"vertex\"");
            }
        }
    }
}
