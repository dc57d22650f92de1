//! The diagnostic codes of the rules in [`RULES`](super::RULES).

pub use super::rules::CODES as ALL;
