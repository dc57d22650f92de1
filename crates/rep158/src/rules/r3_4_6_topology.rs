//! That the arrays of a mesh make faces.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::meshes;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.6",
        severity: Severity::Error,
        meaning: "A mesh has no faces, its arrays do not fit together, or a point is not finite.",
        outcome: "Programs leave the mesh out, or crash.",
    },
    demand: "Collision meshes must be explicitly triangulated, and all geometry must convert to glTF: for both the faces must be there.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 9]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if let Some(fault) = &subject.meshes.of(prim).fault {
            let message = format!("the mesh {} is broken: {fault}", prim.path);
            findings.prim(&RULE.code, mesh, Some("faceVertexIndices"), message, "export the mesh again from its source");
        }
    }
}
