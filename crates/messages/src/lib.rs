//! The messages and services of the ROS 2 package `urdf_usd`, generated from `msg/` and `srv/` at
//! the root of the repository.
//!
//! The halves of a service are named after it: [`Convert`] takes a [`ConvertRequest`] and returns a
//! [`ConvertResponse`].

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

#[cfg(test)]
mod tests;
