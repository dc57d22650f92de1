//! What the rules report, [`RULES`](super::RULES) in detail.

pub use super::rules::CODES as ALL;
