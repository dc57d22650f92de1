//! Collision meshes are triangulated.

use super::{Findings, Subject, rule};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "A collision mesh has faces that are no triangles.",
    outcome: "Engines triangulate it each in their own way, or refuse it.",
    demand: "Collision meshes must be explicitly triangulated by the author.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let others = subject.meshes.of(prim).not_triangles;
        if others > 0 {
            let message = format!(
                "the collision mesh {} has {others} faces that are no triangles",
                prim.path
            );
            findings.prim(mesh, Some("faceVertexCounts"), message, "triangulate it");
        }
    }
}
