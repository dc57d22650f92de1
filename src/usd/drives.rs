//! Drives of joints (PhysicsDriveAPI): which gains make a joint follow its command.
//!
//! A URDF says that a joint is driven and how strong, not how stiff. Gains are made from what the joint carries, so that every
//! joint, of a finger or of a shoulder, answers alike: as a critically damped oscillator of [`FREQUENCY`].

use super::Scene;
use super::author::{Attribute, Prim};
use super::numbers::degrees;
use super::physics::mass_of;
use crate::robot::{Command, Drive, JointId, JointKind};

/// Hz. Ten times what an arm's controller follows; within what a simulation at 100 steps a second and more can integrate.
const FREQUENCY: f64 = 10.0;

/// Authors the drive of a joint on its prim: `angular` or `linear`, of type force, in USD's units (per degree).
pub(super) fn author(scene: &Scene<'_>, prim: &mut Prim<'_>, id: JointId, drive: &Drive) {
    let joint = &scene.robot.joints[id.0];
    let (instance, per_unit): (_, fn(f64) -> f64) = match joint.kind {
        JointKind::Revolute | JointKind::Continuous => ("angular", f64::to_radians),
        JointKind::Prismatic => ("linear", |gain| gain),
        _ => return,
    };
    let frequency = std::f64::consts::TAU * FREQUENCY;
    let carried = carried_inertia(scene, id);
    let (stiffness, damping) = match drive.command {
        Command::Position => (carried * frequency * frequency, 2.0 * carried * frequency),
        Command::Velocity => (0.0, 2.0 * carried * frequency),
        Command::Effort => (0.0, 0.0),
    };
    prim.apply([format!("PhysicsDriveAPI:{instance}").as_str()]);
    let mut set = |name: &str, value: Attribute| {
        prim.attribute(&format!("drive:{instance}:physics:{name}"), value);
    };
    set("type", Attribute::token("force").uniform());
    set("stiffness", Attribute::float(per_unit(stiffness) as f32));
    set("damping", Attribute::float(per_unit(damping) as f32));
    // An effort of 0 is how many a URDF says that it doesn't know.
    if let Some(effort) = joint.limit.and_then(|limit| limit.effort).filter(|&effort| effort > 0.0) {
        set("maxForce", Attribute::float(effort as f32));
    }
    if let Some(position) = drive.initial_position {
        let target = if instance == "angular" { degrees(position) } else { position as f32 };
        set("targetPosition", Attribute::float(target));
    }
}

/// What a joint moves: kg·m² about its axis, or kg along it, with all joints at zero.
fn carried_inertia(scene: &Scene<'_>, id: JointId) -> f64 {
    let (robot, plan) = (scene.robot, &scene.plan);
    let joint = &robot.joints[id.0];
    let frame = plan.links[joint.child.0].rest;
    let axis = frame.rotation * joint.axis.into_inner();
    let mut carried = 0.0;
    let mut stack = vec![joint.child];
    while let Some(link) = stack.pop() {
        let below = robot.tree.child_joints[link.0].iter().map(|j| &robot.joints[j.0]);
        // What floats is not carried.
        stack.extend(below.filter(|joint| joint.kind != JointKind::Floating).map(|joint| joint.child));
        let Some(mass) = mass_of(scene, link) else { continue };
        carried += match joint.kind {
            JointKind::Prismatic => mass.mass,
            _ => {
                let rest = &plan.links[link.0].rest;
                let arm = rest * nalgebra::Point3::from(mass.centre) - nalgebra::Point3::from(frame.translation.vector);
                let own = (rest.rotation * mass.axes).inverse() * axis;
                mass.mass * arm.cross(&axis).norm_squared() + own.component_mul(&own).dot(&mass.moments)
            }
        };
    }
    carried
}
