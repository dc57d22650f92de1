//! Options of the writer.

use super::compact::Compression;
use super::images::Images;
use urdf_usd_gltf_extension::source::Source;
use urdf_usd_robot::Base;
use urdf_usd_store::time_limit::TimeLimit;

/// Options of the writer.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Origin of the robot, for the model's `source`.
    pub source: Option<Source>,
    /// Optional parts of the file, and their encoding.
    pub extent: Extent,
    /// Whether the base is fixed to the world. Used with [`Extent::physics`] only.
    pub base: Base,
    /// Images that have been converted before.
    pub images: Images,
    /// Time limit. When it is exceeded, the file is returned incomplete.
    pub limit: TimeLimit,
}

/// Optional parts of a file, and the encoding of its triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Extent {
    /// Writes an animation per joint, from its lower to its upper limit.
    pub animations: bool,
    /// Writes `KHR_implicit_shapes` and `KHR_physics_rigid_bodies`.
    pub physics: bool,
    /// Encoding of triangles.
    pub compression: Compression,
}
