//! The publishers of one joint or frame, and detection of clock resets.
//!
//! If a simulation is reset or a recording restarts, stamps repeat with another meaning: messages
//! from before must not be compared with those from after. A stamp also goes back if a message is
//! late or overtaken, which has no meaning. The two are told apart by what follows: after a reset,
//! several messages in a row of one publisher stay behind its latest stamp. A new publisher may
//! have a clock of its own. Since messages from before and after may arrive interleaved,
//! comparisons pause for [`SETTLE_TIME`].

use std::time::{Duration, Instant};

use crate::input::PublisherId;

/// Minimum step back of a stamp, in ns, that is a reset by itself, whoever published it.
const MIN_RESET: i64 = 500_000_000;
/// Maximum number of messages in a row that count as late. They are dropped, so that the rest
/// belongs to one run: messages of one publisher do not overtake each other.
const MAX_LATE: u8 = 4;
/// Duration of the pause after a new start: as long as old messages may still arrive and, for a
/// reset by less than [`MIN_RESET`], until new stamps exceed all earlier ones.
const SETTLE_TIME: Duration = Duration::from_millis(2500);
/// Minimum number of returns of a publisher for an alternation of two, and the minimum and maximum
/// time between them. When a node restarts, messages of the old and the new one may be interleaved
/// for a moment.
const MIN_ALTERNATIONS: u8 = 3;
const ALTERNATION_PERIOD: (Duration, Duration) =
    (Duration::from_millis(700), Duration::from_secs(5));

/// The state of one joint's or frame's publishers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    publisher: PublisherId,
    /// The publisher before the current one.
    other: Option<PublisherId>,
    alternations: u8,
    alternated: Option<Instant>,
    /// Latest stamp of the current publisher, in ns; 0 if it has none.
    latest: i64,
    /// Number of messages in a row behind that stamp.
    behind: u8,
    /// Time of the last new start.
    started: Option<Instant>,
}

/// The relation of a message's stamp to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampOrder {
    /// In order.
    InOrder,
    /// Behind the publisher's latest stamp.
    Late,
    /// The first message of a new start.
    NewStart,
    /// The first message after a far reset of the publisher's clock, which affects everything else
    /// that uses it.
    ClockReset,
}

impl Stream {
    /// Creates the state from the first message.
    pub(crate) fn new(publisher: PublisherId, stamp: i64) -> Self {
        Self {
            publisher,
            other: None,
            alternations: 0,
            alternated: None,
            latest: stamp,
            behind: 0,
            started: None,
        }
    }

    /// Returns the current publisher.
    pub(crate) fn publisher(&self) -> PublisherId {
        self.publisher
    }

    /// Adds the next message. `stamp` is in ns, 0 if there is none; `now` is the time of
    /// arrival.
    pub(crate) fn add(&mut self, publisher: PublisherId, stamp: i64, now: Instant) -> StampOrder {
        let (is_same, is_known) = (publisher == self.publisher, self.other == Some(publisher));
        if !is_same {
            self.take_over(publisher, now);
        }
        if stamp == 0 {
            return StampOrder::InOrder;
        }
        // Further than any jitter, so it needs no confirmation by later messages.
        let is_far = self.latest.saturating_sub(stamp) > MIN_RESET;
        let is_late = is_same && !is_far && stamp < self.latest;
        if is_late && self.behind < MAX_LATE {
            self.behind += 1;
            return StampOrder::Late;
        }
        (self.latest, self.behind) = (stamp, 0);
        // A publisher that was neither the last nor the one before may have a clock of its own.
        if is_late || is_far || !is_same && !is_known {
            self.started = Some(now);
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
                .alternated
                .map(|alternated| now.saturating_duration_since(alternated))
            {
                // Interleaved messages of a restart are no alternation.
                Some(since) if since < ALTERNATION_PERIOD.0 => {}
                Some(since) if since <= ALTERNATION_PERIOD.1 => {
                    (self.alternations, self.alternated) =
                        (self.alternations.saturating_add(1), Some(now))
                }
                _ => (self.alternations, self.alternated) = (1, Some(now)),
            }
        } else {
            (self.alternations, self.alternated) = (0, None);
        }
        self.other = Some(self.publisher);
        self.publisher = publisher;
    }

    /// Returns whether a message received at `heard` may be compared with others: not during the
    /// pause after a new start.
    pub(crate) fn is_settled(&self, heard: Instant) -> bool {
        self.started
            .is_none_or(|started| heard >= started + SETTLE_TIME)
    }

    /// Returns whether two publishers have alternated within `timeout`.
    pub(crate) fn is_alternating(&self, now: Instant, timeout: Duration) -> bool {
        self.alternations >= MIN_ALTERNATIONS
            && self
                .alternated
                .is_some_and(|alternated| now.saturating_duration_since(alternated) <= timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Returns the order of messages, each given by its publisher and its stamp in ms.
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
    fn late_messages_are_no_reset() {
        use StampOrder::{InOrder, Late};
        assert_eq!(
            orders(&[(1, 10_100), (1, 10_000), (1, 10_050), (1, 10_110)]),
            [InOrder, Late, Late, InOrder]
        );
        // Two sources behind one publisher, one of them always 0.2 s behind.
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
            "a stopped clock"
        );
    }

    #[test]
    fn staying_behind_is_a_reset() {
        use StampOrder::{ClockReset, InOrder, Late, NewStart};
        let messages: Vec<(u8, i64)> = (0..6).map(|n| (1, 9_900 + 10 * n)).collect();
        assert_eq!(
            orders(&messages),
            [Late, Late, Late, Late, NewStart, InOrder]
        );
        assert_eq!(orders(&[(1, 9_400), (1, 9_410)]), [ClockReset, InOrder]);
    }

    #[test]
    fn a_new_publisher_is_a_new_start_once() {
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
    fn comparisons_pause_after_a_new_start() {
        let (mut stream, now) = (
            Stream::new(PublisherId([1; 16]), 10_000 * MS),
            Instant::now(),
        );
        assert!(stream.is_settled(now));
        stream.add(PublisherId([2; 16]), 10_010 * MS, now);
        assert!(
            !stream.is_settled(now - SETTLE_TIME)
                && !stream.is_settled(now + SETTLE_TIME / 2)
                && stream.is_settled(now + SETTLE_TIME)
        );
    }

    #[test]
    fn two_publishers_take_turns_and_a_restart_is_none() {
        let (mut stream, mut now, second) = (
            Stream::new(PublisherId([0; 16]), 0),
            Instant::now(),
            Duration::from_secs(1),
        );
        let mut is_alternating = |publishers: &[u8], pause: u64| {
            for publisher in publishers {
                now += Duration::from_millis(pause);
                stream.add(PublisherId([*publisher; 16]), 0, now);
            }
            stream.is_alternating(now, second)
        };
        assert!(!is_alternating(&[1, 1, 2, 2, 3, 4], 1000));
        assert!(
            !is_alternating(&[3, 4, 3, 4, 3, 4, 3, 4], 50),
            "messages in flight"
        );
        assert!(is_alternating(&[3, 4, 3, 4], 1000));
        assert!(!is_alternating(&[4, 4], 1000));
    }
}
