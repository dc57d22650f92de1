//! OpenUSD: robot → layers.

pub mod author;
pub mod crate_file;
pub mod text;
