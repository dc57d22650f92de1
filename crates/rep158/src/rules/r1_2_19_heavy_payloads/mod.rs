//! Large meshes are loaded through payloads.

use std::collections::BTreeSet;

use urdf_usd_stage::{ArcKind, SharedValue};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A large mesh is not loaded through a payload.",
    outcome: "Programs that need only the kinematic tree have to load all meshes.",
    demand: "Heavy data (high-resolution meshes, point clouds, large textures) must be referenced \
             via Payloads rather than standard References.",
    section: ("Composition Arcs (LIVRPS Constraints)", "§1.2.3"),
    breaks: ["robot.usda", "geometries.usdc" from "geometries.usda"],
    keeps: ["robot.usda", "geometries.usdc" from "geometries.usda"],
}

/// Maximum number of points of a mesh that needs no payload.
const MAX_POINTS: usize = 1000;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut reported = BTreeSet::new();
    for (id, prim) in stage.present().filter(|(_, prim)| !prim.in_payload) {
        let Some(points) = prim.attributes.get("points") else {
            continue;
        };
        let count = points
            .value
            .as_ref()
            .and_then(SharedValue::array_len)
            .unwrap_or(0);
        // The nearest arc at or above the mesh brings it in.
        let mut above = stage.self_and_ancestors(id).map(|above| &stage[above].arcs);
        let nearest = above.find(|arcs| arcs.iter().any(|arc| !arc.asset.is_empty()));
        let is_by_payload =
            nearest.is_some_and(|arcs| arcs.iter().any(|arc| arc.kind == ArcKind::Payload));
        let site = points.sites.first().map(|site| (site.layer, &site.path));
        if count > MAX_POINTS && !is_by_payload && site.is_none_or(|site| reported.insert(site)) {
            let message = format!(
                "the {count} points of {} are not loaded through a payload",
                prim.path
            );
            findings.prim(
                id,
                Some("points"),
                message,
                "bring the mesh in through a payload instead of a reference or sublayer",
            );
        }
    }
}
