//! Keeps the node in the ROS graph, whatever happens to the network, the machine and the library beneath.
//!
//! Two kinds of threads do that. One per session opens there what the node wants to hear and say, so that nobody else waits for the
//! network, or for a library that hangs. One for all keeps watch and never calls what may hang: when the session has become worthless
//! it joins the graph anew, has everything opened there, and leaves the old session when the new one has had time to meet everybody.
//! A new participant is what every DDS library knows how to meet. What RustDDS 0.15 has given up for dead it never hears again, even
//! when it is back; that is why the node takes a new session then, which knows nothing of it. Cyclone DDS meets everybody again by
//! itself; there, only a change of this machine's addresses takes a new session.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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

/// How often to look whether all is well.
pub(super) const TICK: Duration = Duration::from_millis(200);
/// What happens while a process stands still for so long is heard late, and in any order.
const MISSED: Duration = Duration::from_millis(100);
/// A machine or a process that stood still for so long could not hear itself; one that is only busy sleeps a little too long as well.
const NAP: Duration = Duration::from_secs(1);
/// A machine or a process that stood still for so long may have been given up by others, whose patience with it is 80 s.
const STANDSTILL: Duration = Duration::from_secs(65);
/// How often to look at the addresses of this machine.
const ADDRESSES: Duration = Duration::from_secs(2);
/// How long an old session stays beside the new one if it is deaf, or others may have given it up.
const RETIRED: Duration = Duration::from_millis(700);
/// How long it stays otherwise: what is under way there comes to its end, and the others meet the new one meanwhile, which on a busy machine
/// takes long.
const RETIRED_WELL: Duration = CATCH_UP;
/// How long what was open in a session may take to end before the session itself does.
const CLOSE: Duration = Duration::from_millis(50);
/// How long after a new session the next one may come.
const AGAIN: Duration = Duration::from_secs(1);
/// How long to wait at most, where it does not help: after each that was for nothing twice as long.
const AGAIN_AT_MOST: Duration = Duration::from_secs(30);
/// How many sessions may fail to hear themselves, where none ever did, before that is put down to the network.
const NEVER_HEARD: u64 = 3;
/// How long shutting down may take.
const LEAVE: Duration = Duration::from_secs(2);

/// How long what may be wrong is borne.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// How long a session may be without hearing itself.
    pub deaf: Duration,
    /// How long the node may be without a session that hears itself before it ends.
    pub give_up: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { deaf: Duration::from_secs(6), give_up: Duration::from_secs(90) }
    }
}

/// How long a task that is ended may take to drop what it has.
const DROP: Duration = Duration::from_millis(1);
/// How long the old session waits at most for everything to be open in the new one.
const OPEN_AT_MOST: Duration = Duration::from_secs(10);

/// What a thread is asked for.
enum Command {
    Open(u64, Weak<dyn End>),
    Close(u64),
    Leave,
}

/// The sessions of a node, the current one first. None before the node has joined, and after it has left.
#[derive(Default)]
pub(super) struct Sessions(RwLock<Vec<Arc<Session>>>);

impl Sessions {
    /// All of them, the current one first.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The current one.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`] after the node has left.
    pub(super) fn current(&self) -> Result<Arc<Session>, Diagnostic> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).first().cloned().ok_or_else(ended)
    }

    fn set(&self, sessions: Vec<Arc<Session>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = sessions;
    }

    /// What all of them know. Who was there in the old session is not gone because the new one has not met everybody yet.
    pub(super) fn graph(&self) -> Graph {
        let sessions = self.all();
        let mut union = Union::without(sessions.iter().map(|session| session.dds.gid()));
        for (n, session) in sessions.iter().enumerate() {
            session.graph.add_to(n == 0, &mut union);
        }
        union.graph()
    }
}

/// Ends what was registered, when dropped.
pub(super) struct Registered {
    id: u64,
    commands: Sender<Command>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The thread has ended, and all with it.
        let _ = self.commands.send(Command::Close(self.id));
    }
}

/// The handle of the thread. Dropping it leaves the ROS graph.
pub(super) struct Supervisor {
    pub sessions: Arc<Sessions>,
    commands: Sender<Command>,
    next: AtomicU64,
    thread: std::sync::Mutex<Option<JoinHandle<()>>>,
    failure: Arc<RwLock<Option<Diagnostic>>>,
}

