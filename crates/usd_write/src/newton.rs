//! `newton.usda`: the overlay for the Newton physics engine, prefix `newton:` (schemas of
//! newton-usd-schemas 0.6).
//!
//! Mimic relations, friction, damping and velocity limits of joints come from the robot, drives from
//! [`Simulation`](urdf_usd_robot::Simulation). Mass properties are not repeated: they are authored once,
//! in `physics.usda`.

use super::drives::Dof;
use super::engine::Following;
use super::plan::JointPlan;
use super::{Scene, codes, engine};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{Joint, SelfCollision};
use urdf_usd_usd_author::dialects::{self, Dialect};
use urdf_usd_usd_author::{Attribute, Layer};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Drives and what UsdPhysics cannot say, in the words of Newton",
    );
    layer.over(&root);
    // Links collide by default, and whoever imports the asset may say otherwise: the attribute would
    // override that.
    if scene.robot.simulation().self_collision == SelfCollision::None {
        for path in &scene.plan.articulation_roots {
            let mut prim = layer.over(path);
            prim.apply(["NewtonArticulationRootAPI"])
                .attribute("newton:selfCollisionEnabled", Attribute::bool(false));
        }
    }
    engine::author_drives(scene, &mut layer);
    engine::author_hulls(scene, &mut layer);
    // Newton 1.8 otherwise computes hulls of 64 corners; those with more need them.
    for (path, _) in engine::convex_meshes(scene) {
        layer
            .over(&path)
            .apply(["NewtonMeshCollisionAPI"])
            .attribute("newton:maxHullVertices", Attribute::int(-1).uniform());
    }
    let start = engine::start(scene);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            if let Some(dof) = Dof::of(joint) {
                let passive = engine::passive(scene, id, joint);
                let words = dialects::passive(Dialect::Newton, dof.motion(), &passive);
                engine::author_words(&mut layer, &plan.path, &words, None);
            }
            if let Some(position) = start.get(&id) {
                author_start(&mut layer, joint, plan, *position);
            }
        }
    }
    for following in engine::mimics(scene, "Newton", &codes::NEWTON_MIMIC, diagnostics) {
        author_mimic(scene, &mut layer, &following, "NewtonMimicAPI");
    }
    layer
}

/// Authors the position of a joint at the start. Newton 1.8 reads it from these attributes only, which no
/// schema declares.
fn author_start(layer: &mut Layer, joint: &Joint, plan: &JointPlan, position: f64) {
    if let Some(dof) = Dof::of(joint) {
        let value = Attribute::float(dof.position(position));
        let name = format!("newton:{}:position", dof.instance);
        layer.over(&plan.path).attribute(&name, value.custom());
    }
}

/// Authors the attributes of NewtonMimicAPI, which is or includes `schema`:
/// position = coef0 + coef1 · position of the leader.
pub(super) fn author_mimic(
    scene: &Scene<'_>,
    layer: &mut Layer,
    following: &Following<'_>,
    schema: &str,
) {
    engine::author_mimic(scene, layer, following, Dialect::Newton, Some(schema));
    layer
        .over(&following.plan.path)
        .attribute("newton:mimicEnabled", Attribute::bool(true));
}
