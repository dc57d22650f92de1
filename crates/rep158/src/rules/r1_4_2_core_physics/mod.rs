//! Layers of core UsdPhysics hold no extended physics.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Content, find, prim_items};

rule! {
    severity: Error,
    meaning: "A layer of core UsdPhysics also holds extended physics.",
    outcome: "A program that knows only core physics cannot skip the rest.",
    demand: "Neutral Physics (physics.usda): a universally shared layer containing exclusively \
             core UsdPhysics schemas.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: ["robot.usda", "physics.usda"],
    keeps: ["robot.usda", "physics.usda", "extended_physics.usda"],
}

/// All schemas of UsdPhysics.
const CORE: &[&str] = &[
    "Scene",
    "RigidBodyAPI",
    "MassAPI",
    "CollisionAPI",
    "MeshCollisionAPI",
    "MaterialAPI",
    "FilteredPairsAPI",
    "ArticulationRootAPI",
    "LimitAPI",
    "DriveAPI",
    "CollisionGroup",
    "Joint",
    "FixedJoint",
    "RevoluteJoint",
    "PrismaticJoint",
    "SphericalJoint",
    "DistanceJoint",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_core = |what: &str| {
        let name = what.split(':').next().unwrap_or(what);
        // Properties are left to REP158-4.2.7.
        name.strip_prefix("Physics")
            .is_none_or(|name| CORE.contains(&name))
    };
    // The drives and states in the layers of an engine are its own.
    let is_engine = subject.engine_layers();
    for (index, (layer, is_engine)) in subject.stage.layers.iter().zip(is_engine).enumerate() {
        if *is_engine || find(subject.contents(index), Content::Physics).is_none() {
            continue;
        }
        let mut reported = BTreeSet::new();
        let is_physics = |content| matches!(content, Content::Physics | Content::ExtendedPhysics);
        for found in (layer.prims.iter()).flat_map(|prim| prim_items(prim, is_physics)) {
            let is_other = found.content == Content::ExtendedPhysics
                || (found.content == Content::Physics && !is_core(&found.name));
            if is_other && reported.insert(found.name.clone()) {
                let message = format!(
                    "{} at {} is not core physics, but shares the layer {} with it",
                    found.name,
                    found.path,
                    layer.file_name()
                );
                findings.layer(
                    LayerId(index),
                    found.path,
                    message,
                    subject.options.revision.separate_layer(),
                );
            }
        }
    }
}
