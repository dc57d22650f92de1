//! The syntax of XML and YAML: [`xml`] as writers of robot descriptions write it, [`yaml`] with the
//! place of every value.
//!
//! It must not know robots, nor what a text is for.

pub mod xml;
pub mod yaml;
