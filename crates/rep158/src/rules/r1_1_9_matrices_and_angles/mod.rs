//! No prim is placed by a matrix or by Euler angles.

use std::collections::BTreeSet;

use urdf_usd_stage::OpKind;

use super::{Findings, Subject, rule};
use crate::kinematic::kinematic;

rule! {
    severity: Error,
    meaning: "A prim is placed by a matrix or by Euler angles.",
    outcome: "A matrix may hide a scale and has to be decomposed at every load; programs differ in \
              the order of Euler angles.",
    demand: "Baked 4x4 matrices (xformOp:transform) are prohibited on final assets; ETL pipelines \
             must convert all Euler rotations.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Bodies, joints and frames are left to REP158-1.1.6.
    let kinematic: BTreeSet<_> = kinematic(subject.stage).map(|(id, _)| id).collect();
    let mut reported = BTreeSet::new();
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(id, prim)| prim.is_present() && !kinematic.contains(id))
    {
        for op in prim
            .xform()
            .ops
            .iter()
            .filter(|op| matches!(op.kind, OpKind::Transform | OpKind::Rotate))
        {
            // Report each opinion in a layer once, however often it is referenced.
            let site = prim
                .site(Some(&op.attribute))
                .map(|site| (site.layer, &site.path));
            if site.is_some_and(|site| !reported.insert(site)) {
                continue;
            }
            let by = if op.kind == OpKind::Transform {
                "a matrix"
            } else {
                "Euler angles"
            };
            let message = format!("{} is placed by {by}, {}", prim.path, op.attribute);
            findings.prim(
                id,
                Some(&op.attribute),
                message,
                "author xformOp:translate and xformOp:orient: `urdf_usd fix` converts it",
            );
        }
    }
}
