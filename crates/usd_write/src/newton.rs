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
use urdf_usd_robot::{Joint, JointId, SelfCollision};
use urdf_usd_usd_author::{Attribute, Layer, Relationship};

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
    let start = engine::start(scene);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            author_passive(scene, &mut layer, id, plan, "NewtonJointAPI");
            if let Some(position) = start.get(&id) {
                author_start(&mut layer, joint, plan, *position);
            }
        }
    }
    for following in engine::mimics(scene, "Newton", &codes::NEWTON_MIMIC, diagnostics) {
        author_mimic(&mut layer, &following, "NewtonMimicAPI");
    }
    layer
}

/// Authors the attributes of NewtonJointAPI, which is or includes `schema`: friction in N·m or N, damping
/// and speed in USD's units.
pub(super) fn author_passive(
    scene: &Scene<'_>,
    layer: &mut Layer,
    id: JointId,
    plan: &JointPlan,
    schema: &str,
) {
    let joint = &scene.robot.joints()[id];
    let Some(dof) = Dof::of(joint) else {
        return;
    };
    let passive = engine::passive(scene, id, joint);
    let values = [
        (
            "newton:armature",
            passive.armature.map(|armature| armature as f32),
        ),
        (
            "newton:damping",
            passive.damping.map(|damping| dof.gain(damping)),
        ),
        (
            "newton:friction",
            passive.friction.map(|friction| friction as f32),
        ),
        (
            "newton:velocityLimit",
            passive.velocity.map(|velocity| dof.position(velocity)),
        ),
    ];
    engine::author_floats(layer, &plan.path, schema, values);
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
pub(super) fn author_mimic(layer: &mut Layer, following: &Following<'_>, schema: &str) {
    let Following {
        plan,
        leader,
        dof,
        mimic,
        ..
    } = following;
    layer
        .over(&plan.path)
        .apply([schema])
        .attribute(
            "newton:mimicCoef0",
            Attribute::float(dof.position(mimic.offset)),
        )
        .attribute(
            "newton:mimicCoef1",
            Attribute::float(mimic.multiplier as f32),
        )
        .attribute("newton:mimicEnabled", Attribute::bool(true))
        .relationship("newton:mimicJoint", Relationship::to([*leader]));
}
