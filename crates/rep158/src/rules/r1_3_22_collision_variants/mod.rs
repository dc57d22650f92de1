//! Collision meshes have variants of different fidelity.

use super::{Findings, Subject, rule};
use crate::physics::is_collider;

rule! {
    severity: Warning,
    meaning: "The asset has mesh colliders in a single version.",
    outcome: "Engines that need convex shapes and those that want exact ones cannot both use the \
              asset.",
    demand: "Assets should have a variant set collision_fidelity, with hulls or primitives by \
             default.",
    section: ("Collisions", "§1.3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    if stage.prims.iter().any(|prim| {
        prim.variant_sets
            .iter()
            .any(|set| set.name == "collision_fidelity")
    }) {
        return;
    }
    let mut colliders = stage
        .present()
        .filter(|(_, prim)| prim.type_name == "Mesh" && is_collider(prim));
    let Some((id, first)) = colliders.next() else {
        return;
    };
    let message = match colliders.count() {
        0 => format!(
            "the collider {} is a mesh outside of any variant set collision_fidelity",
            first.path
        ),
        more => {
            format!(
                "the collider {} and {more} more are meshes outside of any variant set collision_fidelity",
                first.path
            )
        }
    };
    let help = "give the collision scopes the variants `convex_hull` (selected) and `trimesh`";
    findings.prim(id, None, message, help);
}
