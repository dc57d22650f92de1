//! `extended_physics.usda`: mimic joints as ExtendedPhysicsMimicAPI (REP-158 §4.2.2), only where the robot has any.

use super::Scene;
use super::author::{Attribute, Layer, Relationship};
use crate::robot::JointKind;

pub(super) fn layer(scene: &Scene<'_>) -> Option<Layer> {
    let (mut layer, _) = super::layer(scene, "ext_physics:* (mimic joints)");
    let mut any = false;
    for (joint, plan) in scene.robot.joints.iter().zip(&scene.plan.joints) {
        let (Some(plan), Some(mimic)) = (plan, joint.mimic) else { continue };
        let Some(leader) = &scene.plan.joints[mimic.joint.0] else { continue };
        any = true;
        // The offset is a position of the follower: degrees where that is an angle.
        let turns = matches!(joint.kind, JointKind::Revolute | JointKind::Continuous);
        let offset = if turns { mimic.offset.to_degrees() } else { mimic.offset };
        layer
            .over(&plan.path)
            .apply(["ExtendedPhysicsMimicAPI"])
            .attribute("ext_physics:mimic:multiplier", Attribute::float(mimic.multiplier as f32))
            .attribute("ext_physics:mimic:offset", Attribute::float(offset as f32))
            .relationship("ext_physics:mimic:joint", Relationship::to([&leader.path]));
    }
    any.then_some(layer)
}
