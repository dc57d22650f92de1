//! Robots out of ROS, into OpenUSD (REP-158) and glTF (EXT_robot_kinematics).
//!
//! One engine behind three entry points: the node `bridge`, the command `urdf_usd`, and this
//! library. A value travels one way: text → reader ([`urdf::read`]) → [`robot::Robot`] → writer
//! ([`usd::write`], [`gltf::write`]) → files.

#![forbid(unsafe_code)]

pub mod bridge;
pub mod cli;
pub mod codes;
pub mod demo;
mod poses;
mod process;
pub mod serve;
mod variants;
pub mod view;
pub mod worker;

pub use urdf_usd_convert as convert;
pub use urdf_usd_diagnostic as diagnostic;
pub use urdf_usd_fix as fix;
pub use urdf_usd_gltf as gltf;
pub use urdf_usd_isaac as isaac;
pub use urdf_usd_kinematics as kinematics;
pub use urdf_usd_mesh as mesh;
pub use urdf_usd_mjcf as mjcf;
pub use urdf_usd_rep158 as rep158;
pub use urdf_usd_resolve as resolve;
pub use urdf_usd_robot as robot;
pub use urdf_usd_ros as ros;
pub use urdf_usd_sdf as sdf;
pub use urdf_usd_spheres as spheres;
pub use urdf_usd_store as store;
pub use urdf_usd_tf_check as tf_check;
pub use urdf_usd_urdf as urdf;
pub use urdf_usd_urdf::{srdf, xacro, xrdf};
pub use urdf_usd_usd as usd;
