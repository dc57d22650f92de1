//! That the faces of a collision mesh are turned the same way, their front outside.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::colliders;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.5",
        severity: Severity::Error,
        meaning: "Faces of a collision mesh are turned against each other, or its front is inside.",
        outcome: "Engines push bodies into it instead of out, and masses that are derived from it are wrong.",
    },
    demand: "Counter-clockwise vertex winding is front-facing; collision meshes must be closed and manifold.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n    }\n}")),
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
        let what = match surface.turned_edges {
            0 if surface.is_inside_out() => "is inside out: the front of its faces is inside".to_owned(),
            0 => continue,
            edges => format!("has faces that are turned against each other, along {edges} of its edges"),
        };
        let message = format!("the collision mesh {} {what}", prim.path);
        findings.prim(&RULE.code, mesh, Some("faceVertexIndices"), message, "turn the faces so that their fronts are outside");
    }
}
