//! Contents that the overlays of several engines share.

use std::collections::HashMap;

use super::{Scene, drives};
use urdf_usd_robot::{Joint, JointId};
use urdf_usd_usd_author::Layer;

/// Passive behaviour of a joint for simulations, in SI units; nothing that is negative or not finite.
pub(super) struct Passive {
    /// N·m·s/rad or N·s/m.
    pub(super) damping: Option<f64>,
    /// N·m or N.
    pub(super) friction: Option<f64>,
    /// Maximum speed, rad/s or m/s; above zero.
    pub(super) velocity: Option<f64>,
    /// kg·m² or kg.
    pub(super) armature: Option<f64>,
}

/// Returns the passive behaviour of a joint: that of the source, and what the user gives for its drive.
pub(super) fn passive(scene: &Scene<'_>, id: JointId, joint: &Joint) -> Passive {
    let dynamics = joint.dynamics.unwrap_or_default();
    let actuation = scene.robot.simulation().actuation.get(&id);
    let in_range = |value: &f64| value.is_finite() && *value >= 0.0;
    let friction = actuation
        .and_then(|actuation| actuation.friction)
        .or(dynamics.friction);
    let velocity = joint.limit.and_then(|limit| limit.velocity);
    Passive {
        damping: dynamics.damping.filter(in_range),
        friction: friction.filter(in_range),
        // Many URDFs write a velocity of 0 for "unknown"; engines would lock the joint.
        velocity: velocity.filter(|velocity| in_range(velocity) && *velocity > 0.0),
        armature: actuation.and_then(|actuation| actuation.armature),
    }
}

/// Authors the drives of all joints.
pub(super) fn author_drives(scene: &Scene<'_>, layer: &mut Layer) {
    for (id, actuation) in &scene.robot.simulation().actuation {
        if let Some(plan) = &scene.plan.joints[*id] {
            drives::author_actuation(
                &mut layer.over(&plan.path),
                &scene.robot.joints()[*id],
                actuation,
            );
        }
    }
}

/// Returns the positions of joints with one degree of freedom at the start, radians or metres, followers
/// included; empty if the robot starts with all joints at zero.
pub(super) fn start(scene: &Scene<'_>) -> HashMap<JointId, f64> {
    let robot = scene.robot;
    let Some(home) = &robot.simulation().home else {
        return HashMap::new();
    };
    let model = urdf_usd_robot::kinematics::Model::of(robot);
    let positions = robot.positions(&model, Some(home));
    let joints = robot.joints().handles();
    joints
        .filter_map(|id| match positions.get(model.range(id.index()))? {
            [position] => Some((id, *position)),
            _ => None,
        })
        .collect()
}
