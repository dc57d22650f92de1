//! Collision meshes are closed and manifold.

use super::{Findings, Subject, rule};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "A collision mesh has holes, or edges with more than two faces.",
    outcome: "What is inside is not defined: contacts are missed, and masses that are derived from \
              it are wrong.",
    demand: "Collision meshes must be watertight (closed, manifold) to ensure stable physics and \
             mass derivation.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let surface = subject.meshes.of(prim);
        let what = match (surface.open_edges, surface.crowded_edges) {
            (0, 0) => continue,
            (open, 0) => format!("has holes: {open} of its edges have one face"),
            (0, crowded) => {
                format!("is not manifold: {crowded} of its edges have more than two faces")
            }
            (open, crowded) => format!(
                "is not closed: {open} of its edges have one face, and {crowded} more than two"
            ),
        };
        let message = format!("the collision mesh {} {what}", prim.path);
        let help = "close it, or collide with its convex hull or with primitives";
        findings.prim(mesh, Some("faceVertexIndices"), message, help);
    }
}
