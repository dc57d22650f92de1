//! Collision meshes are closed and manifold.

use super::{Findings, Subject, rule};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "A collision mesh has holes, or edges with more than two faces.",
    outcome: "Its interior is undefined: contacts are missed, and masses derived from the mesh are \
              wrong.",
    demand: "Collision meshes must be watertight (closed, manifold) to ensure stable physics and \
             mass derivation.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let surface = subject.meshes.surface(prim);
        let what = match (surface.open_edges, surface.nonmanifold_edges) {
            (0, 0) => continue,
            (open, 0) => format!("has holes: {open} of its edges have one face"),
            (0, nonmanifold) => {
                format!("is not manifold: {nonmanifold} of its edges have more than two faces")
            }
            (open, nonmanifold) => format!(
                "is not closed: {open} of its edges have one face, and {nonmanifold} more than two"
            ),
        };
        let message = format!("the collision mesh {} {what}", prim.path);
        let help = "close it, or collide with its convex hull or with primitives";
        findings.prim(mesh, Some("faceVertexIndices"), message, help);
    }
}
