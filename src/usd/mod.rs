//! OpenUSD: robot → layers.

pub mod author;
pub mod text;
