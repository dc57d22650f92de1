//! The node: hears descriptions, converts them, announces and serves what was written, and holds
//! its frames against TF.
//!
//! It is written against [`urdf_usd_ros::Node`] alone. What it decides is in small modules without
//! a network: [`schedule`] (what comes next), [`fingerprint`] (whether anything changed),
//! [`request`] (what a call may ask); [`engine`] connects them. It must not know what is in an
//! asset's files.

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
mod schedule;
mod tf_messages;

pub use launch::main;
pub(crate) use launch::{NAME, Ready};
pub(crate) use request::size;
pub use tf_messages::verdict;
