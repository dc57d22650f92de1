//! Layers of core UsdPhysics hold no extended physics.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Holds, contents, first, of_prim};

rule! {
    severity: Error,
    meaning: "A layer of core UsdPhysics holds extended physics too.",
    outcome: "A program that knows only core physics can't leave the rest out.",
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
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        if first(&contents(layer), Holds::Physics).is_none() {
            continue;
        }
        let mut told = BTreeSet::new();
        for found in layer.prims.iter().flat_map(of_prim) {
            let is_other = found.holds == Holds::ExtendedPhysics
                || (found.holds == Holds::Physics && !is_core(&found.what));
            if is_other && told.insert(found.what.clone()) {
                let message = format!(
                    "{} at {} is no core physics, and stands among it in {}",
                    found.what,
                    found.path,
                    layer.file_name()
                );
                findings.layer(
                    LayerId(index),
                    found.path,
                    message,
                    "put it into a layer of its own, such as extended_physics.usda",
                );
            }
        }
    }
}
