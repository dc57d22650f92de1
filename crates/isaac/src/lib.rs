//! The Isaac robot schema on any OpenUSD asset.
//!
//! Finds the links, joints and sites of a robot ([`LinkTree`], [`all_links`]), writes its lists
//! ([`populate`], [`recalculate`]), validates them ([`validate`]), migrates older versions of the
//! schema ([`migrate()`]), and manages named poses ([`poses`]).
//!
//! The files of an asset are not changed: everything is authored in an overlay ([`Edit`]), a stronger
//! layer with a separate entry.
//!
//! This crate must not depend on URDF, glTF, ROS or the origin of a robot.

mod articulation;
pub mod codes;
mod migrate;
mod overlay;
mod populate;
pub mod poses;
mod report;
#[cfg(test)]
mod tests;
mod tree;
mod validate;
mod view;

pub use articulation::{Articulation, articulation};
pub use migrate::{Migrated, ensure_prepended, migrate, migrate_dof_order};
pub use overlay::{Edit, Error, Label, Saved};
pub use populate::{Populated, Sites, detect_sites, populate, recalculate};
pub use tree::{LinkNode, LinkTree, all_joints, all_links, joint_pose};
pub use urdf_usd_stage::PrimId;
pub use validate::{Targets, targets, validate};
pub use view::View;
