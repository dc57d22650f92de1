//! That collision meshes are closed and manifold.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::colliders;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.4",
        severity: Severity::Error,
        meaning: "A collision mesh has holes, or edges with more than two faces.",
        outcome: "What is inside is not defined: contacts are missed, and masses that are derived from it are wrong.",
    },
    demand: "Collision meshes must be watertight (closed, manifold) to ensure stable physics and mass derivation.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
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
        let surface = subject.meshes.of(prim);
        let what = match (surface.open_edges, surface.crowded_edges) {
            (0, 0) => continue,
            (open, 0) => format!("has holes: {open} of its edges have one face"),
            (0, crowded) => format!("is not manifold: {crowded} of its edges have more than two faces"),
            (open, crowded) => format!("is not closed: {open} of its edges have one face, and {crowded} more than two"),
        };
        let message = format!("the collision mesh {} {what}", prim.path);
        let help = "close it, or collide with its convex hull or with primitives";
        findings.prim(&RULE.code, mesh, Some("faceVertexIndices"), message, help);
    }
}
