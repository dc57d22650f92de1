//! The frames of an asset held against the running robot (REP-158 §2.7): what is heard of it ([`live`], [`tf`]), and what that says
//! about each frame ([`verdict`]).
//!
//! Plain data and arithmetic: it knows neither a ROS client nor files.

pub mod live;
pub mod tf;
pub mod verdict;

pub use live::{Live, Sources, Topics};
pub use verdict::{Finding, Judgement, Limits, Verdict, judge};
