//! Collision meshes do not intersect themselves.

use super::{Findings, Subject, rule};
use crate::crossings::{Crossing, crossing};
use crate::meshes::colliders;

rule! {
    severity: Error,
    meaning: "Triangles of a collision mesh cross each other.",
    outcome: "What is inside is not defined: a part of the volume counts twice in masses that are \
              derived from it, and contacts with faces inside push bodies deeper.",
    demand: "Collision meshes must be free of self-intersections to ensure stable physics and mass \
             derivation.",
    section: ("Geometry Constraints", "§3.4"),
}

// REP-158 makes no exception for meshes that are approximated by their hull or box
// (physics:approximation): other programs use such a mesh itself, and derive masses from it.
fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in colliders(subject.stage) {
        let prim = &subject.stage[mesh];
        match crossing(prim) {
            Crossing::None => {}
            Crossing::Faces(one, two) => {
                let message = format!(
                    "the collision mesh {} crosses itself: its faces {one} and {two} do, for one",
                    prim.path
                );
                let help = "unite its parts into one surface, make each a collider of its own, or collide with their convex hull";
                findings.prim(mesh, Some("points"), message, help);
            }
            Crossing::TooMany => {
                let message = format!(
                    "the collision mesh {} is too large to find out whether it crosses itself",
                    prim.path
                );
                findings.remark(
                    mesh,
                    Some("points"),
                    message,
                    "collide with fewer triangles: physics engines want few",
                );
            }
        }
    }
}
