//! Meshes are right-handed.

use super::{Findings, Subject, rule};
use crate::meshes::meshes;

rule! {
    severity: Error,
    meaning: "A mesh is `leftHanded`: its front is where the corners of a face run clockwise.",
    outcome: "Programs that support only counter-clockwise winding, as in glTF, show the mesh \
              inside out.",
    demand: "Meshes must use orientation = \"rightHanded\" (the OpenUSD default).",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in meshes(subject.stage) {
        let prim = &subject.stage[mesh];
        if let Some(other) = prim
            .text("orientation")
            .filter(|orientation| *orientation != "rightHanded")
        {
            let message = format!("the mesh {} has the orientation \"{other}\"", prim.path);
            let help = "reverse the corners of each face, with all faceVarying values, and remove the attribute";
            findings.prim(mesh, Some("orientation"), message, help);
        }
    }
}
