//! Colliders of the default variant are convex hulls or primitives.

use super::{Findings, Subject, rule};
use crate::convex::is_convex;
use crate::physics::{collision_fidelity, is_collider};

rule! {
    severity: Error,
    meaning: "The default variant of collision_fidelity has a collider that is neither convex nor \
              a primitive.",
    outcome: "Engines without concave meshes reject it, or each fills its cavities differently.",
    demand: "The default variant of collision_fidelity must contain convexHull or primitive \
             shapes.",
    section: ("Collisions", "§1.3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage
        .present()
        .filter(|(_, prim)| prim.type_name == "Mesh" && is_collider(prim))
    {
        let Some(set) = collision_fidelity(stage, id)
            .filter(|set| set.selection.is_some() && set.selection == set.authored)
        else {
            continue;
        };
        let message = match prim.text("physics:approximation") {
            Some("convexHull" | "boundingCube" | "boundingSphere") => continue,
            Some("none") | None if is_convex(prim) => continue,
            Some("none") | None => {
                format!("the collider {} is a mesh that is not convex", prim.path)
            }
            Some(other) => format!("the collider {} has the approximation `{other}`", prim.path),
        };
        let help = format!(
            "put its convex hull into the variant {}, and the exact mesh into another",
            set.selection.as_deref().unwrap_or_default()
        );
        findings.prim(id, Some("physics:approximation"), message, help);
    }
}
