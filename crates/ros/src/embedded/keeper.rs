//! Keeps the node in the ROS graph while the addresses of this machine change.
//!
//! Cyclone DDS chooses its network interfaces when a participant is created. When the machine's
//! addresses change, the node joins again with a new participant, opens all its endpoints there,
//! and leaves the old session after exchanges in progress had time to end. Cyclone itself handles
//! everything else: peers that were suspended, whose lease expired, or that come back.
//!
//! The keeper works on the thread that opens the node's endpoints ([`crate::opener`]).

use std::net::IpAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::graph::Union;
use super::network::Network;
use super::session::{CATCH_UP, Session};
use crate::Graph;
use crate::faults::{ended, transport};
use crate::opener::{Ends, Retry, TICK, Upkeep};
use crate::transport::{Open, Setup};
use urdf_usd_diagnostic::Diagnostic;

/// Minimum length of a standstill of this process. During one, events arrive late and in any order;
/// shorter pauses are scheduling.
const MIN_STANDSTILL: Duration = Duration::from_millis(100);
/// Poll interval for the addresses of this machine.
const ADDRESS_POLL: Duration = Duration::from_secs(2);
/// Interval at which names of static peers are resolved again, and time limit for the first
/// resolution.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
const FIRST_RESOLVE: Duration = Duration::from_secs(1);
/// How long the old session overlaps the new one: exchanges in progress end there, and peers
/// discover the new one meanwhile.
const OVERLAP: Duration = CATCH_UP;
/// Time that tasks have to drop their endpoints before their session ends.
const CLOSE: Duration = Duration::from_millis(50);

/// The addresses that a session depends on: Cyclone reads both only at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    /// This machine's addresses, as far as the node uses them.
    pub own: Vec<IpAddr>,
    /// The addresses of static peers.
    pub peers: Vec<IpAddr>,
}

/// Looks up the current addresses. Never waits.
pub(super) type LookUp = Box<dyn Fn() -> Addresses + Send>;

/// The sessions of a node; empty before the node has joined, and after it has left.
#[derive(Default)]
pub(super) struct Sessions(RwLock<State>);

#[derive(Clone, Default)]
struct State {
    /// The sessions, the current one first.
    all: Vec<Arc<Session>>,
    /// The session that endpoints are opened in: the current one, or the next one until it has all
    /// of them.
    open_in: Option<Arc<Session>>,
}

impl Sessions {
    fn state(&self) -> State {
        // Cloned, so that callers hold sessions without the lock.
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, state: State) -> State {
        std::mem::replace(
            &mut *self.0.write().unwrap_or_else(PoisonError::into_inner),
            state,
        )
    }

    /// Returns all sessions, the current one first.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.state().all
    }

    /// Returns the current session.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`] after the node has left.
    pub(super) fn current(&self) -> Result<Arc<Session>, Diagnostic> {
        self.state().all.into_iter().next().ok_or_else(ended)
    }

    /// Returns the session to open endpoints in.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`] after the node has left.
    pub(super) fn open_in(&self) -> Result<Arc<Session>, Diagnostic> {
        self.state().open_in.ok_or_else(ended)
    }

    /// Returns the merged graph of all sessions: the new one may not have discovered everyone yet.
    pub(super) fn graph(&self) -> Graph {
        let sessions = self.all();
        let mut union = Union::without(sessions.iter().map(|session| session.dds.gid()));
        for (n, session) in sessions.iter().enumerate() {
            session.graph.add_to(n == 0, &mut union);
        }
        union.graph()
    }

    /// Leaves all sessions, after closing the endpoints that are open in them.
    pub(super) fn leave(&self, open: Vec<Open>) {
        // Emptied first: calls and openings that begin from here on fail with `ended`.
        let left = self.set(State::default());
        left.all.iter().for_each(|session| session.leave());
        drop(open);
        // Aborted tasks drop their endpoints on other threads.
        thread::sleep(CLOSE);
    }
}

/// A session that has not been left yet.
struct Live {
    session: Arc<Session>,
    /// Time of its replacement.
    retired: Option<Instant>,
}

/// Joins the ROS graph as the session of this number, with static peers at these addresses.
type Join = dyn Fn(u64, &[IpAddr]) -> Result<Arc<Session>, Diagnostic> + Send;

/// Watches the addresses, and replaces the session when they change.
pub(super) struct Keeper {
    join: Box<Join>,
    changes: watch::Sender<()>,
    sessions: Arc<Sessions>,
    /// The current session first.
    lives: Vec<Live>,
    /// The time at the last check for a standstill.
    looked: Duration,
    look_up: LookUp,
    addresses: Addresses,
    addresses_due: Instant,
    /// When to join again, if the current session must be replaced.
    replacement: Option<Retry>,
}

