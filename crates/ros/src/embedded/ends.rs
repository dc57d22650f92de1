//! Subscriptions and publishers, which are opened again in each session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use tokio::runtime::Handle;

use super::dds::{Arrived, DdsTopic, Gid};
use super::session::Session;
use crate::Qos;
use crate::threads::Task;
use crate::transport::{Open, Opened};
use urdf_usd_diagnostic::Diagnostic;

/// Time limit of one write.
const WRITE: Duration = Duration::from_secs(2);
/// Maximum number of publishers of a topic whose messages are tracked.
const MAX_PUBLISHERS: usize = 1024;

/// Tracks the messages of a topic that were received, so that one that arrives in two sessions is
/// delivered once.
///
/// The time of writing numbers the messages.
#[derive(Default)]
pub(super) struct SeenMessages(HashMap<Gid, Window>);

/// The last messages of one publisher: a sliding window, as in the replay protection of IPsec (RFC
/// 4303, section 3.4.3).
#[derive(Default)]
struct Window {
    /// The highest number received.
    last: i64,
    /// One bit for each number from the last one downwards, set if it was received.
    bits: u128,
    /// The last number received in each session, of at most two.
    lasts: Vec<(u64, i64)>,
}

impl SeenMessages {
    /// Records a message that arrived in a session; returns whether it is new.
    pub(super) fn is_new(&mut self, session: u64, writer: Gid, number: i64) -> bool {
        if self.0.len() >= MAX_PUBLISHERS && !self.0.contains_key(&writer) {
            // Most of these publishers have left. At worst, a message is delivered twice.
            self.0.clear();
        }
        self.0.entry(writer).or_default().is_new(session, number)
    }
}

impl Window {
    fn is_new(&mut self, session: u64, number: i64) -> bool {
        // Numbers rise within a session, unless a publisher restarted under the same identity.
        if self
            .lasts
            .iter()
            .any(|(other, last)| *other == session && number <= *last)
        {
            *self = Self::default();
        }
        self.lasts
            // A node has at most two sessions, which are consecutive.
            .retain(|(other, _)| *other != session && other.abs_diff(session) <= 1);
        self.lasts.push((session, number));
        let ahead = number.saturating_sub(self.last);
        if ahead > 0 {
            // A shift by the width of the integer would overflow, here and below.
            self.bits = if ahead < 128 { self.bits << ahead } else { 0 };
            (self.last, self.bits) = (number, self.bits | 1);
            return true;
        }
        let bit = if ahead > -128 { 1u128 << -ahead } else { 0 };
        // A number left of the window counts as received, as in RFC 4303.
        let is_new = bit != 0 && self.bits & bit == 0;
        self.bits |= bit;
        is_new
    }
}

/// A subscription.
pub(super) struct SubscriptionEnd {
    pub topic: DdsTopic,
    pub name: String,
    pub qos: Qos,
    pub hear: Box<dyn Fn(Arrived) + Send + Sync>,
    pub seen: Mutex<SeenMessages>,
}

impl SubscriptionEnd {
    /// Opens it in a session.
    pub(super) fn open(
        self: Arc<Self>,
        session: &Arc<Session>,
        handle: &Handle,
    ) -> Result<Open, Diagnostic> {
        let (reader, number) = (session.reader(&self.topic, self.qos)?, session.number);
        let task = handle.spawn(async move {
            let hear = |arrived: Arrived| {
                let is_new = self
                    .seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .is_new(number, arrived.writer, arrived.written);
                if is_new {
                    (self.hear)(arrived);
                }
            };
            reader.hear(&self.name, hear).await;
        });
        Ok(Box::new(Task(task.abort_handle())))
    }
}

/// A publisher.
pub(super) struct PublisherEnd {
    pub topic: DdsTopic,
    pub qos: Qos,
    /// Takes the writer of each session.
    pub opened: Opened<Bytes>,
}

impl PublisherEnd {
    /// Opens it in a session.
    pub(super) fn open(&self, session: &Arc<Session>) -> Result<Open, Diagnostic> {
        let writer = Arc::new(session.writer(&self.topic, self.qos)?);
        let writing = writer.clone();
        (self.opened)(Arc::new(move |message: &Bytes| {
            let (writer, message) = (writing.clone(), message.clone());
            Ok(async move {
                match tokio::time::timeout(WRITE, writer.writer.write(message)).await {
                    Ok(written) => written.map_err(|fault| fault.to_string()),
                    Err(_) => Err(format!("no success within {WRITE:?}")),
                }
            }
            .boxed())
        }));
        Ok(Box::new(writer))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    const WRITER: Gid = Gid([7; 16]);

    #[test]
    fn a_message_of_two_sessions_is_delivered_once() {
        let mut seen = SeenMessages::default();
        for number in [1, 2, 4] {
            assert!(seen.is_new(0, WRITER, number));
        }
        // The second session receives the latched messages again, and one that the first has not
        // delivered yet.
        let news: Vec<_> = [2, 3, 4, 5]
            .into_iter()
            .filter(|number| seen.is_new(1, WRITER, *number))
            .collect();
        assert_eq!(news, [3, 5]);
        assert!(!seen.is_new(0, WRITER, 5) && seen.is_new(0, Gid([8; 16]), 5));
    }

    #[test]
    fn a_publisher_may_restart() {
        let mut seen = SeenMessages::default();
        assert!((1..1000).all(|number| seen.is_new(0, WRITER, number)));
        assert!((1..10).all(|number| seen.is_new(0, WRITER, number)));
        assert!(!seen.is_new(1, WRITER, 9) && seen.is_new(1, WRITER, 10));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_heard_twice(
            brought in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..120),
            turns in proptest::collection::vec(0..2usize, 0..300),
        ) {
            // Both sessions deliver some of the same numbers, each in order, and alternate.
            let pick = |of: fn(&(bool, bool)) -> bool| {
                (1i64..).zip(&brought).filter(|(_, brought)| of(brought)).map(|(number, _)| number).collect::<VecDeque<_>>()
            };
            let mut queues = [pick(|brought| brought.0), pick(|brought| brought.1)];
            let mut all: Vec<i64> = queues.iter().flatten().copied().collect();
            let (mut seen, mut handed) = (SeenMessages::default(), Vec::new());
            for turn in turns.into_iter().chain((0..240).map(|n| n % 2)) {
                if let Some(number) = queues[turn].pop_front()
                    && seen.is_new(turn as u64, WRITER, number)
                {
                    handed.push(number);
                }
            }
            handed.sort_unstable();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(handed, all);
        }
    }
}
