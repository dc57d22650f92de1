//! `physx.usda`: the overlay for the PhysX engine, with the schemas of physx-usd-schemas 25.11 (prefixes
//! `physx*:`, `state:`), which Isaac Sim reads too.
//!
//! PhysX 5.11 also reads `newton:*`, and calls some of these schemas deprecated; older versions read
//! only these.

use super::newton::{Following, followed_joints, is_angular};
use super::plan::JointPlan;
use super::{Scene, codes, engine};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{Joint, JointId, SelfCollision};
use urdf_usd_usd_author::numbers::{degrees, joint_axis};
use urdf_usd_usd_author::{Attribute, Layer, Relationship};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Drives and what UsdPhysics cannot say, in the words of PhysX",
    );
    layer.over(&root);
    let self_collision = scene.robot.simulation().self_collision;
    for path in &scene.plan.articulation_roots {
        layer.over(path).apply(["PhysxArticulationAPI"]).attribute(
            "physxArticulation:enabledSelfCollisions",
            Attribute::bool(self_collision != SelfCollision::None),
        );
    }
    engine::author_drives(scene, &mut layer);
    let start = engine::start(scene);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            author_joint(scene, &mut layer, id, joint, plan);
            if let Some(position) = start.get(&id) {
                author_state(&mut layer, joint, plan, *position);
            }
        }
    }
    for (joint, following) in followed_joints(scene, &codes::PHYSX_MIMIC, diagnostics) {
        author_mimic(scene, &mut layer, joint, &following);
    }
    layer
}

/// Authors PhysxJointAPI (armature, speed limit) and PhysxJointAxisAPI (friction, damping).
fn author_joint(
    scene: &Scene<'_>,
    layer: &mut Layer,
    id: JointId,
    joint: &Joint,
    plan: &JointPlan,
) {
    let Some(is_angular) = is_angular(joint.kind()) else {
        return;
    };
    let passive = engine::passive(scene, id, joint);
    let instance = if is_angular { "angular" } else { "linear" };
    let rate = |rate: f64| {
        if is_angular {
            degrees(rate)
        } else {
            rate as f32
        }
    };
    let mut prim = layer.over(&plan.path);
    let of_joint = [
        (
            "physxJoint:armature",
            passive.armature.map(|armature| armature as f32),
        ),
        ("physxJoint:maxJointVelocity", passive.velocity.map(rate)),
    ];
    for (name, value) in of_joint
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        prim.apply(["PhysxJointAPI"])
            .attribute(name, Attribute::float(value));
    }
    let friction = passive
        .friction
        .filter(|friction| *friction > 0.0)
        .map(|friction| friction as f32);
    let damping = passive.damping.filter(|damping| *damping > 0.0);
    let damping = damping.map(|damping| if is_angular { damping.to_radians() } else { damping } as f32);
    let of_axis = [
        ("staticFrictionEffort", friction),
        ("dynamicFrictionEffort", friction),
        ("viscousFrictionCoefficient", damping),
    ];
    for (name, value) in of_axis
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        prim.apply([format!("PhysxJointAxisAPI:{instance}").as_str()])
            .attribute(
                &format!("physxJointAxis:{instance}:{name}"),
                Attribute::float(value),
            );
    }
}

/// Authors the position of a joint at the start.
fn author_state(layer: &mut Layer, joint: &Joint, plan: &JointPlan, position: f64) {
    let Some(is_angular) = is_angular(joint.kind()) else {
        return;
    };
    let (instance, position) = if is_angular {
        ("angular", degrees(position))
    } else {
        ("linear", position as f32)
    };
    layer
        .over(&plan.path)
        .apply([format!("PhysicsJointStateAPI:{instance}").as_str()])
        .attribute(
            &format!("state:{instance}:physics:position"),
            Attribute::float(position),
        );
}

/// Authors PhysxMimicJointAPI: position + gearing · position of the leader + offset = 0.
fn author_mimic(scene: &Scene<'_>, layer: &mut Layer, joint: JointId, following: &Following<'_>) {
    let joints = scene.robot.joints();
    let [axis, leader_axis] = [joint, following.mimic.joint].map(|id| {
        let (axis, _) = joint_axis(&joints[id].axis);
        format!("rot{axis}")
    });
    let mimic = &following.mimic;
    let offset = if is_angular(joints[joint].kind()) == Some(true) {
        degrees(mimic.offset)
    } else {
        mimic.offset as f32
    };
    let name = |name: &str| format!("physxMimicJoint:{axis}:{name}");
    layer
        .over(&following.plan.path)
        .apply([format!("PhysxMimicJointAPI:{axis}").as_str()])
        .attribute(&name("gearing"), Attribute::float(-mimic.multiplier as f32))
        .attribute(&name("offset"), Attribute::float(-offset))
        .relationship(
            &name("referenceJoint"),
            Relationship::to([following.leader]),
        )
        .attribute(
            &name("referenceJointAxis"),
            Attribute::token(leader_axis).uniform(),
        );
}
