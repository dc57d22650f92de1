//! The work of commands without their output, for programs that call it in their own process.

pub use super::check::{Found, check, check_name, check_patterns};
pub use super::fix::{fix, parse_overlay};
pub use super::isaac::ENTRIES;
pub use super::pose::load_robot;
pub use super::results::{Refusal, codes};
pub use super::subject::{AssetFile, PlanningFiles, Read, find};
pub use super::version::SHORT as VERSION;
pub use super::{Inspected, Summary, check_options, inspected as inspect, open_cache};
pub use urdf_usd_fix::Options as FixOptions;
