//! The ROS node: converts descriptions, announces and serves the assets, and compares their frames
//! with TF.
//!
//! It is written against [`urdf_usd_ros::Node`] alone. Decisions are in small modules without I/O:
//! [`schedule`] (which job is next), [`fingerprint`] (whether inputs changed), [`request`] (what a
//! call may ask for); [`engine`] connects them. It does not depend on the content of an asset's
//! files.

mod asset_paths;
mod capture;
pub mod check;
pub mod codes;
pub mod demo;
mod description_publishers;
mod description_source;
mod descriptors;
mod engine;
#[cfg(test)]
mod fake;
mod fingerprint;
mod jobs;
mod launch;
mod name;
mod namespace_subscriptions;
mod ownership;
pub mod parameters;
mod parts;
pub mod process;
mod request;
mod robots;
mod ros_time;
mod schedule;
mod tf_messages;

pub(crate) use launch::{NAME, Ready};
pub use launch::{help, main};
pub(crate) use request::size;
pub use tf_messages::verdict;
