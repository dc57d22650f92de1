//! OpenUSD: robot → layers.

pub mod author;
