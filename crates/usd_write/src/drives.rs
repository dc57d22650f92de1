//! Drives of joints (PhysicsDriveAPI): the gains with which a joint follows its command.
//!
//! The neutral layers have the gains of the source, and only its effort limit where it gives none.
//! Layers for engines have those of [`Actuation`].

use urdf_usd_robot::{Actuation, Basis, Drive, Joint, JointKind};
use urdf_usd_usd_author::layout::DRIVE_ASSUMED;
use urdf_usd_usd_author::numbers::degrees;
use urdf_usd_usd_author::{Attribute, Prim};

/// The drive of a joint with one degree of freedom, in USD's units: per degree, if it is angular.
struct Instance {
    name: &'static str,
    is_angular: bool,
}

impl Instance {
    /// Returns the instance of a joint; `None` without exactly one degree of freedom.
    fn of(joint: &Joint) -> Option<Self> {
        let (name, is_angular) = match joint.kind() {
            JointKind::Revolute | JointKind::Continuous => ("angular", true),
            JointKind::Prismatic => ("linear", false),
            JointKind::Fixed | JointKind::Planar | JointKind::Floating => return None,
        };
        Some(Self { name, is_angular })
    }

    fn apply(&self, prim: &mut Prim<'_>) {
        prim.apply([format!("PhysicsDriveAPI:{}", self.name).as_str()]);
    }

    fn set(&self, prim: &mut Prim<'_>, name: &str, value: Attribute) {
        prim.attribute(&format!("drive:{}:physics:{name}", self.name), value);
    }

    fn gain(&self, gain: f64) -> Attribute {
        Attribute::float(if self.is_angular {
            gain.to_radians()
        } else {
            gain
        } as f32)
    }

    fn position(&self, position: f64) -> f32 {
        if self.is_angular {
            degrees(position)
        } else {
            position as f32
        }
    }
}

/// Authors the drive that the source gives a joint.
pub(super) fn author(prim: &mut Prim<'_>, joint: &Joint, drive: &Drive) {
    let Some(instance) = Instance::of(joint) else {
        return;
    };
    instance.apply(prim);
    let is_acceleration = drive.gains.is_some_and(|gains| gains.is_acceleration);
    let kind = if is_acceleration {
        "acceleration"
    } else {
        "force"
    };
    instance.set(prim, "type", Attribute::token(kind).uniform());
    let effort = joint.limit.and_then(|limit| limit.effort);
    let (force, position, velocity) = match drive.gains {
        Some(gains) => {
            instance.set(prim, "stiffness", instance.gain(gains.stiffness));
            instance.set(prim, "damping", instance.gain(gains.damping));
            (
                gains.max_force,
                gains.target_position,
                gains.target_velocity,
            )
        }
        // Many URDFs write an effort of 0 for "unknown".
        None => (
            effort.filter(|effort| *effort > 0.0),
            drive.initial_position,
            None,
        ),
    };
    if let Some(force) = force {
        instance.set(prim, "maxForce", Attribute::float(force as f32));
    }
    for (name, target) in [("targetPosition", position), ("targetVelocity", velocity)] {
        if let Some(target) = target {
            instance.set(prim, name, Attribute::float(instance.position(target)));
        }
    }
}

/// Authors the drive of a joint for simulations.
pub(super) fn author_actuation(prim: &mut Prim<'_>, joint: &Joint, actuation: &Actuation) {
    let Some(instance) = Instance::of(joint) else {
        return;
    };
    instance.apply(prim);
    instance.set(prim, "type", Attribute::token("force").uniform());
    instance.set(prim, "stiffness", instance.gain(actuation.stiffness));
    instance.set(prim, "damping", instance.gain(actuation.damping));
    if let Some(force) = actuation.max_force {
        instance.set(prim, "maxForce", Attribute::float(force as f32));
    }
    let target = Attribute::float(instance.position(actuation.target));
    instance.set(prim, "targetPosition", target);
    if actuation.basis == Basis::Assumed {
        prim.attribute(DRIVE_ASSUMED, Attribute::bool(true).uniform().custom());
    }
}
