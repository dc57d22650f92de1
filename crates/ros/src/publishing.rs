//! The task of a publisher: takes messages out of a queue and writes them in order, as fast as the
//! network accepts them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::faults::Recurring;
use super::transport::Write;
use super::{Durability, Qos, queue};

/// Pause before a latched message that could not be sent is sent again; it doubles with each
/// failure, up to [`MAX_RETRY_PAUSE`].
const RETRY_PAUSE: Duration = Duration::from_millis(20);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// After the queue has ended: time limit until the topic is open, for the last messages.
const OPEN_TIMEOUT: Duration = Duration::from_secs(2);

/// The messages of a topic.
struct Messages<M> {
    /// The last messages, for a future writer; empty unless they are latched.
    kept: VecDeque<Arc<M>>,
    /// The messages to be written.
    due: VecDeque<Arc<M>>,
}

/// Writes the messages of `queue` with the current writer, until the queue has ended.
///
/// Latched messages are written again by each new writer, and retried until they are sent.
pub(super) async fn publish<M>(
    name: String,
    qos: Qos,
    mut queue: queue::Receiver<M>,
    writers: watch::Sender<Option<Write<M>>>,
) {
    let is_latched = qos.durability == Durability::TransientLocal;
    let depth = qos.depth.max(1);
    let mut changes = writers.subscribe();
    let mut messages = Messages {
        kept: VecDeque::new(),
        due: VecDeque::new(),
    };
    let (mut faults, mut unwritable, mut wait) =
        (Recurring::default(), Recurring::default(), RETRY_PAUSE);
    let take = |message: M, messages: &mut Messages<M>| {
        let message = Arc::new(message);
        for list in [
            is_latched.then_some(&mut messages.kept),
            Some(&mut messages.due),
        ]
        .into_iter()
        .flatten()
        {
            if list.len() >= depth {
                list.pop_front();
            }
            list.push_back(message.clone());
        }
    };
    let mut has_ended = false;
    loop {
        while let Some(message) = queue.try_next() {
            take(message, &mut messages);
        }
        if changes.has_changed().unwrap_or(false)
            && changes.borrow_and_update().is_some()
            && is_latched
        {
            // A new writer starts with an empty history: late subscribers would get nothing.
            messages.due.clone_from(&messages.kept);
        }
        let write = changes.borrow().clone();
        let (Some(write), Some(message)) = (write, messages.due.front().cloned()) else {
            if has_ended {
                if messages.due.is_empty()
                    || tokio::time::timeout(OPEN_TIMEOUT, changes.changed())
                        .await
                        .is_err()
                {
                    return;
                }
                // `changed` marks the value as seen, but the check at the top of the loop needs it.
                changes.mark_changed();
                continue;
            }
            tokio::select! {
                message = queue.next() => match message {
                    Some(message) => take(message, &mut messages),
                    None => has_ended = true,
                },
                // Never fails: this function owns the sender.
                _ = changes.changed() => changes.mark_changed(),
            }
            continue;
        };
        let sending = match write(&message) {
            Ok(sending) => sending,
            Err(why) => {
                unwritable.report(|n| {
                    tracing::warn!("{name}: {n} message(s) could not be encoded; the last: {why}")
                });
                messages.due.pop_front();
                // Otherwise every new writer would fail on it again.
                messages.kept.retain(|kept| !Arc::ptr_eq(kept, &message));
                continue;
            }
        };
        let Err(why) = sending.await else {
            messages.due.pop_front();
            wait = RETRY_PAUSE;
            continue;
        };
        faults.report(|n| {
            tracing::warn!("{name}: {n} message(s) could not be sent; the last: {why}")
        });
        // Only latched messages are promised to later subscribers; a volatile one is dropped.
        if is_latched && !has_ended {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RETRY_PAUSE);
        } else {
            messages.due.pop_front();
        }
    }
}
