//! The arrays of a mesh describe valid faces.

use super::{Findings, Subject, rule};
use crate::meshes::meshes;

rule! {
    severity: Error,
    meaning: "A mesh has no faces, its arrays do not fit together, or a point is not finite.",
    outcome: "Programs skip the mesh, or crash.",
    demand: "Collision meshes must be explicitly triangulated, and all geometry must convert to \
             glTF: both need valid faces.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if let Some(fault) = &subject.meshes.surface(prim).fault {
            let message = format!("the mesh {} is broken: {fault}", prim.path);
            findings.prim(
                mesh,
                Some("faceVertexIndices"),
                message,
                "export the mesh again from its source",
            );
        }
    }
}
