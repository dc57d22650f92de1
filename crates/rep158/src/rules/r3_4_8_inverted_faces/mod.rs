//! `doubleSided` does not mask inverted faces.

use super::{Findings, Subject, rule};
use crate::meshes::meshes;

rule! {
    severity: Error,
    meaning: "A mesh is `doubleSided`, and some or all of its faces are inverted.",
    outcome: "Programs that show only front faces, and physics engines, find holes in the mesh.",
    demand: "Assets must not rely on doubleSided = true to mask incorrect winding.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if prim.flag("doubleSided") != Some(true) {
            continue;
        }
        let surface = subject.meshes.surface(prim);
        let what = match surface.flipped_edges {
            0 if surface.is_inside_out() => "its faces point inwards".to_owned(),
            0 => continue,
            edges => format!("its faces are wound inconsistently along {edges} of its edges"),
        };
        let message = format!("the mesh {} is doubleSided, and {what}", prim.path);
        findings.prim(
            mesh,
            Some("doubleSided"),
            message,
            "reverse the faces that point inwards, then remove doubleSided",
        );
    }
}
