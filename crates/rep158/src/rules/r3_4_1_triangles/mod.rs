//! Collision meshes are triangulated.

use super::{Findings, Subject, rule};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "A collision mesh has faces that are not triangles.",
    outcome: "Each engine triangulates the mesh in its own way, or rejects it.",
    demand: "Collision meshes must be explicitly triangulated by the author.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let others = subject.meshes.surface(prim).not_triangles;
        if others > 0 {
            let message = format!(
                "the collision mesh {} has {others} faces that are not triangles",
                prim.path
            );
            findings.prim(mesh, Some("faceVertexCounts"), message, "triangulate it");
        }
    }
}
