//! Faces of a collision mesh are wound consistently, with their fronts outside.

use super::{Findings, Subject, rule};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "Faces of a collision mesh are wound inconsistently, or point inwards.",
    outcome: "Engines push bodies into the mesh instead of out, and masses derived from it are \
              wrong.",
    demand: "Counter-clockwise vertex winding is front-facing; collision meshes must be closed and \
             manifold.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        let surface = subject.meshes.surface(prim);
        let what = match surface.flipped_edges {
            0 if surface.is_inside_out() => "is inside out: its faces point inwards".to_owned(),
            0 => continue,
            edges => {
                format!("has faces that are wound inconsistently, along {edges} of its edges")
            }
        };
        let message = format!("the collision mesh {} {what}", prim.path);
        findings.prim(
            mesh,
            Some("faceVertexIndices"),
            message,
            "reverse the faces that point inwards",
        );
    }
}
