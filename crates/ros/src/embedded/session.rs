//! One stay of the node in the ROS graph: a participant, the readers and writers of the node on it, and whom they are connected with.
//!
//! A node has one session after the other ([`super::supervisor`]); for some seconds it may have two. Whoever needs the network for
//! one exchange holds a session for as long.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::dds::{Arrived, Dds, DdsTopic, Direction, Event, Fault, Gid, ReadError, Reader, Related, Writer};
use super::graph::{self, Graph, OwnEnd, ParticipantInfo};
use super::network::{self, Network};
use super::rtps;
use crate::environment::Reach;
use crate::faults::Recurring;
use crate::names::NodeName;
use crate::threads::Task;
use crate::{Qos, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// Changes of ends within this time are told together.
const TOGETHER: Duration = Duration::from_millis(10);
/// How long to wait before the others are told once more of the node's ends, where that failed.
const TELL_AGAIN: Duration = Duration::from_secs(1);
/// How many participants' nodes may arrive at once.
const MOST_AT_ONCE: usize = 4096;
/// How often a session announces itself on the machines that were named, at first; how many times; and how much slower then.
const ANNOUNCE: Duration = Duration::from_millis(500);
const QUICK: u32 = 10;
const SLOWLY: u32 = 8;
/// How many participants are looked for on each of them, as by Cyclone and Fast DDS.
const MOST_PARTICIPANTS: u16 = 32;
/// How long it takes at most to hear what was missed: Cyclone DDS repeats what was not heard every 8 s at the latest.
pub(super) const CATCH_UP: Duration = Duration::from_secs(20);
/// How long ago a session that hears itself, as it does every second, has heard itself at most.
const HEARS: Duration = Duration::from_secs(2);
/// How often a session speaks to itself.
const PULSE: Duration = Duration::from_secs(1);

/// The session.
pub(super) struct Session {
    /// Sessions of a node are numbered from 0.
    pub number: u64,
    // Before the participant that it belongs to: fields are dropped in order.
    infos: Writer,
    pub dds: Dds,
    pub graph: Arc<Graph>,
    /// Whether it speaks to itself, and should hear that.
    pub has_pulse: bool,
    /// When it last heard itself; `None` if it never did.
    heard: Mutex<Option<Instant>>,
    /// When this process was found to have stood still last.
    stood_still: Mutex<Option<Instant>>,
    /// Whether this machine's addresses have changed since it joined, so that others may not reach it any more, or be reached.
    has_moved: AtomicBool,
    tasks: Mutex<Vec<Task>>,
}

impl Session {
    /// Joins the ROS graph. What changes in it ticks `changes`.
    pub(super) fn join(
        number: u64,
        network: &Network,
        node: NodeName,
        changes: watch::Sender<()>,
        handle: &Handle,
    ) -> Result<Arc<Self>, Diagnostic> {
        let (dds, graph) = (Dds::join(network)?, Graph::new(node, changes));
        let infos = dds.writer(&graph::discovery_topic(), Qos::latched(1))?;
        // RustDDS counts the last messages of all participants together.
        let nodes = dds.reader(&graph::discovery_topic(), Qos::latched(1), MOST_AT_ONCE)?;
        // On no network nobody hears anything; and what lasts needs no watching.
        let hears_itself = !dds.is_lasting() && network.interfaces().is_none_or(|interfaces| !interfaces.is_empty());
        let pulse = hears_itself.then(|| pulse_ends(&dds)).transpose()?;
        let session = Arc::new(Self {
            number,
            dds,
            graph,
            heard: Mutex::default(),
            stood_still: Mutex::default(),
            has_moved: AtomicBool::default(),
            has_pulse: hears_itself,
            infos,
            tasks: Mutex::default(),
        });
        session.spawn(handle, |session| session.hear_ends());
        session.spawn(handle, |session| session.look_at_ends());
        session.spawn(handle, |session| session.hear_nodes(nodes));
        session.spawn(handle, |session| session.tell_nodes());
        let mut peers = network.static_peers.clone();
        // Without multicast, participants find each other by ports. Those that are there for a while (Cyclone DDS 11: 30 s) no longer
        // look at ports where nobody was, and a new session has a new one.
        if network.reach == Reach::Localhost && !session.dds.is_lasting() {
            peers.push(Ipv4Addr::LOCALHOST.to_string());
        }
        if !peers.is_empty() {
            let domain = network.domain;
            session.spawn(handle, |session| session.tell_static_peers(domain, peers));
        }
        if let Some((said, heard)) = pulse {
            let reader = heard.gid();
            session.spawn(handle, |session| session.hear_itself(heard));
            session.spawn(handle, |session| session.speak_to_itself(said, reader));
        }
        Ok(session)
    }

    /// Runs a task until the session is left.
    fn spawn<F: Future<Output = ()> + Send + 'static>(self: &Arc<Self>, handle: &Handle, task: impl FnOnce(Arc<Self>) -> F) {
        let task = Task(handle.spawn(task(self.clone())).abort_handle());
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// Ends its tasks, and tells the others that the node is not here any more. The participant leaves when the session is dropped.
    pub(super) fn leave(&self) {
        self.graph.leave();
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.infos.write_now(self.info());
    }

    /// Tells the others that the node is in another session now. What is going on here may end here.
    pub(super) fn retire(&self) {
        self.graph.leave();
        self.graph.own_changed.notify_one();
    }

    /// Listens to `topic`; see [`Dds::reader`].
    pub(super) fn reader(&self, topic: &DdsTopic, qos: Qos) -> Result<SessionReader, Diagnostic> {
        let reader = self.dds.reader(topic, qos, qos.depth)?;
        let end = self.graph.own(reader.gid(), Direction::Reader, topic.clone(), qos);
        Ok(SessionReader { reader, end })
    }

    /// Writes to `topic`.
    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<SessionWriter, Diagnostic> {
        let writer = self.dds.writer(topic, qos)?;
        let end = self.graph.own(writer.gid(), Direction::Writer, topic.clone(), qos);
        Ok(SessionWriter { writer, end })
    }

    /// Notes that this process stood still, until now.
    pub(super) fn note_standstill(&self) {
        *self.stood_still.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether this process stood still a while ago, so that it may still hear in any order what happened meanwhile.
    pub(super) fn has_just_stood_still(&self) -> bool {
        self.stood_still.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < CATCH_UP)
    }

    /// When it last heard itself.
    pub(super) fn last_heard(&self) -> Option<Instant> {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has heard itself of late. One that has no pulse never does.
    pub(super) fn hears_itself(&self, instant: Instant) -> bool {
        self.last_heard().is_some_and(|at| instant.saturating_duration_since(at) < HEARS)
    }

    /// Notes that the addresses of this machine have changed.
    pub(super) fn note_moved(&self) {
        self.has_moved.store(true, Ordering::Relaxed);
    }

    /// Whether what is written here reaches those that it is connected with, as far as is known.
    pub(super) fn delivers(&self) -> bool {
        let is_deaf = self.has_pulse && !self.hears_itself(Instant::now());
        !is_deaf && !self.has_moved.load(Ordering::Relaxed)
    }

    /// As if the network beneath were dead, and had always been: from now on it hears nothing.
    #[cfg(test)]
    pub(super) fn mute(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn info(&self) -> Bytes {
        // It is made of names and numbers: nothing that can't be written.
        cdr::encode(&self.graph.info(self.dds.gid())).unwrap_or_default().into()
    }

    /// Tells the others of the node's ends whenever they change.
    async fn tell_nodes(self: Arc<Self>) {
        let mut faults = Recurring::default();
        loop {
            self.graph.own_changed.notified().await;
            tokio::time::sleep(TOGETHER).await;
            until_told(&mut faults, || self.infos.write(self.info(), None, None)).await;
        }
    }

    /// Listens to discovery.
    async fn hear_ends(self: Arc<Self>) {
        let hear = |event| {
            if let Event::Matched { own, other } = event
                && self.graph.is_server(own)
            {
                let session = self.clone();
                tokio::task::spawn_blocking(move || session.dds.ask_for_first(own, other));
            }
            self.graph.hear(event);
        };
        self.dds.listen(hear).await;
    }

    /// Looks which ends of others there are whenever discovery has told something: its events are lost when too many come at once. What
    /// asks the library may wait for it, and has a thread of its own.
    async fn look_at_ends(self: Arc<Self>) {
        loop {
            let session = self.clone();
            if let Ok(ends) = tokio::task::spawn_blocking(move || session.dds.ends().collect()).await {
                self.graph.note_ends(ends);
            }
            self.graph.others_changed.notified().await;
            tokio::time::sleep(TOGETHER).await;
        }
    }

    /// Listens to what the others tell of their nodes.
    async fn hear_nodes(self: Arc<Self>, reader: Reader) {
        let mut infos = std::pin::pin!(reader.stream());
        while let Some(info) = infos.next().await {
            let info = info.map_err(|e| format!("{e:?}"));
            match info.and_then(|arrived| cdr::decode::<ParticipantInfo>(&arrived.payload)) {
                Ok(info) => self.graph.hear_nodes(info),
                Err(e) => tracing::debug!("what a participant tells of its nodes could not be read: {e}"),
            }
        }
    }

    /// Sends pulses, for as long as the library is at work.
    async fn speak_to_itself(self: Arc<Self>, writer: Writer, reader: Gid) {
        let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) else { return };
        let own = (Ipv4Addr::LOCALHOST, self.dds.ports().topics);
        for count in 1.. {
            // What fails is not heard, and that is noticed.
            let _ = socket.send_to(&rtps::pulse(reader, writer.gid(), count), own);
            tokio::time::sleep(PULSE).await;
        }
    }

    /// Announces itself on the machines that were named, again and again.
    async fn tell_static_peers(self: Arc<Self>, domain: u16, peers: Vec<String>) {
        let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) else { return };
        let (participant, ports, peers) = (self.dds.gid(), self.dds.ports(), Arc::new(peers));
        drop(self);
        for round in 0u32.. {
            let peers = peers.clone();
            // A name may take long to be found, or be found elsewhere later.
            let found = tokio::task::spawn_blocking(move || peers.iter().flat_map(|peer| network::addresses(peer)).collect());
            let found: Vec<Ipv4Addr> = found.await.unwrap_or_default();
            for (peer, own) in found.into_iter().filter_map(|peer| Some((peer, network::own_address(peer)?))) {
                let announcement = rtps::announcement(participant, own, &ports);
                for other in 0..MOST_PARTICIPANTS {
                    // Where nobody is, nobody is lost.
                    let _ = socket.send_to(&announcement, (peer, rtps::ports(domain, other).discovery));
                }
            }
            tokio::time::sleep(ANNOUNCE * if round < QUICK { 1 } else { SLOWLY }).await;
        }
    }

    async fn hear_itself(self: Arc<Self>, reader: Reader) {
        let mut pulses = std::pin::pin!(reader.stream());
        while pulses.next().await.is_some() {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }
}

/// The two ends of a topic of its own, by which a session notices that it is deaf or mute. No ROS tool takes it for a topic.
fn pulse_ends(dds: &Dds) -> Result<(Writer, Reader), Diagnostic> {
    let own: String = dds.gid().prefix().0.iter().map(|byte| format!("{byte:02x}")).collect();
    let topic = DdsTopic { name: format!("urdf_usd/pulse/{own}"), kind: "std_msgs::msg::dds_::Empty_".to_owned() };
    let qos = Qos::best_effort(1);
    Ok((dds.writer(&topic, qos)?, dds.reader(&topic, qos, 1)?))
}

/// The listening end of a topic, known to the graph for as long as it lives.
pub(super) struct SessionReader {
    reader: Reader,
    end: OwnEnd,
}

impl SessionReader {
    pub(super) fn gid(&self) -> Gid {
        self.end.gid
    }

    /// Hands on what arrives, without end; what can't be read is told of as about `name`.
    ///
    /// What an earlier reader of the topic has left is right for a latched message whose publisher is still there (it will not be
    /// sent again), and a ghost otherwise.
    pub(super) async fn hear(&self, name: &str, mut hear: impl FnMut(Arrived)) {
        let mut messages = std::pin::pin!(self.reader.stream());
        let mut faults = Recurring::default();
        while let Some(message) = messages.next().await {
            match message {
                Ok(arrived) if arrived.is_old && !self.end.is_still_latched(arrived.writer) => {}
                Ok(arrived) => hear(arrived),
                Err(e) => faults.tell(|n| tracing::warn!("{name}: {n} message(s) could not be read; the last: {e:?}")),
            }
        }
    }

    /// What arrives, without end.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, ReadError>> + '_ {
        self.reader.stream()
    }
}

/// The writing end of a topic, known to the graph for as long as it lives.
pub(super) struct SessionWriter {
    pub writer: Writer,
    end: OwnEnd,
}

impl SessionWriter {
    /// See [`Writer::write`].
    pub(super) async fn write(&self, message: Bytes, related: Option<Related>, only: Option<Gid>) -> Result<i64, Fault> {
        self.end.note_writing(message.len(), self.writer.is_acknowledged());
        self.writer.write(message, related, only).await
    }
}

/// Writes until it succeeds. What fails is tried again after [`TELL_AGAIN`] at the earliest, and logged less and less often.
async fn until_told<W: Future<Output = Result<i64, E>>, E: std::fmt::Display>(faults: &mut Recurring, write: impl Fn() -> W) {
    while let Err(e) = write().await {
        faults.tell(|n| tracing::warn!("{n} time(s) the others could not be told what this node offers: {e}"));
        tokio::time::sleep(TELL_AGAIN).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        tracing::debug!("session {} has ended", self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[tokio::test]
    async fn a_write_that_fails_is_not_tried_again_at_once() {
        let (tries, mut faults) = (AtomicU32::new(0), Recurring::default());
        let fail = || async {
            tries.fetch_add(1, Ordering::SeqCst);
            Err("the network is down")
        };
        let told = tokio::time::timeout(Duration::from_millis(200), until_told(&mut faults, fail)).await;
        assert!(told.is_err() && tries.load(Ordering::SeqCst) == 1, "{tries:?}");
    }

    #[test]
    fn what_fails_without_end_is_logged_less_and_less_often() {
        let (mut faults, mut logged) = (Recurring::default(), Vec::new());
        for _ in 0..6000 {
            faults.tell(|n| logged.push(n));
        }
        assert_eq!((logged.len(), logged.last()), (13, Some(&4096)));
    }
}
