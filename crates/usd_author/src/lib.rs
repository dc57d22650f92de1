//! Authors OpenUSD layers: prims, attributes and relationships by path are written as text (`usda`)
//! or a crate file (`usdc`). Also defines the names shared by several crates: those of the Isaac
//! robot schema, of the dialects of engines, and of this program's own assets.
//!
//! This crate must not know how a robot becomes layers, nor read any; it opens no files. Of the
//! robot model it uses names, poses and the tree of links.

pub mod crate_file;
pub mod dialects;
pub mod isaac_schema;
mod layer;
pub mod layout;
mod named_pose;
pub mod numbers;
mod schema;
mod specs;
pub mod text;

pub use layer::{Attribute, Error, Layer, Prim, Relationship, Value, dictionary, string, token};
pub use named_pose::{Chain, PosePrim, author_scopes, joints_between};
pub use schema::{ISAAC_SCHEMA_FILES, SCHEMA_FILES};
