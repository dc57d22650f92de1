//! That `doubleSided` does not hide faces that are turned the wrong way.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::meshes;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.3",
        severity: Severity::Error,
        meaning: "A mesh is `doubleSided`, and some of its faces are turned around, or all of them.",
        outcome: "Programs that show front sides only, and physics engines, find holes in it.",
    },
    demand: "Assets must not rely on doubleSided = true to mask incorrect winding.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\"\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n        uniform bool doubleSided = 1\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\"\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n        uniform bool doubleSided = 1\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if prim.flag("doubleSided") != Some(true) {
            continue;
        }
        let surface = subject.meshes.of(prim);
        let what = match surface.turned_edges {
            0 if surface.is_inside_out() => "its front is inside".to_owned(),
            0 => continue,
            edges => format!("the faces on both sides of {edges} of its edges are turned against each other"),
        };
        let message = format!("the mesh {} is doubleSided, and {what}", prim.path);
        findings.prim(&RULE.code, mesh, Some("doubleSided"), message, "turn the faces so that their fronts are outside, then take doubleSided away");
    }
}
