//! A robot's kinematics: where its links are, how they move, what holds them, and which joint
//! positions bring a link where it is wanted.
//!
//! [`Mechanism::of`] makes a [`Robot`](urdf_usd_robot::Robot) ready: every joint, mimic joints
//! included, becomes steps of one degree of freedom on flat arrays. From then on nothing is
//! allocated.
//!
//! - [`Mechanism::forward_all`]: where all links are.
//! - [`Chain`]: one link as seen from another, with the Jacobian.
//! - [`Mechanism::centre_of_mass`], [`Mechanism::mass_matrix`], [`Mechanism::gravity_forces`],
//!   [`Mechanism::forces`]: dynamics.
//! - [`Stance`]: a robot in the world: joint positions set on it, and read from where its links
//!   are.
//! - [`ik`]: inverse kinematics.
//!
//! Metres, radians, kilograms, newtons; double precision. This crate must not know files, formats,
//! threads or clocks.

#![allow(
    clippy::indexing_slicing,
    reason = "indices of steps, links and coordinates are made here, of the arrays that they index; those of callers are looked up by `get`"
)]

mod chain;
pub mod codes;
mod dynamics;
pub mod ik;
mod mechanism;
pub mod names;
mod random;
mod stance;
mod transform;

pub use chain::{Chain, ChainJoint, Reference};
pub use dynamics::GRAVITY;
pub use mechanism::{Coordinate, Data, Mechanism};
pub use random::Random;
pub use stance::{Misfit, Stance};
pub use transform::{PoseError, Transform, pose_error};

use urdf_usd_robot::{JointId, LinkId};

/// Why something can't be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such link.
    #[error("there is no link {}", .0.0)]
    NoLink(LinkId),
    /// There is no such joint.
    #[error("there is no joint {}", .0.0)]
    NoJoint(JointId),
    /// No joints lead from one link to the other.
    #[error("no joints lead from link {} to link {}", .base.0, .tip.0)]
    NoWay {
        /// The one.
        base: LinkId,
        /// The other.
        tip: LinkId,
    },
    /// A joint has another number of positions than were given.
    #[error("joint {} has {has} positions, not {given}", .joint.0)]
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
