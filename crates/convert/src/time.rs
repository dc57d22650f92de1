//! Formats times of day.

use std::time::{Duration, SystemTime};

/// Returns the time since 1970 (UTC), or `SOURCE_DATE_EPOCH` if it is set.
pub(super) fn now() -> Duration {
    let asked = std::env::var("SOURCE_DATE_EPOCH")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .map(Duration::from_secs);
    asked
        .or_else(|| {
            SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .ok()
        })
        .unwrap_or_default()
}

/// Formats a time since 1970 to the second (RFC 3339).
pub(super) fn rfc3339(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs() % 86_400;
    format!(
        "{}T{:02}:{:02}:{:02}Z",
        date(since_epoch),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Formats the date of a time since 1970 as `YYYY-MM-DD` in the Gregorian calendar.
pub(super) fn date(since_epoch: Duration) -> String {
    // Days are counted from 0000-03-01, so that the leap day ends a year; 400 years have 146,097
    // days.
    // This is `civil_from_days` of H. Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    let days = since_epoch.as_secs() / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_709_164_800, "2024-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(Duration::from_secs(seconds)), expected);
        }
        assert!(!date(Duration::from_secs(u64::MAX)).is_empty());
    }

    #[test]
    fn times_are_to_the_second() {
        assert_eq!(
            rfc3339(Duration::from_millis(951_782_399_900)),
            "2000-02-28T23:59:59Z"
        );
        assert_eq!(rfc3339(Duration::ZERO), "1970-01-01T00:00:00Z");
    }
}
