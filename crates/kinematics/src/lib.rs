//! Kinematics and dynamics of a robot: poses of its links, Jacobians, forces, and inverse
//! kinematics.
//!
//! [`Mechanism::of`] prepares a [`Robot`](urdf_usd_robot::Robot): every joint, mimic joints
//! included, becomes steps of one degree of freedom on flat arrays. Later computations don't
//! allocate, except for batches.
//!
//! - [`Mechanism::poses`]: where all links are
//!   ([`Model`](urdf_usd_robot::kinematics::Model) for coordinates).
//! - [`Chain`]: one link as seen from another, with the Jacobian.
//! - [`Mechanism::centre_of_mass`], [`Mechanism::gravity_forces`], [`Mechanism::forces`]: dynamics.
//! - [`Mechanism::batch_poses`], [`Mechanism::batch_mass_matrices`],
//!   [`Mechanism::batch_gravity_forces`], [`Chain::batch_poses`], [`Chain::batch_jacobians`]: many
//!   configurations, several at a time in vector registers.
//! - [`Stance`]: a robot in the world: joint positions set on it, and read from where its links
//!   are.
//! - [`ik`]: inverse kinematics.
//!
//! Metres, radians, kilograms, newtons; double precision. This crate must not know files, formats,
//! threads or clocks.

mod batch;
mod chain;
pub mod codes;
mod dynamics;
pub mod ik;
mod lanes;
mod mechanism;
pub mod names;
mod stance;
mod transform;

pub use batch::POSE;
pub use chain::{Chain, ChainJoint, Reference, Twist};
pub use dynamics::GRAVITY;
pub use mechanism::{Coordinate, Data, Mechanism};
pub use stance::{Misfit, Stance};
pub use transform::{PoseError, Transform, pose_error};

pub use urdf_usd_geometry::Random;
use urdf_usd_robot::{JointId, LinkId};

/// Errors of queries about a robot's kinematics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two links are not in the same tree.
    #[error("no joints lead from link {} to link {}", .base.index(), .tip.index())]
    NoWay {
        /// The base of the chain.
        base: LinkId,
        /// The tip of the chain.
        tip: LinkId,
    },
    /// The wrong number of positions was given for a joint.
    #[error("joint {} has {has} positions, not {given}", .joint.index())]
    Positions {
        /// The joint.
        joint: JointId,
        /// Number of positions that it has.
        has: usize,
        /// Number of positions given.
        given: usize,
    },
}

#[cfg(test)]
mod tests;
