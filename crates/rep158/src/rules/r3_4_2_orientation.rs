//! That the corners of faces run counter-clockwise.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::meshes;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.2",
        severity: Severity::Error,
        meaning: "A mesh is `leftHanded`: its front is where the corners of a face run clockwise.",
        outcome: "Programs that know counter-clockwise fronts only, as glTF does, show it inside out.",
    },
    demand: "Meshes must use orientation = \"rightHanded\" (the OpenUSD default).",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"shape\" (\n        prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        int[] faceVertexCounts = [3, 3, 3, 3]\n        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]\n        uniform token orientation = \"leftHanded\"\n    }\n}")),
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
        if let Some(other) = prim.text("orientation").filter(|orientation| *orientation != "rightHanded") {
            let message = format!("the mesh {} has the orientation \"{other}\"", prim.path);
            let help = "turn the faces around, corners and what stands by corner alike, and take the attribute away";
            findings.prim(&RULE.code, mesh, Some("orientation"), message, help);
        }
    }
}
