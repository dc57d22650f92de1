//! Robots out of ROS, into OpenUSD (REP-158) and glTF (EXT_robot_kinematics).
//!
//! One engine behind three doors: the node `bridge`, the command `urdf_usd`, and this library. A value travels one way: text →
//! reader ([`urdf::read`]) → [`robot::Robot`] → writer ([`usd::write`], [`gltf::write`]) → files.

pub mod bridge;
pub mod cli;
pub mod codes;
pub mod convert;
pub mod diagnostic;
pub mod gltf;
pub mod mesh;
pub mod picture;
pub mod resolve;
pub mod robot;
pub mod ros;
pub mod serve;
pub mod srdf;
pub mod store;
pub mod time_limit;
pub mod urdf;
pub mod usd;
pub mod view;
pub mod xacro;
pub mod xrdf;
mod yaml;
