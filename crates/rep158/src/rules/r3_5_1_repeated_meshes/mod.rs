//! Repeated meshes are instanced.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use urdf_usd_stage::{PrimId, int_array, vectors};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A repeated mesh is not instanced.",
    outcome: "Programs store and draw each copy separately.",
    demand: "Repetitive geometry (bolts, LED arrays on a sensor) must utilize native OpenUSD \
             instancing to minimize memory footprint.",
    section: ("Instanceable Leaves", "§3.5"),
    breaks: ["robot.usda", "bolt.usda"],
    keeps: ["robot.usda", "bolt.usda"],
}

/// Minimum number of equal meshes that are repetitive.
const MIN_REPEATS: usize = 3;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut same: HashMap<u64, Vec<PrimId>> = HashMap::new();
    for (id, prim) in stage.iter().filter(|(_, prim)| {
        prim.type_name == "Mesh" && prim.is_present() && prim.instance.is_none()
    }) {
        // Prototypes of an instancer are already shared; every collider has to be a prim of its own.
        let above = || stage.self_and_ancestors(id);
        let is_shared = above().any(|above| stage[above].type_name == "PointInstancer");
        let is_collider = prim.has("PhysicsCollisionAPI")
            || above().any(|above| stage[above].text("purpose") == Some("guide"));
        let Some(points) = prim
            .value("points")
            .filter(|_| !is_shared && !is_collider)
            .and_then(vectors)
        else {
            continue;
        };
        let mut hasher = DefaultHasher::new();
        for coordinate in points.iter().flatten() {
            coordinate.to_bits().hash(&mut hasher);
        }
        prim.value("faceVertexIndices")
            .and_then(int_array)
            .hash(&mut hasher);
        same.entry(hasher.finish()).or_default().push(id);
    }
    let mut repeated: Vec<Vec<PrimId>> = same
        .into_values()
        .filter(|ids| ids.len() >= MIN_REPEATS)
        .collect();
    // A hash map has no order.
    repeated.sort();
    for ids in repeated {
        let Some(&first) = ids.first() else { continue };
        let message = format!(
            "the mesh {} is repeated {} times without instancing",
            stage[first].path,
            ids.len()
        );
        findings.prim(
            first,
            None,
            message,
            "reference one mesh from all of them, and set instanceable = true on the referencing prims",
        );
    }
}
