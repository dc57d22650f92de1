//! Decides which work is next: one item per key at a time, the newest of replaceable items, and a
//! limit on parallel work.
//!
//! It does not depend on robots, and the caller passes the time, so it is deterministic.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Maximum number of settle times that a stream of replacements can delay an item.
const MAX_SETTLES: u32 = 10;

/// Waiting items, and the keys in progress.
pub(super) struct Schedule<T> {
    settle: Duration,
    limit: usize,
    /// Returns the memory of an item, in bytes.
    weigh: fn(&T) -> usize,
    /// Total memory of the waiting items.
    weight: usize,
    waiting: VecDeque<Waiting<T>>,
    busy: HashSet<String>,
    /// The time of the latest replaceable item per key: those recent enough to start a burst, and
    /// some older ones until the next pruning.
    last: HashMap<String, Instant>,
    /// The size of `last` after its last pruning.
    pruned_to: usize,
}

struct Waiting<T> {
    key: String,
    item: T,
    replaceable: bool,
    due: Instant,
    latest: Instant,
}

impl<T> Schedule<T> {
    /// Creates a schedule. `settle` is the debounce time of replaceable items, `limit` the number
    /// of parallel items; `weigh` returns the memory of an item.
    pub(super) fn new(settle: Duration, limit: usize, weigh: fn(&T) -> usize) -> Self {
        let (waiting, busy, last) = (VecDeque::new(), HashSet::new(), HashMap::new());
        Self {
            settle,
            limit: limit.max(1),
            weigh,
            weight: 0,
            waiting,
            busy,
            last,
            pruned_to: 0,
        }
    }

    /// Returns the total memory of the waiting items.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Changes the debounce time of future items.
    pub(super) fn set_settle(&mut self, settle: Duration) {
        self.settle = settle;
    }

    /// Adds an item that is never replaced.
    pub(super) fn push(&mut self, key: String, item: T, now: Instant) {
        self.weight += (self.weigh)(&item);
        self.waiting.push_back(Waiting {
            key,
            item,
            replaceable: false,
            due: now,
            latest: now,
        });
    }

    /// Adds an item that replaces one waiting under the same key, which is returned.
    ///
    /// Debouncing has a leading and a trailing edge: an isolated item is due at once, since a delay
    /// would only add latency. An item that follows another within the settle time waits until none
    /// has come for that time, so that a burst costs two conversions. The delay is limited by
    /// [`MAX_SETTLES`], so that an endless stream is still served.
    pub(super) fn replace(&mut self, key: String, item: T, now: Instant) -> Option<T> {
        let due = if self.is_burst(&key, now) {
            now + self.settle
        } else {
            now
        };
        self.weight += (self.weigh)(&item);
        if let Some(waiting) = self
            .waiting
            .iter_mut()
            .find(|w| w.replaceable && w.key == key)
        {
            // The new item keeps the old one's place in the queue, so that replacing does not cost
            // a turn.
            waiting.due = due.min(waiting.latest);
            let before = std::mem::replace(&mut waiting.item, item);
            self.weight -= (self.weigh)(&before);
            return Some(before);
        }
        self.waiting.push_back(Waiting {
            key,
            item,
            replaceable: true,
            due,
            latest: now + self.settle * MAX_SETTLES,
        });
        None
    }

    /// Returns whether an item follows another within the settle time, and records its arrival.
    fn is_burst(&mut self, key: &str, now: Instant) -> bool {
        let settle = self.settle;
        let is_recent = |last: &Instant| now.saturating_duration_since(*last) < settle;
        // Prune when the size has doubled: amortised O(1) per item.
        if self.last.len() > 2 * self.pruned_to + 16 {
            self.last.retain(|_, last| is_recent(last));
            self.pruned_to = self.last.len();
        }
        self.last
            .insert(key.to_owned(), now)
            .is_some_and(|last| is_recent(&last))
    }

    /// Adds a replaceable item that is due at once, unless one already waits under its key.
    pub(super) fn ensure(&mut self, key: &str, item: impl FnOnce() -> T, now: Instant) {
        if !self.is_waiting(key) {
            let item = item();
            self.weight += (self.weigh)(&item);
            self.waiting.push_back(Waiting {
                key: key.to_owned(),
                item,
                replaceable: true,
                due: now,
                latest: now,
            });
        }
    }

    /// Takes the first due item whose key is free. The key is busy until [`Schedule::finished`].
    ///
    /// O(n) in the waiting items, which are at most a few per robot.
    pub(super) fn next(&mut self, now: Instant) -> Option<(String, T)> {
        if self.busy.len() >= self.limit {
            return None;
        }
        // First come, first served: a robot that changes often cannot starve others.
        let index = self
            .waiting
            .iter()
            .position(|w| w.due <= now && !self.busy.contains(&w.key))?;
        let Waiting { key, item, .. } = self.waiting.remove(index)?;
        self.weight -= (self.weigh)(&item);
        self.busy.insert(key.clone());
        Some((key, item))
    }

    /// Returns whether an item of this key is in progress.
    pub(super) fn is_busy(&self, key: &str) -> bool {
        self.busy.contains(key)
    }

