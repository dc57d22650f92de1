//! Keeps the node in the ROS graph while the addresses of this machine change.
//!
//! Cyclone DDS chooses its network interfaces when a participant is created. When the machine's
//! addresses change, the node joins again with a new participant, opens all its endpoints there,
//! and leaves the old session once what was under way there had time to end. Everything else (peers
//! that stood still, whose lease ran out, or that come back) Cyclone handles by itself.
//!
//! One thread opens and closes everything, so that neither tasks nor callers wait for the network.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::ends::{End, InSession};
use super::graph::Union;
use super::network::Network;
use super::session::{CATCH_UP, Session};
use crate::Graph;
use crate::faults::{ended, transport};
use crate::names::NodeName;
use urdf_usd_diagnostic::Diagnostic;

/// Interval at which the thread looks for standstills and for work that is due.
pub(super) const TICK: Duration = Duration::from_millis(200);
/// Events during a standstill of this process are heard late, and in any order; shorter ones are
/// scheduling.
const MIN_STANDSTILL: Duration = Duration::from_millis(100);
/// Poll interval for the addresses of this machine.
const ADDRESS_POLL: Duration = Duration::from_secs(2);
/// Interval at which names of static peers are resolved anew, and how long the node waits for the
/// first time.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
const FIRST_RESOLVE: Duration = Duration::from_secs(1);
/// How long the old session stays beside the new one: exchanges under way end there, and peers
/// discover the new one meanwhile.
const OVERLAP: Duration = CATCH_UP;
/// How long tasks may take to drop their endpoints before their session ends.
const CLOSE: Duration = Duration::from_millis(50);
/// Pause before something that failed is tried again: at first, and doubled up to.
const RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How long shutting down may take.
const LEAVE: Duration = Duration::from_secs(2);

/// The addresses that a session depends on: Cyclone takes neither up later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Addresses {
    /// This machine's, as far as the node uses them.
    own: Vec<IpAddr>,
    /// Those of static peers.
    peers: Vec<IpAddr>,
}

/// Looks up the addresses as they are now. Never waits.
type LookUp = Box<dyn Fn() -> Addresses + Send>;

/// Called if the node can't be kept in the graph.
type EndNode = Arc<dyn Fn() + Send + Sync>;

/// Ends the node if the thread that keeps it in the graph panics, rather than leave it there deaf.
struct EndOnPanic(EndNode);

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

enum Command {
    Open(u64, Weak<dyn End>),
    Close(u64),
    Leave,
}

/// The sessions of a node, the current one first. None before the node has joined, and after it has
/// left.
#[derive(Default)]
pub(super) struct Sessions(RwLock<Vec<Arc<Session>>>);

impl Sessions {
    /// Returns all of them, the current one first.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the current one.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`] after the node has left.
    pub(super) fn current(&self) -> Result<Arc<Session>, Diagnostic> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .first()
            .cloned()
            .ok_or_else(ended)
    }

    fn set(&self, sessions: Vec<Arc<Session>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = sessions;
    }

    /// Returns what all of them know together: the new session may not have discovered everyone
    /// yet.
    pub(super) fn graph(&self) -> Graph {
        let sessions = self.all();
        let mut union = Union::without(sessions.iter().map(|session| session.dds.gid()));
        for (n, session) in sessions.iter().enumerate() {
            session.graph.add_to(n == 0, &mut union);
        }
        union.graph()
    }
}

/// Closes what was opened, when dropped.
pub(super) struct Registered {
    id: u64,
    commands: Sender<Command>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Fails once the thread has ended, and everything with it.
        let _ = self.commands.send(Command::Close(self.id));
    }
}

