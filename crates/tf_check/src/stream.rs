//! Who publishes one thing, a joint or a frame, and whether their clock goes on or began anew.
//!
//! When a simulation is reset or a recording starts again, stamps come a second time and mean other
//! moments: what was heard before must not be compared with what is heard after. A message that
//! comes late, or is overtaken, goes back as well and means nothing. What follows tells the two
//! apart: after a reset several messages of one publisher in a row stay behind what it said before.
//! A publisher that was not there before may have a clock of its own. Since messages of both lives
//! may be under way together, nothing counts until [`CALM`] has passed.

use std::time::{Duration, Instant};

use crate::input::PublisherId;

/// By how much a stamp goes back, in ns, that is no jitter whatever follows, and whoever says it.
const BEHIND: i64 = 500_000_000;
/// How many messages of one publisher in a row may stay behind its latest before its clock was set
/// back. Until then they are left out, so that what is left is of one life: a publisher's own
/// messages do not overtake each other.
const LATE: u8 = 4;
/// How long after a new beginning nothing counts: as long as messages from before may be under way,
/// and, for a clock that was set back by less than [`BEHIND`], until stamps are beyond all that
/// were heard before.
const CALM: Duration = Duration::from_millis(2500);
/// How often a publisher must come back after another spoke before the two count as taking turns,
/// and how long it takes from one time to the next at least and at most: when a node is restarted,
/// messages of both may be under way together for a while.
const TURNS: u8 = 3;
const TURN: (Duration, Duration) = (Duration::from_millis(700), Duration::from_secs(5));

/// Those who publish one thing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    publisher: PublisherId,
    /// The one that spoke before it.
    other: Option<PublisherId>,
    turns: u8,
    turned: Option<Instant>,
    /// The latest stamp of the publisher, in ns; 0 without one.
    latest: i64,
    /// How many messages in a row were behind it.
    behind: u8,
    /// When it began anew last.
    began: Option<Instant>,
}

/// How a message's stamp follows those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampOrder {
    /// It goes on.
    InOrder,
    /// It is behind what the publisher said before.
    Late,
    /// It is the first of a new beginning.
    NewStart,
    /// The same, since the publisher's clock went back far: so did that of everything else that
    /// runs by it.
    ClockReset,
}

impl Stream {
    /// The first message.
    pub(crate) fn new(publisher: PublisherId, stamp: i64) -> Self {
        Self {
            publisher,
            other: None,
            turns: 0,
            turned: None,
            latest: stamp,
            behind: 0,
            began: None,
        }
    }

    /// Who spoke last.
    pub(crate) fn publisher(&self) -> PublisherId {
        self.publisher
    }

    /// Who spoke before.
    pub(crate) fn other(&self) -> Option<PublisherId> {
        self.other
    }

    /// Takes in the next message. `stamp` in ns, 0 if it has none; `now`: when it was heard.
    pub(crate) fn add(&mut self, publisher: PublisherId, stamp: i64, now: Instant) -> StampOrder {
        let (is_same, is_known) = (publisher == self.publisher, self.other == Some(publisher));
        if !is_same {
            self.take_over(publisher, now);
        }
        if stamp == 0 {
            return StampOrder::InOrder;
        }
        let is_far = self.latest.saturating_sub(stamp) > BEHIND;
        let is_late = is_same && !is_far && stamp < self.latest;
        if is_late && self.behind < LATE {
            self.behind += 1;
            return StampOrder::Late;
        }
        (self.latest, self.behind) = (stamp, 0);
        if is_late || is_far || !is_same && !is_known {
            self.began = Some(now);
            return if is_same && is_far {
                StampOrder::ClockReset
            } else {
                StampOrder::NewStart
            };
        }
        StampOrder::InOrder
    }

    fn take_over(&mut self, publisher: PublisherId, now: Instant) {
        if self.other == Some(publisher) {
            match self
                .turned
                .map(|turned| now.saturating_duration_since(turned))
            {
                Some(since) if since < TURN.0 => {}
                Some(since) if since <= TURN.1 => {
                    (self.turns, self.turned) = (self.turns.saturating_add(1), Some(now))
                }
                _ => (self.turns, self.turned) = (1, Some(now)),
            }
        } else {
            (self.turns, self.turned) = (0, None);
        }
        self.other = Some(self.publisher);
        self.publisher = publisher;
    }

