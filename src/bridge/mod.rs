//! The node
pub mod codes;
mod fingerprint;
mod logging;
mod ownership;
mod schedule;
pub mod tf;
pub mod verdict;
mod watch;
