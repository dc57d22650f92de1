//! Only leaf geometry is scaled.

use std::collections::BTreeSet;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::kinematic::{kinematic, scale_op};
use crate::layers::is_geometry;

rule! {
    severity: Error,
    meaning: "A prim that is not leaf geometry is scaled, and with it everything below.",
    outcome: "Programs that read poses without scales place the prims below wrongly.",
    demand: "Scaling must be applied exclusively to the leaf visual or collision geometry prims.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    // Bodies, joints and frames are left to REP158-1.1.7.
    let kinematic: BTreeSet<PrimId> = kinematic(stage).map(|(id, _)| id).collect();
    let above_kinematic: BTreeSet<PrimId> = kinematic
        .iter()
        .flat_map(|&id| stage.ancestors(id))
        .collect();
    let mut reported = BTreeSet::new();
    for (id, prim) in stage
        .iter()
        .filter(|(id, prim)| prim.is_present() && !kinematic.contains(id))
    {
        let Some(op) = scale_op(prim) else { continue };
        // A prim that references its geometry counts as a leaf.
        let is_leaf =
            is_geometry(&prim.type_name) || prim.children.is_empty() || !prim.arcs.is_empty();
        let site = prim.site(Some(&op)).map(|site| (site.layer, &site.path));
        if (is_leaf && !above_kinematic.contains(&id))
            || site.is_some_and(|site| !reported.insert(site))
        {
            continue;
        }
        let what = if above_kinematic.contains(&id) {
            "links or frames"
        } else {
            "a group of shapes"
        };
        let message = format!("{} scales {what} by {op}", prim.path);
        findings.prim(
            id,
            Some(&op),
            message,
            "scale the shapes themselves, and the positions of the prims below",
        );
    }
}
