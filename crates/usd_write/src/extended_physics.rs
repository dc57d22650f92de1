//! `extended_physics.usda`: mimic joints as ExtendedPhysicsMimicAPI (REP-158 §4.2.2), only where
//! the robot has any.

use super::Scene;
use urdf_usd_robot::JointKind;
use urdf_usd_usd_author::{Attribute, Layer, Relationship};

pub(super) fn layer(scene: &Scene<'_>) -> Option<Layer> {
    let (mut layer, _) = super::layer(scene, "ext_physics:* (mimic joints)");
    let mut any = false;
    for (joint, plan) in scene
        .robot
        .joints()
        .values()
        .zip(scene.plan.joints.values())
    {
        let (Some(plan), Some(mimic)) = (plan, joint.mimic()) else {
            continue;
        };
        let Some(leader) = &scene.plan.joints[mimic.joint] else {
            continue;
        };
        any = true;
        // USD's positions are in degrees if they are angles: the offset is in the follower's unit,
        // and the multiplier converts the leader's unit to the follower's.
        let unit = |kind| {
            if matches!(kind, JointKind::Revolute | JointKind::Continuous) {
                1.0_f64.to_degrees()
            } else {
                1.0
            }
        };
        let (follower, led_by) = (
            unit(joint.kind()),
            unit(scene.robot.joints()[mimic.joint].kind()),
        );
        let (multiplier, offset) = (
            mimic.multiplier * follower / led_by,
            mimic.offset * follower,
        );
        layer
            .over(&plan.path)
            .apply(["ExtendedPhysicsMimicAPI"])
            .attribute(
                "ext_physics:mimic:multiplier",
                Attribute::float(multiplier as f32),
            )
            .attribute("ext_physics:mimic:offset", Attribute::float(offset as f32))
            .relationship("ext_physics:mimic:joint", Relationship::to([&leader.path]));
    }
    any.then_some(layer)
}