    /// Whether what was heard at `heard` may be compared with others: not while messages from
    /// before a new beginning may be among them.
    pub(crate) fn is_calm(&self, heard: Instant) -> bool {
        self.began.is_none_or(|began| heard >= began + CALM)
    }

    /// Whether two have taken turns within `timeout`.
    pub(crate) fn take_turns(&self, now: Instant, timeout: Duration) -> bool {
        self.turns >= TURNS
            && self
                .turned
                .is_some_and(|turned| now.saturating_duration_since(turned) <= timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// What messages are, of who and when, in ms of their stamps.
    fn orders(messages: &[(u8, i64)]) -> Vec<StampOrder> {
        let (mut stream, now) = (
            Stream::new(PublisherId([1; 16]), 10_000 * MS),
            Instant::now(),
        );
        messages
            .iter()
            .map(|(who, at)| stream.add(PublisherId([*who; 16]), at * MS, now))
            .collect()
    }

    #[test]
    fn what_is_late_or_overtaken_is_no_new_beginning() {
        use StampOrder::{InOrder, Late};
        assert_eq!(
            orders(&[(1, 10_100), (1, 10_000), (1, 10_050), (1, 10_110)]),
            [InOrder, Late, Late, InOrder]
        );
        // Two sources behind one publisher, one of them 0.2 s behind, again and again.
        let messages: Vec<(u8, i64)> = (0..20)
            .map(|n| (1, 10_010 + 10 * n - if n % 2 == 0 { 0 } else { 200 }))
            .collect();
        assert!(
            orders(&messages)
                .iter()
                .all(|order| matches!(order, InOrder | Late))
        );
        assert_eq!(
            orders(&[(1, 10_000), (1, 10_000), (1, 0), (1, 10_000)]),
            [InOrder; 4],
            "a clock that stands still"
        );
    }

    #[test]
    fn who_stays_behind_was_set_back_by_however_little() {
        use StampOrder::{ClockReset, InOrder, Late, NewStart};
        let messages: Vec<(u8, i64)> = (0..6).map(|n| (1, 9_900 + 10 * n)).collect();
        assert_eq!(
            orders(&messages),
            [Late, Late, Late, Late, NewStart, InOrder]
        );
        assert_eq!(orders(&[(1, 9_400), (1, 9_410)]), [ClockReset, InOrder]);
    }

    #[test]
    fn another_publisher_is_a_new_beginning_once() {
        use StampOrder::{InOrder, NewStart};
        assert_eq!(
            orders(&[(2, 10_010), (1, 10_020), (2, 10_015), (2, 10_030)]),
            [NewStart, InOrder, InOrder, InOrder]
        );
        assert_eq!(
            orders(&[(2, 9_000), (2, 9_010), (3, 9_020)]),
            [NewStart, InOrder, NewStart],
            "its clock is its own"
        );
    }

    #[test]
    fn after_a_new_beginning_nothing_counts_for_a_while() {
        let (mut stream, now) = (
            Stream::new(PublisherId([1; 16]), 10_000 * MS),
            Instant::now(),
        );
        assert!(stream.is_calm(now));
        stream.add(PublisherId([2; 16]), 10_010 * MS, now);
        assert!(
            !stream.is_calm(now - CALM)
                && !stream.is_calm(now + CALM / 2)
                && stream.is_calm(now + CALM)
        );
    }

    #[test]
    fn two_publishers_take_turns_and_a_restart_is_none() {
        let (mut stream, mut now, second) = (
            Stream::new(PublisherId([0; 16]), 0),
            Instant::now(),
            Duration::from_secs(1),
        );
        let mut take_turns = |publishers: &[u8], pause: u64| {
            for publisher in publishers {
                now += Duration::from_millis(pause);
                stream.add(PublisherId([*publisher; 16]), 0, now);
            }
            stream.take_turns(now, second)
        };
        assert!(!take_turns(&[1, 1, 2, 2, 3, 4], 1000));
        assert!(
            !take_turns(&[3, 4, 3, 4, 3, 4, 3, 4], 50),
            "messages that were under way"
        );
        assert!(take_turns(&[3, 4, 3, 4], 1000));
        assert!(!take_turns(&[4, 4], 1000));
    }
}
