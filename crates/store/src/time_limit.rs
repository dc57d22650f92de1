//! How long a piece of work may go on: a deadline and a way to cancel, shared by all threads that
//! do it.
//!
//! It is cooperative. Every loop whose length follows from the input asks [`TimeLimit::is_over`]
//! before its next step and leaves if it is; whoever began the work asks [`TimeLimit::ended`]
//! afterwards and throws away what was made so far. This module knows neither what the work is nor
//! who is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A limit, to be cloned into everything that takes part in the work. Without one by default.
#[derive(Clone, Debug, Default)]
pub struct TimeLimit(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    started: Instant,
    allowed: Option<Duration>,
    cancelled: Arc<AtomicBool>,
    /// How it was noticed that the work has to end, once it was.
    ended: OnceLock<Ended>,
}

/// Why work ended before it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What was to be done next.
    pub part: String,
    /// How long the work had gone on.
    pub after: Duration,
    /// How long it was allowed to; `None`: it was cancelled.
    pub allowed: Option<Duration>,
}

impl TimeLimit {
    /// A limit for work that starts now: it ends `allowed` from now, if that is given, and when
    /// `cancelled` becomes true.
    pub fn new(allowed: Option<Duration>, cancelled: Arc<AtomicBool>) -> Self {
        Self(Some(Arc::new(Shared {
            started: Instant::now(),
            allowed,
            cancelled,
            ended: OnceLock::new(),
        })))
    }

    /// Whether the work has to end. `part` says what would be done next; the first to notice is the
    /// one that is told of.
    pub fn is_over(&self, part: impl FnOnce() -> String) -> bool {
        let Some(shared) = &self.0 else { return false };
        if shared.ended.get().is_some() {
            return true;
        }
        let is_cancelled = shared.cancelled.load(Ordering::Relaxed);
        let after = shared.started.elapsed();
        let is_late = shared.allowed.is_some_and(|allowed| after >= allowed);
        if is_cancelled || is_late {
            let allowed = shared.allowed.filter(|_| !is_cancelled);
            shared.ended.get_or_init(|| Ended {
                part: part(),
                after,
                allowed,
            });
        }
        is_cancelled || is_late
    }

    /// Why the work had to end, if anything that takes part in it noticed that it had.
    pub fn ended(&self) -> Option<&Ended> {
        self.0.as_ref()?.ended.get()
    }

    /// How much time is left; `None` if there is no limit.
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
            !none.is_over(|| unreachable!()) && none.ended().is_none() && none.left().is_none()
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
        let ended = limit.ended().unwrap();
        assert_eq!((ended.part.as_str(), ended.allowed), ("one", None));

        let late = TimeLimit::new(Some(Duration::ZERO), Arc::default());
        assert!(late.ended().is_none(), "nobody noticed yet");
        assert!(late.is_over(|| "two".to_owned()));
        assert_eq!(late.ended().unwrap().allowed, Some(Duration::ZERO));
    }
}
