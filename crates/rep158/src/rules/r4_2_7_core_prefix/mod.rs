//! The prefix `physics:` is for core UsdPhysics only.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A property has the prefix physics:, but is not defined by UsdPhysics.",
    outcome: "Programs that know UsdPhysics ignore it, and a later UsdPhysics may use the name for \
              something else.",
    demand: "Core prefixes (e.g., physics:) are prohibited for incubating schemas: the physics: \
             prefix is reserved for AOUSD-ratified schemas.",
    section: ("Physics Schemas", "§4.2.2"),
}

/// All properties of UsdPhysics, without their prefix.
const CORE: &[&str] = &[
    "angularVelocity",
    "approximation",
    "axis",
    "body0",
    "body1",
    "breakForce",
    "breakTorque",
    "centerOfMass",
    "collisionEnabled",
    "coneAngle0Limit",
    "coneAngle1Limit",
    "density",
    "diagonalInertia",
    "dynamicFriction",
    "excludeFromArticulation",
    "filteredGroups",
    "filteredPairs",
    "gravityDirection",
    "gravityMagnitude",
    "invertFilteredGroups",
    "jointEnabled",
    "kinematicEnabled",
    "localPos0",
    "localPos1",
    "localRot0",
    "localRot1",
    "lowerLimit",
    "mass",
    "maxDistance",
    "mergeGroup",
    "minDistance",
    "principalAxes",
    "restitution",
    "rigidBodyEnabled",
    "simulationOwner",
    "startsAsleep",
    "staticFriction",
    "upperLimit",
    "velocity",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut reported = BTreeSet::new();
        for prim in layer.prims.iter() {
            for property in &prim.properties {
                let Some(name) = property
                    .name
                    .strip_prefix("physics:")
                    .filter(|name| !CORE.contains(name))
                else {
                    continue;
                };
                if reported.insert(name) {
                    let path = format!("{}.{}", prim.path, property.name);
                    let message = format!("{path} is not a property of UsdPhysics");
                    findings.layer(
                        LayerId(index),
                        path,
                        message,
                        subject.options.revision.other_prefix(),
                    );
                }
            }
        }
    }
}
