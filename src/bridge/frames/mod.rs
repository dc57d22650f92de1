//! The frames of an asset held against the running robot (REP-158 §2.7): what is heard of it ([`live`], [`tf`], [`joints`]), what the
//! asset says ([`expected`]), what that says about each frame ([`verdict`]), and why ([`cause`]).
//!
//! Plain data and arithmetic: it knows neither a ROS client nor files.
//!
//! What keeps an honest robot free of false verdicts: frames and joints are compared at one stamp, never at one time of arrival; where
//! the joint states do not tell the position at that stamp, every position that they allow counts; what was heard before a clock
//! went back, before another publisher took over, or before the asset was written, does not count.

pub mod cause;
pub mod expected;
pub mod joints;
pub mod live;
mod stream;
pub mod tf;
pub mod verdict;

pub use cause::{Cause, CauseKind};
pub use expected::Expected;
pub use live::{Live, Sources, Topics};
pub use verdict::{Finding, Judgement, Limits, Verdict, judge};

#[cfg(test)]
mod honest;
#[cfg(test)]
mod tests;
