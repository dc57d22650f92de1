//! Reads ROS 2 interface definitions (`.msg`, `.srv`) and generates Rust types from them.
//!
//! For build scripts: [`read_package`] reads the definitions of a ROS package, and [`rust`] writes
//! a module with its types. The generated code needs `serde`, and implements the traits of
//! `urdf_usd_ros::msg`.
//!
//! It supports everything that `.msg` and `.srv` files may contain
//! (<https://docs.ros.org/en/jazzy/Concepts/Basic/About-Interfaces.html>), except `wstring` and
//! defaults of arrays. Unsupported lines are errors with file and line.

mod definition;
mod rust;

pub use definition::{
    Base, Constant, Container, Definition, Error, Field, FieldType, Kind, Part, Primitive,
    read_package,
};
pub use rust::{Options, rust};
