//! A deadline and a cancellation flag, shared by all threads of a job.
//!
//! The limit is cooperative. Every loop whose length depends on the input calls
//! [`TimeLimit::is_over`] before its next step and stops if it is; the caller of the job then asks
//! [`TimeLimit::interruption`] and discards the partial result. This module knows neither the job nor who
//! reports its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A limit, cloned into every part of a job. The default is no limit.
#[derive(Clone, Debug, Default)]
pub struct TimeLimit(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    started: Instant,
    allowed: Option<Duration>,
    cancelled: Arc<AtomicBool>,
    /// The reason why the job ended early, once a part of it noticed.
    interruption: OnceLock<Interruption>,
}

/// The early end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Step that was due next.
    pub part: String,
    /// Time that the job had run.
    pub after: Duration,
    /// Time that the job was allowed, or `None` if it was cancelled.
    pub allowed: Option<Duration>,
}

impl TimeLimit {
    /// Starts a limit now: it ends the job after `allowed`, if given, and as soon as `cancelled`
    /// becomes true.
    pub fn new(allowed: Option<Duration>, cancelled: Arc<AtomicBool>) -> Self {
        Self(Some(Arc::new(Shared {
            started: Instant::now(),
            allowed,
            cancelled,
            interruption: OnceLock::new(),
        })))
    }

    /// Returns whether the job has to end. `part` names the next step; only the first call that
    /// notices the end records it.
    pub fn is_over(&self, part: impl FnOnce() -> String) -> bool {
        let Some(shared) = &self.0 else { return false };
        // The end is final, even if `cancelled` is reset meanwhile.
        if shared.interruption.get().is_some() {
            return true;
        }
        // Relaxed suffices: no other data is published with the flag.
        let is_cancelled = shared.cancelled.load(Ordering::Relaxed);
        let after = shared.started.elapsed();
        let is_late = shared.allowed.is_some_and(|allowed| after >= allowed);
        if is_cancelled || is_late {
            // `None` marks a cancellation; a cancelled job may be late as well.
            let allowed = shared.allowed.filter(|_| !is_cancelled);
            shared.interruption.get_or_init(|| Interruption {
                part: part(),
                after,
                allowed,
            });
        }
        is_cancelled || is_late
    }

    /// Returns the early end of the job, if any part of it noticed.
    pub fn interruption(&self) -> Option<&Interruption> {
        self.0.as_ref()?.interruption.get()
    }

    /// Returns the time left; `None` without a deadline.
    pub fn left(&self) -> Option<Duration> {
        let shared = self.0.as_ref()?;
        Some(shared.allowed?.saturating_sub(shared.started.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_the_deadline_or_when_cancelled_and_says_where() {
        let none = TimeLimit::default();
        assert!(
            !none.is_over(|| unreachable!())
                && none.interruption().is_none()
                && none.left().is_none()
        );

        let cancelled = Arc::new(AtomicBool::new(false));
        let limit = TimeLimit::new(Some(Duration::from_secs(3600)), cancelled.clone());
        assert!(
            !limit.is_over(|| unreachable!()) && limit.left() > Some(Duration::from_secs(3000))
        );
        cancelled.store(true, Ordering::Relaxed);
        let other = limit.clone();
        assert!(
            other.is_over(|| "one".to_owned())
                && limit.is_over(|| unreachable!("it was noticed already"))
        );
        let ended = limit.interruption().unwrap();
        assert_eq!((ended.part.as_str(), ended.allowed), ("one", None));

        let late = TimeLimit::new(Some(Duration::ZERO), Arc::default());
        assert!(late.interruption().is_none(), "not noticed yet");
        assert!(late.is_over(|| "two".to_owned()));
        assert_eq!(late.interruption().unwrap().allowed, Some(Duration::ZERO));
    }
}
