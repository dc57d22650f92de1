//! A robot's kinematics: where its links are, how they move, what holds them, and which joint
//! positions bring a link where it is wanted.
//!
//! [`Mechanism::of`] makes a [`Robot`](urdf_usd_robot::Robot) ready: every joint, mimic joints
//! included, becomes steps of one degree of freedom on flat arrays. From then on nothing is
//! allocated.
//!
//! - [`Mechanism::poses`]: where all links are
//!   ([`Model`](urdf_usd_robot::kinematics::Model) for coordinates).
//! - [`Chain`]: one link as seen from another, with the Jacobian.
//! - [`Mechanism::centre_of_mass`], [`Mechanism::mass_matrix`], [`Mechanism::gravity_forces`],
//!   [`Mechanism::forces`]: dynamics.
//! - [`Stance`]: a robot in the world: joint positions set on it, and read from where its links
//!   are.
//! - [`ik`]: inverse kinematics.
//!
//! Metres, radians, kilograms, newtons; double precision. This crate must not know files, formats,
//! threads or clocks.

mod chain;
pub mod codes;
mod dynamics;
pub mod ik;
mod mechanism;
pub mod names;
mod stance;
mod transform;

pub use chain::{Chain, ChainJoint, Reference, Twist};
pub use dynamics::GRAVITY;
pub use mechanism::{Coordinate, Data, Mechanism};
pub use stance::{Misfit, Stance};
pub use transform::{PoseError, Transform, pose_error};

pub use urdf_usd_geometry::Random;
use urdf_usd_robot::{JointId, LinkId};

/// Why something can't be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No joints lead from one link to the other.
    #[error("no joints lead from link {} to link {}", .base.index(), .tip.index())]
    NoWay {
        /// The one.
        base: LinkId,
        /// The other.
        tip: LinkId,
    },
    /// A joint has another number of positions than were given.
    #[error("joint {} has {has} positions, not {given}", .joint.index())]
    Positions {
        /// The joint.
        joint: JointId,
        /// How many it has.
        has: usize,
        /// How many were given.
        given: usize,
    },
}

#[cfg(test)]
mod tests;
