//! That collision meshes are triangles.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::colliders;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.1",
        severity: Severity::Error,
        meaning: "A collision mesh has faces that are no triangles.",
        outcome: "Engines triangulate it each in their own way, or refuse it.",
    },
    demand: "Collision meshes must be explicitly triangulated by the author.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [4]\n        int[] faceVertexIndices = [0, 1, 2, 3]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let others = subject.meshes.of(prim).not_triangles;
        if others > 0 {
            let message = format!("the collision mesh {} has {others} faces that are no triangles", prim.path);
            findings.prim(&RULE.code, mesh, Some("faceVertexCounts"), message, "triangulate it");
        }
    }
}