/// The handle of the thread. Dropping it leaves the ROS graph.
pub(super) struct Supervisor {
    pub sessions: Arc<Sessions>,
    commands: Sender<Command>,
    next: AtomicU64,
    thread: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// Joins the ROS graph. Every change in it ticks `changes`; `end` is called if the thread ends
    /// by a defect.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn start(
        network: &Network,
        node: &NodeName,
        changes: &watch::Sender<()>,
        handle: &Handle,
        end: EndNode,
    ) -> Result<Self, Diagnostic> {
        Self::start_with(network, node, changes, handle, end, look_up(network)?)
    }

    fn start_with(
        network: &Network,
        node: &NodeName,
        changes: &watch::Sender<()>,
        handle: &Handle,
        end: EndNode,
        look_up: LookUp,
    ) -> Result<Self, Diagnostic> {
        let join = {
            let (network, node, changes, handle) = (
                network.clone(),
                node.clone(),
                changes.clone(),
                handle.clone(),
            );
            move |number, peers: &[IpAddr]| {
                Session::join(
                    number,
                    &network,
                    peers,
                    node.clone(),
                    changes.clone(),
                    &handle,
                )
            }
        };
        let addresses = look_up();
        let first = Live::new(join(0, &addresses.peers)?);
        let sessions = Arc::<Sessions>::default();
        let (sender, receiver) = channel();
        let mut keeper = Keeper {
            join: Box::new(join),
            handle: handle.clone(),
            changes: changes.clone(),
            sessions: sessions.clone(),
            wanted: BTreeMap::new(),
            lives: vec![first],
            looked: now(),
            look_up,
            addresses,
            addresses_due: Instant::now() + ADDRESS_POLL,
            replacement: None,
        };
        keeper.publish();
        let thread = thread::Builder::new()
            .name("ros-keeper".to_owned())
            .spawn(move || {
                let _guard = EndOnPanic(end);
                keeper.run(&receiver);
                keeper.leave();
            });
        let thread = thread.map_err(|error| transport("can't start threads", error))?;
        Ok(Self {
            sessions,
            commands: sender,
            next: AtomicU64::new(0),
            thread: Some(thread).into(),
        })
    }

    /// Opens `end` in this session and all later ones, until the guard returned is dropped. Returns
    /// at once.
    pub(super) fn open(&self, end: &Arc<impl End + 'static>) -> Registered {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let weak: Weak<dyn End> = Arc::downgrade(end) as Weak<dyn End>;
        // Fails after the node has left, when nothing is opened any more.
        let _ = self.commands.send(Command::Open(id, weak));
        Registered {
            id,
            commands: self.commands.clone(),
        }
    }

    /// Leaves the ROS graph, and waits for it for [`LEAVE`] at most.
    pub(super) fn leave(&self) {
        let Some(thread) = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        else {
            return;
        };
        let _ = self.commands.send(Command::Leave);
        let start = Instant::now();
        while !thread.is_finished() && start.elapsed() < LEAVE {
            thread::sleep(Duration::from_millis(2));
        }
        if !thread.is_finished() {
            tracing::warn!("did not leave the ROS graph in good order");
        }
    }
}

/// When to try something again that failed.
struct Retry {
    due: Instant,
    pause: Duration,
}

impl Retry {
    fn first() -> Self {
        Self {
            due: Instant::now() + RETRY,
            pause: RETRY,
        }
    }

    fn later(&self) -> Self {
        let pause = (self.pause * 2).min(MAX_RETRY);
        Self {
            due: Instant::now() + pause,
            pause,
        }
    }
}

/// A session and what is open in it.
struct Live {
    session: Arc<Session>,
    open: BTreeMap<u64, InSession>,
    /// What could not be opened yet.
    failed: BTreeMap<u64, (Weak<dyn End>, Retry)>,
    /// When it was replaced.
    retired: Option<Instant>,
}

impl Live {
    fn new(session: Arc<Session>) -> Self {
        Self {
            session,
            open: BTreeMap::new(),
            failed: BTreeMap::new(),
            retired: None,
        }
    }

    fn open(&mut self, id: u64, weak: &Weak<dyn End>, retry: Option<Retry>, handle: &Handle) {
        let Some(end) = weak.upgrade() else { return };
        let name = end.name().to_owned();
        match end.open(&self.session, handle) {
            Ok(opened) => drop(self.open.insert(id, opened)),
            Err(error) => {
                if retry.is_none() {
                    tracing::warn!("{name} can't be opened yet: {error}");
                }
                let retry = retry.map_or_else(Retry::first, |retry| retry.later());
                self.failed.insert(id, (weak.clone(), retry));
            }
        }
    }

    /// Tries again what could not be opened, where that is due.
    fn retry(&mut self, handle: &Handle) {
        let now = Instant::now();
        let due: Vec<u64> = self
            .failed
            .iter()
            .filter(|(_, (_, retry))| retry.due <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            if let Some((end, retry)) = self.failed.remove(&id) {
                self.open(id, &end, Some(retry), handle);
            }
        }
    }

    fn close(&mut self, id: u64) {
        self.failed.remove(&id);
        self.open.remove(&id);
    }

    /// Leaves the session.
    fn leave(self) {
        self.session.leave();
        drop(self.open);
        // Aborted tasks drop their endpoints on other threads.
        thread::sleep(CLOSE);
    }
}

/// Joins the ROS graph as the session of a number, with static peers at these addresses.
type Join = dyn Fn(u64, &[IpAddr]) -> Result<Arc<Session>, Diagnostic> + Send;

