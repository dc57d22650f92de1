//! That a layer of core physics holds nothing else of physics.

use std::collections::BTreeSet;

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{LayerId};

use crate::Rule;
use crate::findings::Findings;
use crate::layers::{Holds, contents, first, of_prim};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-1.4.2",
        severity: Severity::Error,
        meaning: "A layer of core UsdPhysics holds extended physics too.",
        outcome: "A program that knows only core physics can't leave the rest out.",
    },
    demand: "Neutral Physics (physics.usda): a universally shared layer containing exclusively core UsdPhysics schemas.",
    section: ("Isolation of vendor and physics specific extensions", "§1.4"),
    breaks: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n    }\n}"))],
    keeps: &[("robot.usda", Some("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [@extended_physics.usda@, @physics.usda@]\n)\n\ndef Xform \"robot\"\n{\n}")), ("physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}")), ("extended_physics.usda", Some("over \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"ExtendedPhysicsMimicAPI\"]\n    )\n    {\n    }\n}"))],
    turn: Turn::Usual,
    check,
};

/// All schemas of UsdPhysics.
const CORE: &[&str] = &["Scene", "RigidBodyAPI", "MassAPI", "CollisionAPI", "MeshCollisionAPI", "MaterialAPI", "FilteredPairsAPI", "ArticulationRootAPI",
    "LimitAPI", "DriveAPI", "CollisionGroup", "Joint", "FixedJoint", "RevoluteJoint", "PrismaticJoint", "SphericalJoint", "DistanceJoint"];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_core = |what: &str| {
        let name = what.split(':').next().unwrap_or(what);
        // Of properties REP158-4.2.7 says it.
        name.strip_prefix("Physics").is_none_or(|name| CORE.contains(&name))
    };
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        if first(&contents(layer), Holds::Physics).is_none() {
            continue;
        }
        let mut told = BTreeSet::new();
        for found in layer.prims.iter().flat_map(of_prim) {
            let is_other = found.holds == Holds::ExtendedPhysics || (found.holds == Holds::Physics && !is_core(&found.what));
            if is_other && told.insert(found.what.clone()) {
                let message = format!("{} at {} is no core physics, and stands among it in {}", found.what, found.path, layer.file_name());
                findings.layer(&RULE.code, LayerId(index), found.path, message, "put it into a layer of its own, such as extended_physics.usda");
            }
        }
    }
}
