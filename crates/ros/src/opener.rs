//! The thread that opens and closes all topics and services of a node.
//!
//! It works in order, and waits for the network as long as necessary so that no caller and no task
//! has to. It retries what can't be opened. If a network replaces its session ([`Upkeep`]), it
//! opens everything in the new one, too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::faults::transport;
use super::transport::{Attempt, Open};
use urdf_usd_diagnostic::Diagnostic;

/// Pause before the first retry; it doubles with each failure, up to [`MAX_RETRY`].
const RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// Maximum interval between two calls of [`Upkeep::tick`].
pub(super) const TICK: Duration = Duration::from_millis(200);

/// Schedules retries with exponential backoff.
pub(super) struct Retry {
    due: Instant,
    pause: Duration,
}

impl Retry {
    /// Schedules the first attempt, at once.
    pub fn now() -> Self {
        Self {
            due: Instant::now(),
            pause: Duration::ZERO,
        }
    }

    /// Schedules the next attempt after this one failed.
    #[must_use]
    pub fn again(&self) -> Self {
        let pause = (self.pause * 2).clamp(RETRY, MAX_RETRY);
        Self {
            due: Instant::now() + pause,
            pause,
        }
    }

    /// Returns whether the attempt is due.
    pub fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// Returns whether no attempt has failed yet, so that a failure is news.
    pub fn is_first(&self) -> bool {
        self.pause.is_zero()
    }
}

/// Periodic work of a network, done on the opener's thread.
pub(super) trait Upkeep: Send {
    /// Called first whenever the thread wakes, after at most [`TICK`].
    fn on_wake(&mut self);

    /// Called after each command, and every [`TICK`].
    fn tick(&mut self, ends: &mut Ends);
}

/// All endpoints that the node wants to have open.
#[derive(Default)]
pub(super) struct Ends {
    /// Number of the session that endpoints are opened in.
    session: u64,
    wanted: BTreeMap<u64, End>,
    /// Endpoints that could not be opened in the current session, by their numbers.
    failed: BTreeMap<u64, Retry>,
}

/// An endpoint that the node wants to have open.
struct End {
    name: String,
    attempt: Attempt,
    /// The open endpoint in each session, by the number of the session.
    open: BTreeMap<u64, Open>,
}

impl Ends {
    /// Opens all endpoints in a new session. Those open in earlier sessions stay.
    pub fn reopen(&mut self, session: u64) {
        self.session = session;
        // These retries belong to the previous session; in the new one nothing has failed yet.
        self.failed.clear();
        let ids: Vec<u64> = self.wanted.keys().copied().collect();
        ids.into_iter().for_each(|id| self.open(id, &Retry::now()));
    }

    /// Closes the endpoints of an earlier session.
    pub fn close_session(&mut self, session: u64) {
        for end in self.wanted.values_mut() {
            end.open.remove(&session);
        }
    }

    fn add(&mut self, id: u64, name: String, attempt: Attempt) {
        let open = BTreeMap::new();
        self.wanted.insert(
            id,
            End {
                name,
                attempt,
                open,
            },
        );
        self.open(id, &Retry::now());
    }

    fn remove(&mut self, id: u64) {
        self.failed.remove(&id);
        self.wanted.remove(&id);
    }

    /// Tries again to open the endpoints whose retry is due.
    fn retry(&mut self) {
        let due: Vec<u64> = self
            .failed
            .iter()
            .filter(|(_, retry)| retry.is_due())
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            if let Some(retry) = self.failed.remove(&id) {
                self.open(id, &retry);
            }
        }
    }

    fn open(&mut self, id: u64, retry: &Retry) {
        let Some(end) = self.wanted.get_mut(&id) else {
            return;
        };
        match (end.attempt)() {
            Ok(open) => drop(end.open.insert(self.session, open)),
            Err(error) => {
                if retry.is_first() {
                    tracing::warn!("can't open {} yet, trying again: {error}", end.name);
                }
                self.failed.insert(id, retry.again());
            }
        }
    }

    /// Returns the time of the next retry.
    fn next_due(&self) -> Option<Instant> {
        self.failed.values().map(|retry| retry.due).min()
    }

    fn into_open(self) -> Vec<Open> {
        let ends = self.wanted.into_values();
        ends.flat_map(|end| end.open.into_values()).collect()
    }
}

enum Command {
    Open(u64, String, Attempt),
    Close(u64),
    Leave(Box<dyn FnOnce(Vec<Open>) + Send>),
}

/// The handle of the thread.
pub(super) struct Opener {
    commands: Sender<Command>,
    last: AtomicU64,
}

/// Closes an endpoint when dropped.
pub(super) struct Opening {
    id: u64,
    commands: Sender<Command>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        // Fails once the thread has ended, which closed everything.
        let _ = self.commands.send(Command::Close(self.id));
    }
}

/// Ends the node if the thread that owns this panics: otherwise it would stay in the graph without a
/// way to open or close an endpoint.
pub(super) struct EndOnPanic<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for EndOnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

