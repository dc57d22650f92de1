//! How many files and sockets the process may have open, and for how many more robots that is enough.
//!
//! A robot that nothing is opened for is better than one of which half is missing: whoever opens something for a robot takes the room
//! for all of it first. It must not know ROS clients: what an end costs is the most that any of them takes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What the end of a topic that is listened to costs at most.
pub(super) const SUBSCRIPTION: usize = 4;
/// What the end of a topic that is spoken on costs at most.
pub(super) const PUBLISHER: usize = 2;
/// How long it may take until what was opened is seen to be open: clients open ends on threads of their own.
const SEEN_AFTER: Duration = Duration::from_secs(3);
/// How old a count may be.
const FRESH: Duration = Duration::from_millis(50);
/// What is left for conversions: for all of them, and for each at once.
const FOR_WORK: (usize, usize) = (32, 8);

/// How many connections the HTTP side may take of so many descriptors.
pub(super) fn for_http(limit: usize) -> usize {
    (limit / 8).clamp(8, 256)
}

/// How many descriptors are open; 0 where the system does not tell.
fn count() -> usize {
    let listed = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    // The last one is that of the folder itself.
    listed.map_or(0, |entries| entries.count().saturating_sub(1))
}

/// The room for robots.
pub(super) struct Room {
    limit: usize,
    count: Box<dyn Fn() -> usize + Send>,
    counted: Option<(Instant, usize)>,
    /// What was taken lately, and need not be open yet.
    taken: VecDeque<(Instant, usize)>,
}

impl Room {
    /// Of so many descriptors, those that are left after `workers` conversions and `others` have theirs.
    pub(super) fn new(limit: usize, workers: usize, others: usize) -> Self {
        Self::with(limit.saturating_sub(FOR_WORK.0 + FOR_WORK.1 * workers + others), count)
    }

    /// Of so many, as `count` counts those that are open.
    pub(super) fn with(limit: usize, count: impl Fn() -> usize + Send + 'static) -> Self {
        Self { limit, count: Box::new(count), counted: None, taken: VecDeque::new() }
    }

    /// How many descriptors robots and the node's own ends may have together.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// How many are free.
    pub(super) fn free(&mut self, now: Instant) -> usize {
        while self.taken.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= SEEN_AFTER) {
            self.taken.pop_front();
        }
        let counted = match self.counted {
            Some((at, counted)) if now.saturating_duration_since(at) < FRESH => counted,
            _ => {
                let counted = (self.count)();
                self.counted = Some((now, counted));
                counted
            }
        };
        let taken: usize = self.taken.iter().map(|(_, taken)| taken).sum();
        self.limit.saturating_sub(counted + taken)
    }

    /// Takes room for something that is opened now, of what is free but for `kept`; whether there was so much.
    pub(super) fn take(&mut self, wanted: usize, kept: usize, now: Instant) -> bool {
        let is_there = self.free(now) >= wanted + kept;
        if is_there {
            match self.taken.back_mut() {
                Some((at, taken)) if *at == now => *taken += wanted,
                _ => self.taken.push_back((now, wanted)),
            }
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_is_taken_counts_until_it_is_seen_to_be_open() {
        let open = Arc::new(AtomicUsize::new(10));
        let (counted, start) = (open.clone(), Instant::now());
        let mut room = Room::with(50, move || counted.load(Ordering::Relaxed));
        assert!(room.take(18, 0, start) && room.take(18, 4, start));
        assert!(!room.take(5, 0, start) && room.take(4, 0, start));
        // It is open now, and for a while it counts twice.
        open.store(30, Ordering::Relaxed);
        assert_eq!(room.free(start + SEEN_AFTER / 2), 0);
        assert_eq!(room.free(start + SEEN_AFTER), 20);
        assert!(room.take(18, 2, start + SEEN_AFTER) && !room.take(18, 2, start + SEEN_AFTER));
    }

    #[test]
    fn what_is_open_is_counted() {
        let before = count();
        let files: Vec<_> = (0..100).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Tests beside this one open and close some too.
        let now = count();
        assert!(before > 2 && now >= before + 50, "{before} and {now} with {} more", files.len());
    }
}
