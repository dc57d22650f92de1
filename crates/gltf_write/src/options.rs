//! What to write, and how.

use super::compact::Compression;
use super::images::Images;
use urdf_usd_gltf_extension::source::Source;
use urdf_usd_robot::Base;
use urdf_usd_store::time_limit::TimeLimit;

/// What to write beside the robot itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the robot was made from, for the model's `source`.
    pub source: Option<Source>,
    /// What else there is in the file.
    pub extent: Extent,
    /// Whether the base is held to the world. Counts with [`Extent::physics`].
    pub base: Base,
    /// Images that are made already.
    pub images: Images,
    /// How long it may take; when that is over, what was written so far is returned.
    pub limit: TimeLimit,
}

/// What is in a file beside the robot that every viewer shows, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Extent {
    /// An animation per joint, from its lower to its upper limit.
    pub animations: bool,
    /// `KHR_implicit_shapes` and `KHR_physics_rigid_bodies`.
    pub physics: bool,
    /// How triangles are stored.
    pub compression: Compression,
}
