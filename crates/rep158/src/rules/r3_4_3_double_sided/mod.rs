//! `doubleSided` does not mask inverted faces.

use super::{Findings, Subject, rule};
use crate::meshes::meshes;

rule! {
    severity: Error,
    meaning: "A mesh is `doubleSided`, and some of its faces are turned around, or all of them.",
    outcome: "Programs that show front sides only, and physics engines, find holes in it.",
    demand: "Assets must not rely on doubleSided = true to mask incorrect winding.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if prim.flag("doubleSided") != Some(true) {
            continue;
        }
        let surface = subject.meshes.of(prim);
        let what = match surface.turned_edges {
            0 if surface.is_inside_out() => "its front is inside".to_owned(),
            0 => continue,
            edges => format!(
                "the faces on both sides of {edges} of its edges are turned against each other"
            ),
        };
        let message = format!("the mesh {} is doubleSided, and {what}", prim.path);
        findings.prim(
            mesh,
            Some("doubleSided"),
            message,
            "turn the faces so that their fronts are outside, then take doubleSided away",
        );
    }
}
