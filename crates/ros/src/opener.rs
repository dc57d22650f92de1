//! The thread of a client that opens and closes what the node wants to have in the network, in
//! order, and waits for that as long as it takes. What can't be opened is tried again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::faults::transport;
use super::transport::Open;
use urdf_usd_diagnostic::Diagnostic;

/// How long to wait before something that could not be opened is tried again, at first and at most.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_AT_MOST: Duration = Duration::from_secs(30);

/// Opens something.
type Attempt = Box<dyn Fn() -> Result<Open, Diagnostic> + Send>;

enum Command {
    Open(u64, String, Attempt),
    Close(u64),
    Leave(Box<dyn FnOnce(Vec<Open>) + Send>),
}

/// What could not be opened yet.
struct Unopened {
    name: String,
    attempt: Attempt,
    due: Instant,
    wait: Duration,
}

/// The thread. It ends when this and all that it has open is dropped.
pub(super) struct Opener {
    commands: Sender<Command>,
    last: AtomicU64,
}

/// Closes what was opened, when dropped.
pub(super) struct Opening {
    id: u64,
    commands: Sender<Command>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        // Fails where the thread has ended, and all with it.
        let _ = self.commands.send(Command::Close(self.id));
    }
}

impl Opener {
    /// Starts it.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    pub(super) fn new() -> Result<Self, Diagnostic> {
        let (commands, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("ros-open".to_owned())
            .spawn(move || run(&receiver));
        thread.map_err(|error| transport("can't start threads", error))?;
        Ok(Self {
            commands,
            last: AtomicU64::new(0),
        })
    }

    /// Has something opened that is called `name`, until what is returned is dropped. Returns at
    /// once.
    pub(super) fn open(
        &self,
        name: &str,
        attempt: impl Fn() -> Result<Open, Diagnostic> + Send + 'static,
    ) -> Opening {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        // After the end nothing is opened any more.
        let _ = self
            .commands
            .send(Command::Open(id, name.to_owned(), Box::new(attempt)));
        Opening {
            id,
            commands: self.commands.clone(),
        }
    }

    /// Hands all that is open to `leave`, on its thread, which ends then. Returns at once.
    pub(super) fn leave(&self, leave: impl FnOnce(Vec<Open>) + Send + 'static) {
        let _ = self.commands.send(Command::Leave(Box::new(leave)));
    }
}

fn run(commands: &Receiver<Command>) {
    let mut open = BTreeMap::<u64, Open>::new();
    let mut unopened = BTreeMap::<u64, Unopened>::new();
    loop {
        let due = unopened.values().map(|waiting| waiting.due).min();
        let command = match due {
            Some(due) => commands.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let (id, waiting) = match command {
            Ok(Command::Open(id, name, attempt)) => (
                id,
                Unopened {
                    name,
                    attempt,
                    due: Instant::now(),
                    wait: AGAIN,
                },
            ),
            Ok(Command::Close(id)) => {
                unopened.remove(&id);
                open.remove(&id);
                continue;
            }
            Ok(Command::Leave(leave)) => return leave(open.into_values().collect()),
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                let due = unopened
                    .iter()
                    .find(|(_, waiting)| waiting.due <= now)
                    .map(|(id, _)| *id);
                let Some((id, waiting)) = due.and_then(|id| unopened.remove_entry(&id)) else {
                    continue;
                };
                (id, waiting)
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        match (waiting.attempt)() {
            Ok(opened) => drop(open.insert(id, opened)),
            Err(why) => {
                if waiting.wait == AGAIN {
                    tracing::warn!("{} can't be opened yet: {why}", waiting.name);
                }
                let Unopened {
                    name,
                    attempt,
                    wait,
                    ..
                } = waiting;
                let due = Instant::now() + wait;
                unopened.insert(
                    id,
                    Unopened {
                        name,
                        attempt,
                        due,
                        wait: (wait * 2).min(AGAIN_AT_MOST),
                    },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn what_can_t_be_opened_is_tried_again_and_all_is_handed_over_at_the_end() {
        let (opener, (told, tells)) = (Opener::new().expect("a thread"), channel());
        let count = Arc::<AtomicUsize>::default();
        let attempts = count.clone();
        let late = opener.open("late", move || {
            match attempts.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => Err(transport("late", "not yet")),
                _ => {
                    told.send(()).expect("the test waits");
                    Ok(Box::new("late"))
                }
            }
        });
        let closed = opener.open("closed", || Ok(Box::new("closed")));
        let _open = opener.open("open", || Ok(Box::new("open")));
        let never = opener.open("never", || Err(transport("never", "no")));
        drop(closed);
        tells
            .recv_timeout(Duration::from_secs(30))
            .expect("it is tried again");
        drop(never);
        let (told, left) = channel();
        opener.leave(move |open| told.send(open.len()).expect("the test waits"));
        assert_eq!(left.recv_timeout(Duration::from_secs(30)), Ok(2));
        assert_eq!(count.load(Ordering::Relaxed), 3);
        drop(late);
    }
}
