//! A robot as one binary glTF 2.0 file with EXT_robot_kinematics: [`write()`] and [`read()`] are
//! the entry points, and [`check::check`].
//!
//! The file shows the robot in any glTF viewer; a viewer that knows the extension can also move it.
//! Everything is in glTF's axes. Visuals have materials; colliders are there too, but no viewer
//! draws them: their nodes carry `KHR_node_visibility`, and their material is invisible for viewers
//! without it.
//!
//! | folder | what it is | what it uses of the others |
//! |---|---|---|
//! | `extension` | EXT_robot_kinematics as it stands in a file: words, numbers, places | nothing |
//! | `json` | the shapes of what is written | `extension` |
//! | `write` | a robot as `json` and a buffer | `json`, `extension` |
//! | `read` | a file as robots | `extension` |
//! | `check` | what a file breaks of the extension's rules; it knows no robots | `extension` |
//!
//! The files beside them are small, are for several of them, and use none of them but `extension`.
//!
//! This crate must not know URDF, files, ROS or HTTP: meshes and textures are in the
//! [`Robot`](urdf_usd_robot::Robot) already.

mod axes;
mod cameras;
pub mod check;
mod extension;
mod glb;
mod instances;
mod json;
mod kinds;
mod lights;
pub mod read;
mod source;
mod unpainted;
mod write;

pub use read::read;
pub use source::Source;
pub use write::{
    Compression, Extent, GlbError, Images, Options, Written, codes, write, write_mesh,
};