impl Keeper {
    /// Joins the ROS graph.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn join(
        network: &Network,
        setup: &Setup,
        look_up: LookUp,
    ) -> Result<Self, Diagnostic> {
        let (network, node) = (network.clone(), setup.node.clone());
        let (changes, handle) = (setup.changes.clone(), setup.handle.clone());
        let join = move |number, peers: &[IpAddr]| {
            let (node, changes) = (node.clone(), changes.clone());
            Session::join(number, &network, peers, node, changes, &handle)
        };
        let addresses = look_up();
        let session = join(0, &addresses.peers)?;
        let keeper = Self {
            join: Box::new(join),
            changes: setup.changes.clone(),
            sessions: Arc::default(),
            lives: vec![Live {
                session,
                retired: None,
            }],
            looked: now(),
            look_up,
            addresses,
            addresses_due: Instant::now() + ADDRESS_POLL,
            replacement: None,
        };
        keeper.publish();
        Ok(keeper)
    }

    /// Returns the node's sessions.
    pub(super) fn sessions(&self) -> Arc<Sessions> {
        self.sessions.clone()
    }

    /// Records a standstill if more time than `expected` has passed since the last check.
    fn look(&mut self, expected: Duration) {
        let looked = std::mem::replace(&mut self.looked, now());
        if self.looked.saturating_sub(looked + expected) > MIN_STANDSTILL {
            self.lives
                .iter()
                .for_each(|live| live.session.note_standstill());
        }
    }

    /// Publishes the list of sessions.
    fn publish(&self) {
        let all: Vec<_> = self.lives.iter().map(|live| live.session.clone()).collect();
        let open_in = all.first().cloned();
        self.sessions.set(State { all, open_in });
        self.changes.send_replace(());
    }

    /// Leaves the sessions whose overlap is over.
    fn leave_retired(&mut self, ends: &mut Ends) {
        let is_over = |live: &Live| live.retired.is_some_and(|at| at.elapsed() > OVERLAP);
        if !self.lives.iter().any(is_over) {
            return;
        }
        let lives = std::mem::take(&mut self.lives).into_iter();
        let (over, lives): (Vec<_>, Vec<_>) = lives.partition(is_over);
        self.lives = lives;
        // Published before they are left, so that no new exchange starts in one of them.
        self.publish();
        for live in over {
            live.session.leave();
            ends.close_session(live.session.number);
            // Aborted tasks drop their endpoints on other threads.
            thread::sleep(CLOSE);
        }
        // This took time, which is not a standstill.
        self.looked = now();
    }

    /// Replaces the current session by a new one.
    fn replace(&mut self, retry: &Retry, ends: &mut Ends) {
        let number = self.lives.first().map_or(0, |live| live.session.number + 1);
        match (self.join)(number, &self.addresses.peers) {
            Ok(session) => {
                tracing::info!(
                    "the addresses of this machine or of static peers have changed: joined the ROS graph again"
                );
                // The old session stays current until the new one has all of its endpoints.
                self.sessions.set(State {
                    all: self.sessions.all(),
                    open_in: Some(session.clone()),
                });
                ends.reopen(number);
                // The old session announces the node until here: at every moment, one of the two
                // announces all endpoints.
                for old in self.lives.iter_mut().filter(|old| old.retired.is_none()) {
                    old.retired = Some(Instant::now());
                    old.session.retire();
                }
                let retired = None;
                self.lives.insert(0, Live { session, retired });
                self.publish();
            }
            Err(error) => {
                if retry.is_first() {
                    tracing::warn!(
                        "the addresses of this machine or of static peers have changed, and joining the ROS graph again failed: {error}; trying again"
                    );
                }
                self.replacement = Some(retry.again());
            }
        }
        // This took time, which is not a standstill.
        self.looked = now();
    }
}

impl Upkeep for Keeper {
    fn on_wake(&mut self) {
        self.look(TICK);
    }

    fn tick(&mut self, ends: &mut Ends) {
        // Nothing waits between `on_wake` and here. A command that took long counts as a
        // standstill, too; at worst, an answer is repeated.
        self.look(Duration::ZERO);
        self.leave_retired(ends);
        if Instant::now() >= self.addresses_due {
            self.addresses_due = Instant::now() + ADDRESS_POLL;
            let addresses = (self.look_up)();
            if addresses != self.addresses {
                self.addresses = addresses;
                // Messages of the existing sessions may no longer arrive, so answers are repeated
                // in the new one.
                self.lives.iter().for_each(|live| live.session.note_moved());
                // Restarts the backoff: the network may be back.
                self.replacement = Some(Retry::now());
            }
        }
        if let Some(retry) = self.replacement.take_if(|retry| retry.is_due()) {
            self.replace(&retry, ends);
        }
    }
}

/// Returns the time since the machine was started, including suspension.
fn now() -> Duration {
    // Not `Instant`: on Linux, that is CLOCK_MONOTONIC, which stops during a suspension.
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}

/// Returns the look-up of a network's addresses. A separate thread resolves the names of static
/// peers, because name servers may be slow.
pub(super) fn look_up(network: &Network) -> Result<LookUp, Diagnostic> {
    if !network.has_named_peers() {
        let (network, peers) = (network.clone(), network.resolve_static_peers());
        return Ok(Box::new(move || Addresses {
            own: own_addresses(&network),
            peers: peers.clone(),
        }));
    }
    let (resolved, peers) = watch::channel(Vec::new());
    let (told, first) = channel();
    let resolving = network.clone();
    let resolve = move || {
        // Ends when the node has left.
        while resolved.send(resolving.resolve_static_peers()).is_ok() {
            // Only the first one is awaited; the receiver is gone afterwards.
            let _ = told.send(());
            thread::sleep(RESOLVE_INTERVAL);
        }
    };
    let thread = thread::Builder::new()
        .name("ros-peers".to_owned())
        .spawn(resolve);
    thread.map_err(|error| transport("can't start threads", error))?;
    // Addresses found later cause a new session.
    let _ = first.recv_timeout(FIRST_RESOLVE);
    let network = network.clone();
    Ok(Box::new(move || Addresses {
        own: own_addresses(&network),
        peers: peers.borrow().clone(),
    }))
}

/// Returns the addresses of this machine that the node uses; empty if the node is limited to this
/// machine, because it then depends on none.
fn own_addresses(network: &Network) -> Vec<IpAddr> {
    if !network.uses_all_interfaces() {
        return Vec::new();
    }
    let mut found: Vec<_> = if_addrs::get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .map(|interface| interface.ip())
        .collect();
    // In a fixed order, because `tick` compares the list with the previous one.
    found.sort_unstable();
    found.dedup();
    found
}
