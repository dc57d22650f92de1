//! Collision meshes do not intersect themselves.

use super::{Findings, Subject, rule};
use crate::crossings::{Crossing, find_crossing};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "A collision mesh intersects itself.",
    outcome: "Its interior is undefined: masses derived from the mesh count overlaps twice, and \
              contacts with inner faces push bodies deeper.",
    demand: "Collision meshes must be free of self-intersections to ensure stable physics and mass \
             derivation.",
    section: ("Geometry Constraints", "§3.4"),
}

// REP-158 has no exception for meshes that are approximated by their hull or box
// (physics:approximation): other programs use the mesh itself, and derive masses from it.
fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        match find_crossing(prim) {
            Crossing::None => {}
            Crossing::Faces(one, two) => {
                let message = format!(
                    "the collision mesh {} intersects itself, for example at its faces {one} and {two}",
                    prim.path
                );
                let help = "unite its parts into one surface, make each a collider of its own, or collide with their convex hull";
                findings.prim(mesh, Some("points"), message, help);
            }
            Crossing::TooMany => {
                let message = format!(
                    "the collision mesh {} is too large to check for self-intersections",
                    prim.path
                );
                findings.remark(
                    mesh,
                    Some("points"),
                    message,
                    "use a collision mesh with fewer triangles, which is also faster to simulate",
                );
            }
        }
    }
}
