//! Detailed visuals have variants of different resolution.

use std::cmp::Reverse;

use urdf_usd_stage::{Prim, PrimId, int_array};

use super::{Findings, Subject, rule};
use crate::physics::{is_visual, own_prims};

rule! {
    severity: Warning,
    meaning: "The asset has detailed visual meshes in a single version.",
    outcome: "Lightweight tools and large scenes have to load the detailed meshes, and renderers \
              get no finer ones.",
    demand: "Assets should provide several visual representations by a variant set \
             visual_representation on the visual scope.",
    section: ("Visual Representation", "§1.3.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let is_set = |prim: &Prim| {
        prim.variant_sets
            .iter()
            .any(|set| set.name == "visual_representation")
    };
    if stage.prims.iter().any(is_set) {
        return;
    }
    let triangles = |id: PrimId| -> i64 {
        let counts = stage[id]
            .value("faceVertexCounts")
            .and_then(int_array)
            .unwrap_or_default();
        counts
            .iter()
            .map(|&count| i64::from(count).saturating_sub(2).max(0))
            .sum()
    };
    let visuals = subject
        .physics
        .bodies
        .iter()
        .flat_map(|&body| own_prims(stage, body))
        .filter(|&id| is_visual(stage, id));
    // If several meshes have the most triangles, the first one in the stage counts.
    let Some((most, Reverse(id))) = visuals.map(|id| (triangles(id), Reverse(id))).max() else {
        return;
    };
    if most > MAX_TRIANGLES {
        let message = format!(
            "{} has {most} triangles, and no visual has coarser or finer versions",
            stage[id].path
        );
        let help = "give the visual scopes a variant set visual_representation with mesh_medium (selected), mesh_high and mesh_low";
        findings.prim(id, None, message, help);
    }
}

/// Maximum number of triangles of a mesh that needs no coarser variant.
const MAX_TRIANGLES: i64 = 1000;
