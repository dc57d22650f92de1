//! Vendor-specific schemas and properties are in proprietary layers.

use std::collections::{BTreeSet, HashSet};

use urdf_usd_stage::{Layer, LayerId, LayerPrim};

use super::{Findings, Subject, rule};
use crate::layers::{Content, Item, is_vendor_schema, prim_items};

rule! {
    severity: Error,
    meaning: "A layer that all programs read holds schemas or properties of one simulator.",
    outcome: "Other programs do not know them, so the robot behaves differently in each.",
    demand: "Engine-specific parameters must be isolated within discrete Proprietary Layers and \
             never authored in the baseline simulation payload or neutral physics layer.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "physx.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_engine = subject.engine_layers().iter().copied();
    let layers = subject.stage.layers.iter().zip(is_engine).enumerate();
    for (index, (layer, is_engine)) in layers {
        let Some(neutral) = neutral_item(layer, is_engine) else {
            continue;
        };
        let mut reported = BTreeSet::new();
        for found in layer
            .prims
            .iter()
            .flat_map(|prim| prim_items(prim, |content| content == Content::Vendor))
        {
            // Report each schema and property once, at its first prim.
            if reported.insert(found.name.clone()) {
                let message = format!(
                    "{} at {} is in {}, which also holds {}",
                    found.name,
                    found.path,
                    layer.file_name(),
                    neutral.content.name()
                );
                let help = "move it into a layer with opinions of that simulator alone, or into one that only the entry layer of the simulator includes";
                findings.layer(LayerId(index), found.path, message, help);
            }
        }
    }
}

/// Returns an item of a layer that is for all simulators. Besides its own prims, a layer that only one
/// simulator loads may change those of the asset, but not declare ROS interfaces (§2).
fn neutral_item(layer: &Layer, is_engine: bool) -> Option<Item> {
    let is_own = |prim: &LayerPrim| {
        is_vendor_schema(&prim.type_name)
            || (prim.type_name == "PhysicsScene"
                && prim.schemas.iter().any(|schema| is_vendor_schema(schema)))
    };
    let own: HashSet<&str> = layer
        .prims
        .iter()
        .filter(|prim| is_own(prim))
        .map(|prim| prim.path.as_str())
        .collect();
    let is_in_own = |path: &str| {
        let mut ancestors =
            std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0));
        ancestors.any(|above| own.contains(above))
    };
    let prims = layer.prims.iter().filter(|prim| !is_in_own(&prim.path));
    prims
        .flat_map(|prim| {
            prim_items(prim, move |content| {
                content == Content::Ros || !is_engine && content != Content::Vendor
            })
        })
        .next()
}
