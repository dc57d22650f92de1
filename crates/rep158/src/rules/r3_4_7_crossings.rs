//! That the triangles of a collision mesh don't cross each other.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::crossings::{Crossing, crossing};
use crate::findings::Findings;
use crate::meshes::colliders;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.4.7",
        severity: Severity::Error,
        meaning: "Triangles of a collision mesh cross each other.",
        outcome: "What is inside is not defined: a part of the volume counts twice in masses that are derived from it, and contacts with \
                  faces inside push bodies deeper.",
    },
    demand: "Collision meshes must be free of self-intersections to ensure stable physics and mass derivation.",
    section: ("Geometry Constraints", "§3.4"),
    breaks: &[("robot.usda", Some(r#"def Xform "robot"
{
    def Mesh "shape" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        int[] faceVertexCounts = [3, 3, 3, 3, 3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2, 4, 6, 5, 4, 5, 7, 5, 6, 7, 4, 7, 6]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.2, 0.2, -0.5), (1.2, 0.2, -0.5), (0.2, 1.2, -0.5), (0.2, 0.2, 0.5)]
    }
}"#))],
    keeps: &[("robot.usda", Some(r#"def Xform "robot"
{
    def Mesh "shape" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        int[] faceVertexCounts = [3, 3, 3, 3, 3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2, 4, 6, 5, 4, 5, 7, 5, 6, 7, 4, 7, 6]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.2, 0.2, -1), (1.2, 0.2, -1), (0.2, 1.2, -1), (0.2, 0.2, 0)]
    }
}"#))],
    turn: Turn::Usual,
    check,
};

// The sentence has no exception for meshes that stand for their hull or box
// (physics:approximation): other programs take such a mesh as it is, and masses are derived from
// it.
fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        match crossing(prim) {
            Crossing::None => {}
            Crossing::Faces(one, two) => {
                let message = format!("the collision mesh {} crosses itself: its faces {one} and {two} do, for one", prim.path);
                let help = "unite its parts into one surface, make each a collider of its own, or collide with their convex hull";
                findings.prim(&RULE.code, mesh, Some("points"), message, help);
            }
            Crossing::TooMany => {
                let message = format!("the collision mesh {} is too large to find out whether it crosses itself", prim.path);
                findings.remark(&RULE.code, mesh, Some("points"), message, "collide with fewer triangles: physics engines want few");
            }
        }
    }
}
