//! The bounded queue between a ROS client's thread and the tasks that read: writing never blocks,
//! and if the reader is slow the oldest items are dropped ("keep last" in ROS).
//!
//! Independent of ROS.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

struct State<T> {
    items: VecDeque<T>,
    dropped: u64,
    senders: usize,
    closed: bool,
}

struct Shared<T> {
    depth: usize,
    state: Mutex<State<T>>,
    wake: Notify,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code panics while it holds the lock, and the state is consistent at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue that keeps the last `depth` items (at least 1).
pub fn keep_last<T>(depth: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        depth: depth.max(1),
        state: Mutex::new(State {
            items: VecDeque::new(),
            dropped: 0,
            senders: 1,
            closed: false,
        }),
        wake: Notify::new(),
    });
    (Sender(shared.clone()), Receiver(shared))
}

/// The writing end. The queue ends when all clones are dropped.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Adds an item, and returns the oldest one if the queue was full. Does nothing once the queue
    /// is closed.
    pub fn push(&self, item: T) -> Option<T> {
        let mut state = self.0.lock();
        if state.closed {
            return None;
        }
        let oldest = if state.items.len() >= self.0.depth {
            state.dropped += 1;
            state.items.pop_front()
        } else {
            None
        };
        state.items.push_back(item);
        drop(state);
        self.0.wake.notify_one();
        oldest
    }

    /// Ends the queue now: the reader gets the remaining items, then `None`.
    pub fn close(&self) {
        self.0.lock().closed = true;
        self.0.wake.notify_one();
    }

    /// Returns whether the queue is closed, so that items can no longer be pushed.
    pub fn is_closed(&self) -> bool {
        self.0.lock().closed
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        if state.senders == 0 {
            state.closed = true;
            drop(state);
            self.0.wake.notify_one();
        }
    }
}

/// The reading end, one per queue.
pub struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// Waits for the next item; `None` once the queue has ended and is empty.
    ///
    /// Cancel-safe: an item is taken only when it is returned.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            {
                let mut state = self.0.lock();
                if let Some(item) = state.items.pop_front() {
                    return Some(item);
                }
                if state.closed {
                    return None;
                }
            }
            // There is one reader, so a permit that `notify_one` stored between the check above and
            // this wait is for this reader.
            self.0.wake.notified().await;
        }
    }

    /// Returns the next item if one is queued.
    pub fn try_next(&mut self) -> Option<T> {
        self.0.lock().items.pop_front()
    }

    /// Returns the number of items that were dropped to make room.
    pub fn dropped(&self) -> u64 {
        self.0.lock().dropped
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        // Senders may outlive the reader, so free the items now.
        state.items.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_last_and_counts_the_rest() {
        let (sender, mut receiver) = keep_last(2);
        assert_eq!(
            [sender.push(1), sender.push(2), sender.push(3)],
            [None, None, Some(1)]
        );
        assert_eq!(receiver.dropped(), 1);
        drop(sender);
        assert_eq!(
            (
                receiver.next().await,
                receiver.next().await,
                receiver.next().await
            ),
            (Some(2), Some(3), None)
        );
    }

    #[tokio::test]
    async fn a_waiting_reader_wakes_for_items_and_for_the_end() {
        let (sender, mut receiver) = keep_last(8);
        let reader = tokio::spawn(async move {
            let mut sum = 0;
            while let Some(n) = receiver.next().await {
                sum += n;
            }
            sum
        });
        let other = sender.clone();
        for n in 1..=3 {
            sender.push(n);
            tokio::task::yield_now().await;
        }
        drop(sender);
        other.push(4);
        drop(other);
        assert_eq!(reader.await.ok(), Some(10));
    }

    #[test]
    fn a_queue_without_reader_takes_nothing() {
        let (sender, receiver) = keep_last(2);
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.push(1), None);
    }
}