/// The state of the thread.
struct Keeper {
    join: Box<Join>,
    handle: Handle,
    changes: watch::Sender<()>,
    sessions: Arc<Sessions>,
    /// Everything that the node wants to have open.
    wanted: BTreeMap<u64, Weak<dyn End>>,
    /// The current session first.
    lives: Vec<Live>,
    /// When the thread last looked at the clock.
    looked: Duration,
    look_up: LookUp,
    addresses: Addresses,
    addresses_due: Instant,
    /// When to join again, if the current session has to be replaced.
    replacement: Option<Retry>,
}

impl Keeper {
    /// Works until the node leaves.
    fn run(&mut self, commands: &Receiver<Command>) {
        loop {
            let command = commands.recv_timeout(TICK);
            self.look(TICK);
            match command {
                Ok(Command::Open(id, end)) => {
                    if let Some(live) = self.lives.first_mut() {
                        live.open(id, &end, None, &self.handle);
                    }
                    self.wanted.insert(id, end);
                }
                Ok(Command::Close(id)) => {
                    self.wanted.remove(&id);
                    self.lives.iter_mut().for_each(|live| live.close(id));
                }
                Err(RecvTimeoutError::Timeout) => self
                    .lives
                    .iter_mut()
                    .for_each(|live| live.retry(&self.handle)),
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look(Duration::ZERO);
            self.tick();
        }
    }

    /// Notes a standstill if more time than `expected` has passed since the last look.
    fn look(&mut self, expected: Duration) {
        let looked = std::mem::replace(&mut self.looked, now());
        if self.looked.saturating_sub(looked + expected) > MIN_STANDSTILL {
            self.lives
                .iter()
                .for_each(|live| live.session.note_standstill());
        }
    }

    /// Ends everything that is open, and leaves.
    fn leave(&mut self) {
        self.sessions.set(Vec::new());
        self.wanted.clear();
        std::mem::take(&mut self.lives)
            .into_iter()
            .for_each(Live::leave);
    }

    /// Publishes which sessions there are.
    fn publish(&self) {
        self.sessions
            .set(self.lives.iter().map(|live| live.session.clone()).collect());
        self.changes.send_replace(());
    }

    /// Does what is due.
    fn tick(&mut self) {
        let instant = Instant::now();
        let is_over = |live: &Live| {
            live.retired
                .is_some_and(|retired| instant.duration_since(retired) > OVERLAP)
        };
        if self.lives.iter().any(is_over) {
            let (over, lives) = std::mem::take(&mut self.lives)
                .into_iter()
                .partition(is_over);
            self.lives = lives;
            self.publish();
            let over: Vec<Live> = over;
            over.into_iter().for_each(Live::leave);
            // What that took is no standstill.
            self.looked = now();
        }
        if instant >= self.addresses_due {
            self.addresses_due = instant + ADDRESS_POLL;
            let addresses = (self.look_up)();
            if addresses != self.addresses {
                self.addresses = addresses;
                self.lives.iter().for_each(|live| live.session.note_moved());
                self.replacement = Some(Retry {
                    due: instant,
                    pause: RETRY,
                });
            }
        }
        if let Some(retry) = self.replacement.take_if(|retry| retry.due <= instant) {
            self.replace(&retry);
        }
    }

    /// Replaces the current session by a new one.
    fn replace(&mut self, retry: &Retry) {
        let number = self.lives.first().map_or(0, |live| live.session.number + 1);
        match (self.join)(number, &self.addresses.peers) {
            Ok(session) => {
                tracing::info!(
                    "the addresses of this machine or of static peers have changed: joined the ROS graph anew"
                );
                let mut live = Live::new(session);
                self.wanted.retain(|_, end| end.strong_count() > 0);
                self.wanted
                    .iter()
                    .for_each(|(id, end)| live.open(*id, end, None, &self.handle));
                for old in self.lives.iter_mut().filter(|old| old.retired.is_none()) {
                    old.retired = Some(Instant::now());
                    old.session.retire();
                }
                self.lives.insert(0, live);
                self.publish();
            }
            Err(error) => {
                if retry.pause == RETRY {
                    tracing::warn!(
                        "the addresses of this machine or of static peers have changed, and the ROS graph can't be joined anew yet: {error}"
                    );
                }
                self.replacement = Some(retry.later());
            }
        }
        // What that took is no standstill.
        self.looked = now();
    }
}

/// The time since the machine was started, sleep included.
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}

