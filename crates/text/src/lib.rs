//! Syntax of XML and YAML.
//!
//! [`xml`] writes documents in the style of robot descriptions; [`yaml`] reads a tree with the
//! position of every value. This crate knows nothing of robots, nor of the purpose of a text.

pub mod xml;
pub mod yaml;
