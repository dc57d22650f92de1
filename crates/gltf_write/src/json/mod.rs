//! JSON of a glTF 2.0 document, as this project writes it.
//!
//! These modules only declare the structure of the document: they make no decisions and don't know
//! robots.

pub mod document;
pub mod extras;
pub mod kinematics;
pub mod lights;
pub mod limit;
pub mod physics;
pub mod planning;
pub mod values;
