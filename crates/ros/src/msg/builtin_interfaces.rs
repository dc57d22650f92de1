//! `builtin_interfaces`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// `builtin_interfaces/msg/Time`: a moment, since 1970-01-01 UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time {
    /// Whole seconds.
    pub sec: i32,
    /// Nanoseconds beyond them, below 1e9.
    pub nanosec: u32,
}

impl Time {
    /// The system clock.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            sec: i32::try_from(since.as_secs()).unwrap_or(i32::MAX),
            nanosec: since.subsec_nanos(),
        }
    }

    /// Seconds as a floating-point number, for durations and display (a microsecond is lost to
    /// rounding at worst).
    pub fn seconds(self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec) * 1e-9
    }
}

/// `builtin_interfaces/msg/Duration`: a span of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Duration {
    /// Whole seconds.
    pub sec: i32,
    /// Nanoseconds beyond them, below 1e9.
    pub nanosec: u32,
}

super::message!(builtin_interfaces: Time);
