//! The default variants show geometry.

use urdf_usd_stage::{ArcKind, LayerId, LayerPrim};

use super::{Findings, Subject, rule};
use crate::layers::is_geometry;

rule! {
    severity: Error,
    meaning: "The default variants contain no shape, while others do.",
    outcome: "The asset opens without anything to see or to collide with.",
    demand: "Without explicit variant overrides, the asset resolves to a valid, physically and \
             visually complete state.",
    section: ("Variants", "§1.2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    // The rule is about the default selection: other selections may be incomplete.
    let is_chosen = stage.prims.iter().any(|prim| {
        prim.variant_sets
            .iter()
            .any(|set| set.selection != set.authored)
    });
    if is_chosen
        || stage
            .prims
            .iter()
            .any(|prim| prim.is_present() && is_geometry(&prim.type_name))
    {
        return;
    }
    for (index, layer) in stage.layers.iter().enumerate() {
        let is_shape = |prim: &&LayerPrim| {
            prim.path.contains('{')
                && (is_geometry(&prim.type_name)
                    || prim.arcs.iter().any(|arc| arc.kind == ArcKind::Payload))
        };
        if let Some(prim) = layer.prims.iter().find(is_shape) {
            let message = format!(
                "the variants that the asset selects contain no shape; {} is in another variant",
                prim.path
            );
            findings.layer(
                LayerId(index),
                prim.path.clone(),
                message,
                "select the variants that contain the shapes of the robot",
            );
            return;
        }
    }
}