/// Returns the look-up of a network's addresses. Names of static peers are resolved by a thread of
/// their own, which may wait for name servers.
fn look_up(network: &Network) -> Result<LookUp, Diagnostic> {
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
        // Until the node has left.
        while resolved.send(resolving.resolve_static_peers()).is_ok() {
            let _ = told.send(());
            thread::sleep(RESOLVE_INTERVAL);
        }
    };
    let thread = thread::Builder::new()
        .name("ros-peers".to_owned())
        .spawn(resolve);
    thread.map_err(|error| transport("can't start threads", error))?;
    // What is found later is taken up by another session.
    let _ = first.recv_timeout(FIRST_RESOLVE);
    let network = network.clone();
    Ok(Box::new(move || Addresses {
        own: own_addresses(&network),
        peers: peers.borrow().clone(),
    }))
}

/// Returns the addresses of this machine that the node uses. Limited to this machine, it does not
/// depend on any.
fn own_addresses(network: &Network) -> Vec<IpAddr> {
    if !network.uses_all_interfaces() {
        return Vec::new();
    }
    let mut found: Vec<_> = if_addrs::get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .map(|interface| interface.ip())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Mutex;

    use super::super::dds::DdsTopic;
    use super::super::ends::{PublisherEnd, SubscriptionEnd};
    use super::super::tests::network;
    use super::*;
    use bytes::Bytes;

    use crate::msg::Interface;
    use crate::msg::std_msgs::String as Text;
    use crate::publishing::publish;
    use crate::{Qos, cdr, queue};

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "{what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn after_a_change_of_addresses_a_node_joins_anew_and_hears_and_says_all() {
        let machine: Arc<Mutex<Vec<IpAddr>>> = Arc::default();
        let start = |name: &str| {
            let node = NodeName {
                namespace: "/".to_owned(),
                name: name.to_owned(),
            };
            let (changes, machine) = (watch::channel(()).0, machine.clone());
            let addresses = Box::new(move || Addresses {
                own: machine.lock().unwrap().clone(),
                ..Addresses::default()
            });
            Supervisor::start_with(
                &network(9),
                &node,
                &changes,
                &Handle::current(),
                Arc::new(|| ()),
                addresses,
            )
            .expect("a node")
        };
        let (node, other) = (start("node"), start("other"));
        let topic = DdsTopic {
            name: "rt/t".to_owned(),
            type_name: "std_msgs::msg::dds_::String_".to_owned(),
            definition: Some(Text::TYPE),
        };
        let texts: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = texts.clone();
        let subscription = Arc::new(SubscriptionEnd {
            topic: topic.clone(),
            name: "/t".to_owned(),
            qos: Qos::latched(1),
            hear: Box::new(move |arrived| {
                heard
                    .lock()
                    .unwrap()
                    .push(cdr::decode::<Text>(&arrived.payload).unwrap().data)
            }),
            seen: Mutex::default(),
        });
        let _subscription = node.open(&subscription);
        let (writers, (sender, receiver)) = (watch::channel(None).0, queue::keep_last::<Bytes>(1));
        let current = writers.clone();
        let opened = Box::new(move |write| drop(current.send_replace(Some(write))));
        let publisher = Arc::new(PublisherEnd {
            topic,
            name: "/t".to_owned(),
            qos: Qos::latched(1),
            opened,
        });
        let _publisher = other.open(&publisher);
        tokio::spawn(publish("/t".to_owned(), Qos::latched(1), receiver, writers));
        let say = |text: &str| {
            sender.push(
                cdr::encode(&Text {
                    data: text.to_owned(),
                })
                .unwrap()
                .into(),
            )
        };
        say("one");
        until("one is not heard", || texts.lock().unwrap().len() == 1).await;
        machine
            .lock()
            .unwrap()
            .push(Ipv4Addr::new(192, 0, 2, 7).into());
        let is_anew = |node: &Supervisor| {
            node.sessions
                .current()
                .is_ok_and(|session| session.number == 1)
        };
        until("they do not join anew", || {
            is_anew(&node) && is_anew(&other)
        })
        .await;
        assert!(
            node.sessions.all().len() == 2,
            "the old session has gone, with all that was under way"
        );
        say("two");
        until("two is not heard", || {
            texts.lock().unwrap().iter().any(|text| text == "two")
        })
        .await;
        until("the old sessions stay", || {
            node.sessions.all().len() == 1 && other.sessions.all().len() == 1
        })
        .await;
        say("three");
        until("three is not heard", || {
            texts.lock().unwrap().iter().any(|text| text == "three")
        })
        .await;
        // Messages that arrive in both sessions are delivered once, but for what the new writer
        // repeats.
        let texts = texts.lock().unwrap().clone();
        assert!(
            texts.starts_with(&["one".to_owned()]) && texts.len() <= 4,
            "{texts:?}"
        );
        node.leave();
        assert!(node.sessions.current().is_err());
    }
}