impl Supervisor {
    /// Joins the ROS graph. What changes in it ticks `changes`; `end` is called if the node can't be kept in it.
    ///
    /// # Errors
    /// [`codes::TRANSPORT`].
    pub(super) fn start(
        network: &Network,
        node: &NodeName,
        changes: &watch::Sender<()>,
        handle: &Handle,
        patience: Patience,
        end: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Diagnostic> {
        let join = {
            let (network, node, changes, handle) = (network.clone(), node.clone(), changes.clone(), handle.clone());
            move |number| Session::join(number, &network, node.clone(), changes.clone(), &handle)
        };
        let first = Live::begin(join(0)?, handle)?;
        let sessions = Arc::<Sessions>::default();
        let failure = Arc::<RwLock<Option<Diagnostic>>>::default();
        let (sender, receiver) = channel();
        let keeper = Keeper {
            join: Box::new(join),
            patience,
            handle: handle.clone(),
            changes: changes.clone(),
            sessions: sessions.clone(),
            wanted: HashMap::new(),
            lives: vec![first],
            since: Instant::now(),
            awake_since: Instant::now(),
            well_since: Instant::now(),
            has_heard_itself: false,
            waited_since: now(),
            stood_still: Duration::ZERO,
            addresses: addresses(network),
            addresses_due: Instant::now() + ADDRESSES,
            network: network.clone(),
            again: AGAIN,
            due: None,
        };
        keeper.show();
        let failed = failure.clone();
        let thread = thread::Builder::new().name("ros-keeper".to_owned()).spawn(move || {
            let mut keeper = keeper;
            let kept = catch_unwind(AssertUnwindSafe(|| keeper.keep(&receiver)));
            let kept = kept
                .unwrap_or_else(|_| Err(transport("the ROS graph", "a defect of urdf_usd ended what keeps the node in it")));
            if let Err(failure) = kept {
                *failed.write().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                end();
            }
            keeper.leave();
        });
        let thread = thread.map_err(|error| transport("can't start threads", error))?;
        Ok(Self { sessions, commands: sender, next: AtomicU64::new(0), thread: Some(thread).into(), failure })
    }

    /// Opens `end` in this session and all later ones, until what is returned is dropped. Returns at once.
    pub(super) fn open(&self, end: &Arc<impl End + 'static>) -> Registered {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let weak: Weak<dyn End> = Arc::downgrade(end) as Weak<dyn End>;
        // After the end nothing is opened any more.
        let _ = self.commands.send(Command::Open(id, weak));
        Registered { id, commands: self.commands.clone() }
    }

    /// Why the node could not be kept in the ROS graph.
    pub(super) fn failure(&self) -> Option<Diagnostic> {
        self.failure.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves the ROS graph, and waits for that, a moment.
    pub(super) fn leave(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
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

/// A session, and the thread that opens things in it.
struct Live {
    session: Arc<Session>,
    commands: Sender<Command>,
    /// How many commands that thread has not carried out yet.
    pending: Arc<AtomicUsize>,
    /// When it was replaced, and everything was open in the next one.
    retired: Option<Instant>,
    /// Whether others may have given it up.
    is_given_up: bool,
}

impl Live {
    fn begin(session: Arc<Session>, handle: &Handle) -> Result<Self, Diagnostic> {
        let (commands, receiver) = channel();
        let pending = Arc::<AtomicUsize>::default();
        let opener = Opener {
            session: session.clone(),
            handle: handle.clone(),
            pending: pending.clone(),
            opened: HashMap::new(),
            unopened: Vec::new(),
        };
        let thread = thread::Builder::new().name("ros-open".to_owned()).spawn(move || opener.run(&receiver));
        thread.map_err(|error| transport("can't start threads", error))?;
        Ok(Self { session, commands, pending, retired: None, is_given_up: false })
    }

    fn tell(&self, command: Command) {
        self.pending.fetch_add(1, Ordering::Relaxed);
        // A thread that has ended has nothing open any more.
        let _ = self.commands.send(command);
    }

    fn is_open(&self) -> bool {
        self.pending.load(Ordering::Relaxed) == 0
    }

    /// Whether it has been beside the one that replaced it for long enough. `is_last`: it is the one that was replaced last.
    fn is_over(&self, is_last: bool, instant: Instant) -> bool {
        self.retired.is_some_and(|retired| {
            // Only a session that hears itself now was not deaf.
            let is_well = is_last && self.session.hears_itself(instant) && !self.is_given_up;
            instant.duration_since(retired) > if is_well { RETIRED_WELL } else { RETIRED }
        })
    }
}

/// What the thread of a session works on. It waits for the library as long as that takes, which may be for ever.
struct Opener {
    session: Arc<Session>,
    handle: Handle,
    pending: Arc<AtomicUsize>,
    opened: HashMap<u64, InSession>,
    /// What could not be opened, when to try again, and how long to wait then.
    unopened: Vec<(u64, Weak<dyn End>, Instant, Duration)>,
}

impl Opener {
    /// Works until the session is over, and leaves it then.
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            match commands.recv_timeout(TICK) {
                Ok(Command::Open(id, end)) => self.open(id, end, TICK),
                Ok(Command::Close(id)) => {
                    self.unopened.retain(|(other, ..)| *other != id);
                    if let Some(opened) = self.opened.remove(&id) {
                        self.close(opened);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.open_again();
                    continue;
                }
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => break,
            }
            self.pending.fetch_sub(1, Ordering::Relaxed);
        }
        self.session.leave();
        let start = Instant::now();
        for (_, opened) in std::mem::take(&mut self.opened) {
            if start.elapsed() < LEAVE / 2 {
                self.close(opened);
            }
        }
        thread::sleep(CLOSE);
        drop(self.session);
        self.pending.store(0, Ordering::Relaxed);
    }

    /// Opens something; what fails is tried again after a while.
    fn open(&mut self, id: u64, weak: Weak<dyn End>, wait: Duration) {
        let Some(end) = weak.upgrade() else { return };
        let name = end.name().to_owned();
        match end.open(&self.session, &self.handle) {
            Ok(opened) => drop(self.opened.insert(id, opened)),
            Err(why) => {
                if wait == TICK {
                    tracing::warn!("{name} can't be opened yet: {why}");
                }
                self.unopened.push((id, weak, Instant::now() + wait, (wait * 2).min(AGAIN_AT_MOST)));
            }
        }
    }

    /// Closes something, and lets the library take it back.
    fn close(&self, opened: InSession) {
        drop(opened);
        // What is dropped may be in a task, that ends elsewhere.
        thread::sleep(DROP);
        self.session.dds.let_finish();
    }

    fn open_again(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.unopened).into_iter().partition(|(_, _, due, _)| *due <= now);
        self.unopened = later;
        let due: Vec<(u64, Weak<dyn End>, Instant, Duration)> = due;
        due.into_iter().for_each(|(id, end, _, wait)| self.open(id, end, wait));
    }
}

/// Joins the ROS graph as the session of a number.
type Join = dyn Fn(u64) -> Result<Arc<Session>, Diagnostic> + Send;

/// What the thread works on.
struct Keeper {
    join: Box<Join>,
    patience: Patience,
    handle: Handle,
    changes: watch::Sender<()>,
    sessions: Arc<Sessions>,
    network: Network,
    /// All that the node wants to have open.
    wanted: HashMap<u64, Weak<dyn End>>,
    /// The current session first.
    lives: Vec<Live>,
    /// When the current session began.
    since: Instant,
    /// Since when it has not stood still.
    awake_since: Instant,
    /// When all was well last.
    well_since: Instant,
    /// Whether any session ever heard itself: there are networks where none does.
    has_heard_itself: bool,
    /// When it began to wait last, by the clock of the machine.
    waited_since: Duration,
    /// How much longer than it wanted to the thread slept last, or was held up meanwhile.
    stood_still: Duration,
    /// The addresses of this machine.
    addresses: Vec<std::net::IpAddr>,
    addresses_due: Instant,
    /// How long to wait before the next session.
    again: Duration,
    /// Why a new session is wanted.
    due: Option<String>,
}

impl Keeper {
    /// Works until the node leaves.
    ///
    /// # Errors
    /// If the node can't be kept in the graph.
    fn keep(&mut self, commands: &Receiver<Command>) -> Result<(), Diagnostic> {
        loop {
            let command = commands.recv_timeout(TICK);
            // From one look to the next: it may be stopped anywhere in between.
            let looked = std::mem::replace(&mut self.waited_since, now());
            self.stood_still = self.waited_since.saturating_sub(looked + TICK);
            if self.stood_still > MISSED {
                self.lives.iter().for_each(|live| live.session.note_standstill());
            }
            match command {
                Ok(Command::Open(id, end)) => {
                    self.wanted.insert(id, end.clone());
                    if let Some(live) = self.lives.first() {
                        live.tell(Command::Open(id, end));
                    }
                }
                Ok(Command::Close(id)) => {
                    self.wanted.remove(&id);
                    self.lives.iter().for_each(|live| live.tell(Command::Close(id)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.tick()?;
        }
    }

    /// Ends all that is open, and leaves.
    fn leave(&mut self) {
        self.sessions.set(Vec::new());
        self.wanted.clear();
        let ending: Vec<_> = std::mem::take(&mut self.lives).into_iter().map(end).collect();
        let start = Instant::now();
        while ending.iter().any(|pending| pending.load(Ordering::Relaxed) > 0) && start.elapsed() < LEAVE {
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Shows the others which sessions there are.
    fn show(&self) {
        self.sessions.set(self.lives.iter().map(|live| live.session.clone()).collect());
        self.changes.send_replace(());
    }

    /// Looks whether all is well, and does what is due.
    fn tick(&mut self) -> Result<(), Diagnostic> {
        let instant = Instant::now();
        self.retire(instant);
        if let Some(why) = self.trouble(instant) {
            self.due.get_or_insert(why);
        }
        if self.due.is_some() && instant.duration_since(self.since) >= self.again {
            self.replace()?;
        }
        Ok(())
    }

    /// Retires sessions when everything is open in the one that replaces them, and ends those that were retired a while ago.
    fn retire(&mut self, instant: Instant) {
        if self.lives.first().is_some_and(Live::is_open) || instant.duration_since(self.since) > OPEN_AT_MOST {
            for live in self.lives.iter_mut().skip(1).filter(|live| live.retired.is_none()) {
                live.retired = Some(instant);
                live.session.retire();
            }
        }
        let (over, lives): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.lives).into_iter().enumerate().partition(|(n, live)| live.is_over(*n == 1, instant));
        self.lives = lives.into_iter().map(|(_, live)| live).collect();
        if over.is_empty() {
            return;
        }
        self.show();
        over.into_iter().map(|(_, live)| end(live)).for_each(drop);
    }

    /// Why the current session is not good enough any more.
    fn trouble(&mut self, instant: Instant) -> Option<String> {
        let stood_still = std::mem::take(&mut self.stood_still);
        let session = self.lives.first()?.session.clone();
        let heard = session.last_heard();
        self.has_heard_itself |= heard.is_some();
        if stood_still > NAP {
            // What was not heard meanwhile says nothing.
            (self.awake_since, self.well_since) = (instant, instant);
        }
        let since = self.since.max(self.awake_since);
        let silence = instant.duration_since(heard.unwrap_or(since).max(since));
        if stood_still >= STANDSTILL && !session.dds.is_lasting() {
            self.lives.iter_mut().for_each(|live| live.is_given_up = true);
            return Some(format!("this process stood still for {:.0} s", stood_still.as_secs_f64()));
        }
        let is_watched = session.has_pulse && (self.has_heard_itself || session.number < NEVER_HEARD);
        if !self.has_heard_itself || heard.is_some_and(|heard| instant.duration_since(heard) < self.patience.deaf) {
            self.well_since = instant;
        }
        if is_watched && silence >= self.patience.deaf {
            return Some(format!("the node has not heard itself for {:.0} s", silence.as_secs_f64()));
        }
        if let Some(why) = session.graph.take_worn().filter(|_| !session.dds.is_lasting()) {
            return Some(why.to_owned());
        }
        if !session.dds.is_alive() {
            return Some("the network's threads have ended".to_owned());
        }
        if instant >= self.addresses_due {
            self.addresses_due = instant + ADDRESSES;
            let found = addresses(&self.network);
            if found != self.addresses {
                self.addresses = found;
                self.lives.iter().for_each(|live| live.session.note_moved());
                return Some("the addresses of this machine have changed".to_owned());
            }
        }
        None
    }

    /// Takes up a new session.
    fn replace(&mut self) -> Result<(), Diagnostic> {
        let Some(why) = self.due.take() else { return Ok(()) };
        let instant = Instant::now();
        if instant.duration_since(self.well_since) > self.patience.give_up {
            let message =
                format!("{why}, and {} s of joining the ROS graph anew have not helped", self.patience.give_up.as_secs());
            return Err(transport("the node is deaf", message).help("start it again; is the network of this machine up?"));
        }
        let number = self.lives.first().map_or(0, |live| live.session.number + 1);
        match (self.join)(number).and_then(|session| Live::begin(session, &self.handle)) {
            Ok(live) => {
                tracing::info!("{why}: joined the ROS graph anew");
                self.wanted.retain(|_, end| end.strong_count() > 0);
                self.wanted.iter().for_each(|(id, end)| live.tell(Command::Open(*id, end.clone())));
                self.lives.insert(0, live);
                self.show();
            }
            Err(failure) => {
                tracing::warn!("{why}, and the ROS graph can't be joined anew: {failure}");
                self.due = Some(why);
                if instant.duration_since(self.well_since) > self.patience.give_up {
                    return Err(failure);
                }
            }
        }
        // What that took is no standstill.
        self.waited_since = now();
        self.since = Instant::now();
        self.again = if instant.duration_since(self.well_since) > self.patience.deaf {
            (self.again * 2).min(AGAIN_AT_MOST)
        } else {
            AGAIN
        };
        Ok(())
    }
}

/// Has a session ended by its thread. What is returned becomes 0 when that is done.
fn end(live: Live) -> Arc<AtomicUsize> {
    live.tell(Command::Leave);
    live.pending
}

/// The time since the machine was started, in sleep too.
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// The addresses of this machine as far as the node uses them.
fn addresses(network: &Network) -> Vec<std::net::IpAddr> {
    // With a list of its own it does not follow what else comes and goes.
    if network.interfaces().is_some() {
        return Vec::new();
    }
    let mut found: Vec<_> = if_addrs::get_if_addrs().unwrap_or_default().into_iter().map(|interface| interface.ip()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::super::dds::{DdsTopic, Event, Prefix};
    use super::super::ends::{PublisherEnd, SubscriptionEnd};
    use super::super::tests::network;
    use super::*;
    use bytes::Bytes;

    use crate::msg::std_msgs::String as Text;
    use crate::publishing::publish;
    use crate::{Qos, cdr, queue};

    const DEAF: Duration = Duration::from_secs(2);
    const PATIENCE: Duration = Duration::from_secs(30);

    fn start(domain: u16, name: &str, give_up: Duration, ended: &Arc<AtomicBool>) -> Supervisor {
        let node = NodeName { namespace: "/".to_owned(), name: name.to_owned() };
        let (changes, ended) = (watch::channel(()).0, ended.clone());
        let end = move || ended.store(true, Ordering::Relaxed);
        let patience = Patience { deaf: DEAF, give_up };
        Supervisor::start(&network(domain), &node, &changes, &Handle::current(), patience, end).expect("a node")
    }

    async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "{what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// One whose sessions never hear themselves again.
    fn mute(supervisor: &Supervisor) {
        supervisor.sessions.all().iter().for_each(|session| session.mute());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_node_that_does_not_hear_itself_joins_anew_and_hears_and_says_all() {
        let ended = Arc::<AtomicBool>::default();
        let (node, other) = (start(9, "node", PATIENCE, &ended), start(9, "other", PATIENCE, &ended));
        let topic = DdsTopic { name: "rt/t".to_owned(), kind: "std_msgs::msg::dds_::String_".to_owned() };
        let texts: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = texts.clone();
        let subscription = Arc::new(SubscriptionEnd {
            topic: topic.clone(),
            name: "/t".to_owned(),
            qos: Qos::latched(1),
            hear: Box::new(move |arrived| heard.lock().unwrap().push(cdr::decode::<Text>(&arrived.payload).unwrap().data)),
            seen: Mutex::default(),
        });
        let _subscription = node.open(&subscription);
        let (writers, (sender, receiver)) = (watch::channel(None).0, queue::keep_last::<Bytes>(1));
        let current = writers.clone();
        let opened = Box::new(move |write| drop(current.send_replace(Some(write))));
        let publisher = Arc::new(PublisherEnd { topic, name: "/t".to_owned(), qos: Qos::latched(1), opened });
        let _publisher = other.open(&publisher);
        tokio::spawn(publish("/t".to_owned(), Qos::latched(1), receiver, writers));
        let say = |text: &str| sender.push(cdr::encode(&Text { data: text.to_owned() }).unwrap().into());
        say("one");
        until("one is not heard", || texts.lock().unwrap().len() == 1).await;
        until("it does not hear itself", || node.sessions.current().is_ok_and(|session| session.last_heard().is_some())).await;
        mute(&node);
        until("the listener is not there anew", || node.sessions.current().is_ok_and(|session| session.number == 1)).await;
        say("two");
        until("two is not heard", || texts.lock().unwrap().len() == 2).await;
        until("it does not hear itself", || other.sessions.current().is_ok_and(|session| session.last_heard().is_some())).await;
        mute(&other);
        until("the speaker is not there anew", || other.sessions.current().is_ok_and(|session| session.number == 1)).await;
        say("three");
        until("three is not heard", || texts.lock().unwrap().iter().any(|text| text == "three")).await;
        // The old sessions end, and what is latched was not taken for new: each is heard once, but what the new writer repeats.
        until("the old session stays", || node.sessions.all().len() == 1 && other.sessions.all().len() == 1).await;
        let texts = texts.lock().unwrap().clone();
        assert!(
            texts.starts_with(&["one".to_owned(), "two".to_owned()]) && texts.last().is_some_and(|text| text == "three"),
            "{texts:?}"
        );
        assert!(texts.len() <= 4 && node.failure().is_none() && !ended.load(Ordering::Relaxed), "{texts:?}");
        node.leave();
        assert!(node.sessions.current().is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_that_hears_stays_beside_the_next_and_a_deaf_one_does_not() {
        let ended = Arc::<AtomicBool>::default();
        let node = start(11, "node", PATIENCE, &ended);
        let is_there = |number| node.sessions.all().iter().any(|session| session.number == number);
        until("it does not hear itself", || node.sessions.current().is_ok_and(|session| session.last_heard().is_some())).await;
        let graph = node.sessions.current().expect("a session").graph.clone();
        // Who is back meets the new session; calls of others are under way in the old one.
        graph.hear(Event::ParticipantLost { prefix: Prefix([8; 12]), was_silent: true });
        graph.hear(Event::Participant(Prefix([8; 12])));
        until("it does not join anew", || is_there(1)).await;
        // Calls that are under way come to their end there.
        tokio::time::sleep(4 * RETIRED).await;
        assert!(is_there(0), "the old session has gone, with all that was under way");
        let start = Instant::now();
        mute(&node);
        until("the old session stays", || !is_there(0)).await;
        assert!(start.elapsed() < RETIRED_WELL / 2, "{:?}", start.elapsed());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_node_that_can_t_be_helped_ends_and_says_why() {
        let ended = Arc::<AtomicBool>::default();
        let node = start(10, "node", Duration::from_secs(6), &ended);
        until("it does not hear itself", || node.sessions.current().is_ok_and(|session| session.last_heard().is_some())).await;
        // Who keeps watch has to have seen that, or takes it for a network on which nobody hears himself.
        tokio::time::sleep(2 * TICK).await;
        until("it stays", || {
            mute(&node);
            ended.load(Ordering::Relaxed)
        })
        .await;
        let failure = node.failure().expect("why");
        assert!(failure.message.contains("has not heard itself") && !failure.help.is_empty(), "{failure}");
        until("it is still there", || node.sessions.current().is_err()).await;
    }
}
