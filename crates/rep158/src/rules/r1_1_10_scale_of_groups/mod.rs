//! Only leaf geometry is scaled.

use std::collections::BTreeSet;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::kinematic::{is_scaled, kinematic};
use crate::layers::is_geometry;

rule! {
    severity: Error,
    meaning: "A prim that is no shape is scaled, and all below it with it.",
    outcome: "Programs that read poses without scales place what is below it somewhere else.",
    demand: "Scaling must be applied exclusively to the leaf visual or collision geometry prims.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    // Bodies, joints and frames are left to REP158-1.1.7.
    let kinematic: BTreeSet<PrimId> = kinematic(stage).map(|(id, _)| id).collect();
    let carries: BTreeSet<PrimId> = kinematic
        .iter()
        .flat_map(|&id| stage.ancestors(id))
        .collect();
    let mut told = BTreeSet::new();
    for (id, prim) in stage
        .iter()
        .filter(|(id, prim)| prim.is_present() && !kinematic.contains(id))
    {
        let Some(op) = is_scaled(prim) else { continue };
        // A prim that references its geometry counts as a leaf.
        let is_leaf =
            is_geometry(&prim.type_name) || prim.children.is_empty() || !prim.arcs.is_empty();
        let site = prim.site(Some(&op)).map(|site| (site.layer, &site.path));
        if (is_leaf && !carries.contains(&id)) || site.is_some_and(|site| !told.insert(site)) {
            continue;
        }
        let what = if carries.contains(&id) {
            "links or frames"
        } else {
            "a group of shapes"
        };
        let message = format!("{} scales {what} by {op}", prim.path);
        findings.prim(
            id,
            Some(&op),
            message,
            "scale the shapes themselves, and the positions of what is below",
        );
    }
}
