//! The rules, one file per group. Each looks at the whole asset and reports what breaks it.

pub mod animations;
pub mod axes;
pub mod chains;
pub mod configurations;
pub mod declared;
pub mod hierarchy;
pub mod limits;
pub mod links;
pub mod mimics;
pub mod others;
pub mod shapes;
pub mod transforms;
