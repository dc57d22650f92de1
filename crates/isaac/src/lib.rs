//! The Isaac robot schema on OpenUSD assets of anybody's: which links, joints and sites a robot has
//! ([`LinkTree`], [`all_links`]), its lists written ([`populate`], [`recalculate`]), checked
//! ([`validate`]) and brought up to date ([`migrate()`]); and its named poses kept as data
//! ([`poses`]).
//!
//! Nothing is written into the files of an asset: all that is authored goes into an overlay
//! ([`Edit`]), a layer of its own with an entry of its own, stronger than the asset.
//!
//! This module must not know URDF, glTF, ROS or where a robot comes from.

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