impl Opener {
    /// Starts the thread. `end` is called if it panics.
    ///
    /// # Errors
    /// [`super::codes::TRANSPORT`].
    pub(super) fn start(
        upkeep: Option<Box<dyn Upkeep>>,
        end: impl Fn() + Send + 'static,
    ) -> Result<Self, Diagnostic> {
        let (commands, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("ros-open".to_owned())
            .spawn(move || {
                let _guard = EndOnPanic(end);
                run(&receiver, upkeep);
            });
        thread.map_err(|error| transport("can't start threads", error))?;
        Ok(Self {
            commands,
            last: AtomicU64::new(0),
        })
    }

    /// Opens an endpoint until the returned handle is dropped. Returns at once.
    ///
    /// `name` is for log messages.
    pub(super) fn open(&self, name: &str, attempt: Attempt) -> Opening {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        // Fails only after the node has left; nothing is opened then.
        let _ = self
            .commands
            .send(Command::Open(id, name.to_owned(), attempt));
        Opening {
            id,
            commands: self.commands.clone(),
        }
    }

    /// Passes all open endpoints to `leave`, on the thread, and then ends the thread. Returns at
    /// once.
    pub(super) fn leave(&self, leave: impl FnOnce(Vec<Open>) + Send + 'static) {
        let _ = self.commands.send(Command::Leave(Box::new(leave)));
    }
}

fn run(commands: &Receiver<Command>, mut upkeep: Option<Box<dyn Upkeep>>) {
    let mut ends = Ends::default();
    loop {
        let due = ends.next_due();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        let wait = match (wait, &upkeep) {
            (wait, Some(_)) => Some(wait.unwrap_or(TICK).min(TICK)),
            (wait, None) => wait,
        };
        let command = match wait {
            Some(wait) => commands.recv_timeout(wait),
            None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        if let Some(upkeep) = &mut upkeep {
            upkeep.on_wake();
        }
        match command {
            Ok(Command::Open(id, name, attempt)) => ends.add(id, name, attempt),
            Ok(Command::Close(id)) => ends.remove(id),
            Ok(Command::Leave(leave)) => {
                // It may own sessions, which end when `leave` drops their last owner.
                drop(upkeep);
                return leave(ends.into_open());
            }
            Err(RecvTimeoutError::Timeout) => ends.retry(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some(upkeep) = &mut upkeep {
            upkeep.tick(&mut ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn failures_are_retried_and_leave_gets_all_open_endpoints() {
        let (opened, opens) = channel();
        let opener = Opener::start(None, || ()).expect("a thread");
        let count = Arc::<AtomicUsize>::default();
        let attempts = count.clone();
        let attempt = move || match attempts.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(transport("late", "not yet")),
            _ => {
                opened.send(()).expect("the test waits");
                Ok(Box::new("late") as Open)
            }
        };
        let late = opener.open("late", Box::new(attempt));
        let closed = opener.open("closed", Box::new(|| Ok(Box::new("closed"))));
        let _open = opener.open("open", Box::new(|| Ok(Box::new("open"))));
        let never = opener.open("never", Box::new(|| Err(transport("never", "no"))));
        drop(closed);
        opens.recv_timeout(PATIENCE).expect("it is tried again");
        drop(never);
        let (left, leaving) = channel();
        opener.leave(move |open| left.send(open.len()).expect("the test waits"));
        assert_eq!(leaving.recv_timeout(PATIENCE), Ok(2));
        assert_eq!(count.load(Ordering::Relaxed), 3);
        drop(late);
    }

    /// Records the moment when it is dropped.
    struct Noted(&'static str, Arc<Mutex<Vec<&'static str>>>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn everything_is_opened_in_a_new_session_beside_what_is_open() {
        let closed = Arc::<Mutex<Vec<_>>>::default();
        let names = Mutex::new(["second", "first"].to_vec());
        let noted = closed.clone();
        let attempt = move || match names.lock().unwrap().pop() {
            Some(name) => Ok(Box::new(Noted(name, noted.clone())) as Open),
            None => Err(transport("third", "not yet")),
        };
        let mut ends = Ends::default();
        ends.add(0, "it".to_owned(), Box::new(attempt));
        ends.reopen(1);
        assert_eq!(closed.lock().unwrap()[..], [""; 0]);
        ends.close_session(0);
        assert_eq!(closed.lock().unwrap()[..], ["first"]);
        ends.reopen(2);
        assert!(ends.next_due().is_some(), "it is tried again");
        assert_eq!(ends.into_open().len(), 1);
    }

    #[test]
    fn a_panic_ends_the_node() {
        let (ended, ends) = channel();
        let end = move || ended.send(()).expect("the test waits");
        let opener = Opener::start(None, end).expect("a thread");
        let _opening = opener.open("defect", Box::new(|| panic!("a defect")));
        ends.recv_timeout(PATIENCE).expect("the node has ended");
    }

    #[test]
    fn retries_back_off() {
        let mut retry = Retry::now();
        assert!(retry.is_due() && retry.is_first());
        let mut pauses = Vec::new();
        for _ in 0..9 {
            retry = retry.again();
            assert!(!retry.is_due() && !retry.is_first());
            pauses.push(retry.pause.as_millis());
        }
        assert_eq!(pauses[..3], [200, 400, 800]);
        assert_eq!(pauses[8], MAX_RETRY.as_millis());
    }
}
