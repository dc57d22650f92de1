//! Layers with mesh points have neither schemas nor shaders.

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};
use crate::layers::{Content, find};

rule! {
    severity: Error,
    meaning: "A layer with mesh points applies schemas or contains shaders.",
    outcome: "Every small edit rewrites the large layer, and assets that look different cannot \
              share it.",
    demand: "The core data must be decomposed: geometries.usdc contains pure mesh topology and \
             vertices (no physics, no schemas); materials.usda contains material definitions.",
    section: ("Schema Isolation and Functional Layering", "§1.2.1"),
    breaks: ["robot.usda", "mesh.usda"],
    keeps: ["robot.usda", "mesh.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The root layer is left to REP158-1.2.20.
    for (index, layer) in subject.stage.layers.iter().enumerate().skip(1) {
        let contents = subject.contents(index);
        let is_other = [Content::Physics, Content::Ros]
            .into_iter()
            .any(|content| find(contents, content).is_some());
        // Physics and ROS beside geometry are left to REP158-1.2.16.
        let Some(mesh) = find(contents, Content::MeshData).filter(|_| !is_other) else {
            continue;
        };
        let schema = layer
            .prims
            .iter()
            .find_map(|prim| Some((prim.path.as_str(), prim.schemas.first()?.as_str())));
        let shader =
            find(contents, Content::Looks).map(|found| (found.path.as_str(), found.name.as_str()));
        if let Some((path, what)) = schema.or(shader) {
            let message = format!(
                "{} holds the points of {} and a {what} at {path}",
                layer.file_name(),
                mesh.path
            );
            let help = "leave only points, faces and primvars in it; materials and bindings belong in layers over it";
            findings.layer(LayerId(index), path, message, help);
        }
    }
}
