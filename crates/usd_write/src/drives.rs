//! Drives of joints (PhysicsDriveAPI): the gains with which a joint follows its command.
//!
//! The neutral layers have the gains of the source, and only its effort limit where it gives none.
//! Layers for engines have those of [`Actuation`].

use urdf_usd_robot::{Actuation, Drive, Joint, JointKind};
use urdf_usd_usd_author::dialects::Motion;
use urdf_usd_usd_author::layout::DRIVE_ASSUMED;
use urdf_usd_usd_author::numbers::degrees;
use urdf_usd_usd_author::{Attribute, Prim};

/// The degree of freedom of a joint that has one, with USD's units: degrees, if it is angular.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Dof {
    /// Instance name of its schemas: `angular` or `linear`.
    pub(super) instance: &'static str,
}

const ANGULAR: Dof = Dof {
    instance: "angular",
};
const LINEAR: Dof = Dof { instance: "linear" };

impl Dof {
    /// Returns the degree of freedom of a joint; `None` if it does not have exactly one.
    pub(super) fn of(joint: &Joint) -> Option<Self> {
        match joint.kind() {
            JointKind::Revolute | JointKind::Continuous => Some(ANGULAR),
            JointKind::Prismatic => Some(LINEAR),
            JointKind::Fixed | JointKind::Planar | JointKind::Floating => None,
        }
    }

    /// Returns the motion that determines the units of words of engines.
    pub(super) fn motion(self) -> Motion {
        if self == ANGULAR {
            Motion::Angular
        } else {
            Motion::Linear
        }
    }

    /// Converts a position or velocity to USD's units.
    pub(super) fn position(self, position: f64) -> f32 {
        if self == ANGULAR {
            degrees(position)
        } else {
            position as f32
        }
    }

    /// Converts a stiffness or damping to USD's units.
    pub(super) fn gain(self, gain: f64) -> f32 {
        (if self == ANGULAR {
            gain.to_radians()
        } else {
            gain
        }) as f32
    }

    fn apply(self, prim: &mut Prim<'_>) {
        prim.apply([format!("PhysicsDriveAPI:{}", self.instance).as_str()]);
    }

    fn set(self, prim: &mut Prim<'_>, name: &str, value: Attribute) {
        prim.attribute(&format!("drive:{}:physics:{name}", self.instance), value);
    }
}

/// Authors the drive that the source gives a joint.
pub(super) fn author(prim: &mut Prim<'_>, joint: &Joint, drive: &Drive) {
    let Some(dof) = Dof::of(joint) else {
        return;
    };
    dof.apply(prim);
    let is_acceleration = drive.gains.is_some_and(|gains| gains.is_acceleration);
    let kind = if is_acceleration {
        "acceleration"
    } else {
        "force"
    };
    dof.set(prim, "type", Attribute::token(kind).uniform());
    let effort = joint.limit.and_then(|limit| limit.effort);
    let (force, position, velocity) = match drive.gains {
        Some(gains) => {
            dof.set(
                prim,
                "stiffness",
                Attribute::float(dof.gain(gains.stiffness)),
            );
            dof.set(prim, "damping", Attribute::float(dof.gain(gains.damping)));
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
        dof.set(prim, "maxForce", Attribute::float(force as f32));
    }
    for (name, target) in [("targetPosition", position), ("targetVelocity", velocity)] {
        if let Some(target) = target {
            dof.set(prim, name, Attribute::float(dof.position(target)));
        }
    }
}

/// Authors the drive of a joint for simulations.
pub(super) fn author_actuation(prim: &mut Prim<'_>, joint: &Joint, actuation: &Actuation) {
    let Some(dof) = Dof::of(joint) else {
        return;
    };
    dof.apply(prim);
    dof.set(prim, "type", Attribute::token("force").uniform());
    dof.set(
        prim,
        "stiffness",
        Attribute::float(dof.gain(actuation.stiffness)),
    );
    dof.set(
        prim,
        "damping",
        Attribute::float(dof.gain(actuation.damping)),
    );
    if let Some(force) = actuation.max_force {
        dof.set(prim, "maxForce", Attribute::float(force as f32));
    }
    let target = Attribute::float(dof.position(actuation.target));
    dof.set(prim, "targetPosition", target);
    if actuation.is_assumed {
        prim.attribute(DRIVE_ASSUMED, Attribute::bool(true).uniform().custom());
    }
}
