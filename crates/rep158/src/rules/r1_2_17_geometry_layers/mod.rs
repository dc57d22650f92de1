//! Layers with mesh points have neither schemas nor shaders.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Holds, contents, first};

rule! {
    severity: Error,
    meaning: "A layer with the points of meshes applies schemas, or has shaders.",
    outcome: "The large layer changes with every small change, and can't be shared between assets \
              that look different.",
    demand: "The core data must be decomposed: geometries.usdc contains pure mesh topology and \
             vertices (no physics, no schemas); materials.usda contains material definitions.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "mesh.usda"],
    keeps: ["robot.usda", "mesh.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The root layer is left to REP158-1.2.20.
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = contents(layer);
        let is_other = [Holds::Physics, Holds::Ros]
            .into_iter()
            .any(|holds| first(&contents, holds).is_some());
        // Physics and ROS beside geometry are left to REP158-1.2.16.
        let Some(mesh) = first(&contents, Holds::MeshData).filter(|_| !is_other) else {
            continue;
        };
        let schema = layer
            .prims
            .iter()
            .find_map(|prim| Some((prim.path.as_str(), prim.schemas.first()?.as_str())));
        let shader =
            first(&contents, Holds::Looks).map(|found| (found.path.as_str(), found.what.as_str()));
        if let Some((path, what)) = schema.or(shader) {
            let message = format!(
                "{} holds the points of {} and a {what} at {path}",
                layer.file_name(),
                mesh.path
            );
            let help = "leave only points, faces and primvars in it; materials and bindings belong into layers over it";
            findings.layer(LayerId(index), path, message, help);
        }
    }
}
