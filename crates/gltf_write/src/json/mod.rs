//! The JSON of a glTF 2.0 document, as this project writes it. Only shapes: nothing here decides
//! anything or knows robots.

pub mod document;
pub mod extras;
pub mod kinematics;
pub mod lights;
pub mod limit;
pub mod physics;
pub mod planning;
pub mod values;