    /// Returns whether a replaceable item waits under this key.
    pub(super) fn is_waiting(&self, key: &str) -> bool {
        self.waiting.iter().any(|w| w.replaceable && w.key == key)
    }

    /// Frees a key.
    pub(super) fn finished(&mut self, key: &str) {
        self.busy.remove(key);
    }

    /// Returns when [`Schedule::next`] will have an item, if nothing is added or finished before.
    pub(super) fn next_due(&self) -> Option<Instant> {
        if self.busy.len() >= self.limit {
            return None;
        }
        self.waiting
            .iter()
            .filter(|w| !self.busy.contains(&w.key))
            .map(|w| w.due)
            .min()
    }

    /// Returns whether nothing waits or is in progress.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.busy.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLE: Duration = Duration::from_millis(100);

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn isolated_items_are_due_at_once_and_bursts_are_debounced() {
        let start = Instant::now();
        let mut schedule = Schedule::new(SETTLE, 2, |_| 3);
        assert_eq!(schedule.replace("arm".into(), 1, start), None);
        assert_eq!(schedule.next(start), Some(("arm".into(), 1)));
        schedule.finished("arm");
        assert_eq!(schedule.replace("arm".into(), 2, at(start, 50)), None);
        assert_eq!(schedule.replace("arm".into(), 3, at(start, 90)), Some(2));
        assert_eq!(schedule.next(at(start, 180)), None);
        assert_eq!(schedule.next_due(), Some(at(start, 190)));
        assert_eq!(schedule.next(at(start, 190)), Some(("arm".into(), 3)));
        schedule.finished("arm");
        assert!(schedule.is_idle());
        // After a pause a change is isolated again, and another robot's burst does not count.
        schedule.replace("arm".into(), 4, at(start, 195));
        schedule.replace("dog".into(), 5, at(start, 200));
        assert_eq!(schedule.next(at(start, 200)), Some(("arm".into(), 4)));
        assert_eq!(schedule.next(at(start, 200)), Some(("dog".into(), 5)));
        schedule.finished("arm");
        schedule.replace("arm".into(), 6, at(start, 210));
        assert_eq!(schedule.next(at(start, 309)), None);
        assert_eq!(schedule.next(at(start, 310)), Some(("arm".into(), 6)));
    }

    #[test]
    fn old_keys_are_pruned() {
        let start = Instant::now();
        let mut schedule = Schedule::new(SETTLE, 1, |_| 3);
        for n in 0..10_000 {
            schedule.replace(n.to_string(), n, at(start, n));
            schedule.next(at(start, n));
            schedule.finished(&n.to_string());
        }
        assert!(schedule.last.len() < 1000, "{}", schedule.last.len());
    }

    #[test]
    fn an_endless_burst_is_served_in_the_end() {
        let start = Instant::now();
        let mut schedule = Schedule::new(SETTLE, 1, |_| 3);
        for n in 0..20 {
            schedule.replace("arm".into(), n, at(start, n * 50));
            if n == 0 {
                assert_eq!(schedule.next(start), Some(("arm".into(), 0)));
                schedule.finished("arm");
            }
        }
        // Ten settle times after the first item that had to wait.
        assert_eq!(schedule.next(at(start, 1049)), None);
        assert_eq!(schedule.next(at(start, 1050)), Some(("arm".into(), 19)));
    }

    #[test]
    fn a_busy_key_waits_and_others_proceed() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Duration::ZERO, 2, |_| 3);
        schedule.replace("arm".into(), 1, start);
        assert_eq!(schedule.next(start), Some(("arm".into(), 1)));
        schedule.replace("arm".into(), 2, start);
        assert_eq!(schedule.replace("arm".into(), 3, start), Some(2));
        assert_eq!(schedule.weight(), 3);
        assert_eq!((schedule.next(start), schedule.next_due()), (None, None));
        schedule.push("rover".into(), 4, start);
        assert_eq!(schedule.next(start), Some(("rover".into(), 4)));
        schedule.push("dog".into(), 5, start);
        assert_eq!(schedule.next(start), None, "the limit is two");
        schedule.finished("arm");
        assert_eq!(schedule.next(start), Some(("arm".into(), 3)));
        schedule.finished("rover");
        assert_eq!(schedule.next(start), Some(("dog".into(), 5)));
    }

    #[test]
    fn calls_are_never_replaced_and_a_change_does_not_replace_what_waits() {
        let start = Instant::now();
        let mut schedule = Schedule::new(SETTLE, 1, |_| 3);
        schedule.push("arm".into(), 1, start);
        assert_eq!(schedule.replace("arm".into(), 2, start), None);
        schedule.ensure("arm", || 3, start);
        assert_eq!(schedule.weight(), 6);
        assert_eq!(schedule.next(start), Some(("arm".into(), 1)));
        schedule.finished("arm");
        assert_eq!(schedule.next(start), Some(("arm".into(), 2)));
        schedule.finished("arm");
        assert!(schedule.is_idle() && schedule.weight() == 0);
    }
}
