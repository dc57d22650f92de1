//! Which work comes next: one item per key at a time, the newest of what may replace each other, a
//! limit for all together.
//!
//! It knows nothing of robots; time comes from the caller.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// How many settling times a stream of replacements can put an item off.
const PATIENCE: u32 = 10;

/// Work that waits, and the keys that are being worked on.
pub(super) struct Schedule<T> {
    settle: Duration,
    limit: usize,
    /// How much memory an item takes …
    weigh: fn(&T) -> usize,
    /// … and all that wait together.
    weight: usize,
    waiting: VecDeque<Waiting<T>>,
    busy: HashSet<String>,
    /// When something replaceable came last, by key: of those that would make what comes now a
    /// burst, and some older ones.
    last: HashMap<String, Instant>,
    /// How many of `last` there were when it was cleared up.
    kept: usize,
}

struct Waiting<T> {
    key: String,
    item: T,
    replaceable: bool,
    due: Instant,
    latest: Instant,
}

impl<T> Schedule<T> {
    /// `settle`: how long a replaceable item of a burst waits for its replacement; `limit`: how
    /// many items may be worked on at once. `weigh`: how much memory an item takes.
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
            kept: 0,
        }
    }

    /// How much memory all take that wait.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Changes how long items settle from now on.
    pub(super) fn set_settle(&mut self, settle: Duration) {
        self.settle = settle;
    }

    /// Adds an item that nothing replaces.
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

    /// Adds an item that replaces what waits under its key. If it comes shortly after another it
    /// has to settle; one that comes alone is due at once. Returns what it replaced.
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
            latest: now + self.settle * PATIENCE,
        });
        None
    }

    /// Whether an item that comes now follows another closely. Notes that it came.
    fn is_burst(&mut self, key: &str, now: Instant) -> bool {
        let settle = self.settle;
        let is_recent = |last: &Instant| now.saturating_duration_since(*last) < settle;
        // Cleared up when it has doubled, so that each item costs the same whatever their number.
        if self.last.len() > 2 * self.kept + 16 {
            self.last.retain(|_, last| is_recent(last));
            self.kept = self.last.len();
        }
        self.last
            .insert(key.to_owned(), now)
            .is_some_and(|last| is_recent(&last))
    }

    /// Adds a replaceable item that is due at once, unless one waits under its key already.
    pub(super) fn ensure(&mut self, key: &str, item: impl FnOnce() -> T, now: Instant) {
        if !self.waiting.iter().any(|w| w.replaceable && w.key == key) {
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

    /// The next item to work on, if one is due: the first whose key is free. Its key is busy until
    /// [`Schedule::finished`].
    pub(super) fn next(&mut self, now: Instant) -> Option<(String, T)> {
        if self.busy.len() >= self.limit {
            return None;
        }
        let index = self
            .waiting
            .iter()
            .position(|w| w.due <= now && !self.busy.contains(&w.key))?;
        let Waiting { key, item, .. } = self.waiting.remove(index)?;
        self.weight -= (self.weigh)(&item);
        self.busy.insert(key.clone());
        Some((key, item))
    }

    /// Frees a key.
    pub(super) fn finished(&mut self, key: &str) {
        self.busy.remove(key);
    }

    /// When [`Schedule::next`] will have something, if nothing finishes or comes before.
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

    /// Whether nothing waits and nothing is being worked on.
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
    fn what_comes_alone_is_due_at_once_and_a_burst_becomes_its_newest() {
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
        // A change after a while is alone again, and another robot's burst is none of this one's.
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
    fn keys_without_end_are_forgotten() {
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
        // Ten settling times after the first that had to wait.
        assert_eq!(schedule.next(at(start, 1049)), None);
        assert_eq!(schedule.next(at(start, 1050)), Some(("arm".into(), 19)));
    }

    #[test]
    fn while_one_runs_the_newer_waits_and_others_go_on() {
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
