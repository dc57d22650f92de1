//! Inherited and specialized classes are in the asset's own layers.

use std::collections::BTreeSet;

use urdf_usd_stage::{Arc, ArcKind, Specifier, Stage};

use super::{Findings, Subject, rule};
use crate::layers::share_layer_stack;

rule! {
    severity: Warning,
    meaning: "A prim inherits from or specializes a class that is not in the asset's own layers.",
    outcome: "The properties of the prim depend on the scene, or are missing.",
    demand: "Asset authors should not rely on Inherits or Specializes arcs that target class \
             definitions outside the asset's own layer stack.",
    section: ("Composition Arcs (LIVRPS Constraints)", "§1.2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut reported = BTreeSet::new();
    for (id, prim) in stage.iter() {
        for arc in prim
            .arcs
            .iter()
            .filter(|arc| matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize))
        {
            if is_inside(stage, arc)
                || !reported.insert((arc.site.layer, &arc.site.path, &arc.prim))
            {
                continue;
            }
            let does = if arc.kind == ArcKind::Inherit {
                "inherits from"
            } else {
                "specializes"
            };
            let message = format!(
                "{} {does} {}, which is not in the layers of {}",
                prim.path,
                arc.prim,
                stage[arc.site.layer].file_name()
            );
            findings.prim(
                id,
                None,
                message,
                "define the class in the asset, or use a reference",
            );
        }
    }
}

/// Whether the layer stack of the arc defines its target.
fn is_inside(stage: &Stage, arc: &Arc) -> bool {
    let own = &stage[arc.site.layer];
    // A target that a reference composes is on the stage, but no layer has a prim at its path.
    if own.is_local
        && stage
            .prim_at(&arc.prim)
            .is_some_and(|prim| prim.specifier != Specifier::Over)
    {
        return true;
    }
    stage
        .layers
        .iter()
        .filter(|layer| share_layer_stack(stage, own, layer))
        .any(|layer| {
            let mut path = arc.prim.as_str();
            let is_referenced = |path: &str| {
                layer
                    .prim(path)
                    .is_some_and(|prim| prim.arcs.iter().any(|arc| !arc.asset.is_empty()))
            };
            if layer
                .prim(path)
                .is_some_and(|prim| prim.specifier != Specifier::Over)
            {
                return true;
            }
            while let Some((above, _)) =
                path.rsplit_once('/').filter(|(above, _)| !above.is_empty())
            {
                if is_referenced(above) {
                    return true;
                }
                path = above;
            }
            false
        })
}
