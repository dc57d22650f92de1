//! One stay of the node in the ROS graph: a participant, the node's readers and writers on it, and
//! the endpoints that they are connected with.
//!
//! A node has one session after the other ([`super::keeper`]), and two for some seconds when it
//! changes between them. An exchange holds the session that it started in.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::dds::{Arrived, Dds, DdsTopic, Direction, Fault, Gid, Reader, Writer};
use super::graph::{self, Graph, OwnEnd};
use super::network::Network;
use crate::faults::Recurring;
use crate::msg::rmw_dds_common::ParticipantEntitiesInfo;
use crate::names::NodeName;
use crate::threads::Task;
use crate::{Qos, cdr};
use urdf_usd_diagnostic::Diagnostic;

/// Window in which changes of endpoints are announced together.
const DEBOUNCE: Duration = Duration::from_millis(10);
/// Pause before a failed announcement of the node's endpoints is repeated.
const ANNOUNCE_RETRY: Duration = Duration::from_secs(1);
/// Maximum number of unread announcements of participants, all of which share one instance of a
/// keyless topic.
const MAX_WAITING_INFOS: usize = 4096;
/// Maximum time until lost messages are repeated: Cyclone repeats unacknowledged data at the latest
/// after 8 s.
pub(super) const CATCH_UP: Duration = Duration::from_secs(20);

/// The session.
pub(super) struct Session {
    /// Counts the sessions of a node from 0.
    pub number: u64,
    // Declared before `dds`, so that it is dropped before its participant.
    infos: Writer,
    pub dds: Dds,
    pub graph: Arc<Graph>,
    /// When this process was last found to have been suspended.
    stood_still: Mutex<Option<Instant>>,
    /// Whether this machine's addresses have changed since the session began, so that peers may be
    /// unreachable.
    has_moved: AtomicBool,
    tasks: Mutex<Vec<Task>>,
}

impl Session {
    /// Joins the ROS graph, with static peers at these addresses.
    ///
    /// Every change of the graph ticks `changes`.
    ///
    /// # Errors
    /// [`crate::codes::TRANSPORT`].
    pub(super) fn join(
        number: u64,
        network: &Network,
        peers: &[IpAddr],
        node: NodeName,
        changes: watch::Sender<()>,
        handle: &Handle,
    ) -> Result<Arc<Self>, Diagnostic> {
        let (dds, graph) = (Dds::join(network, peers)?, Graph::new(node, changes));
        let infos = dds.writer(&graph::discovery_topic(), Qos::latched(1))?;
        // Latched: participants announce their nodes only when these change.
        let nodes = dds.reader(
            &graph::discovery_topic(),
            Qos::latched(1),
            MAX_WAITING_INFOS,
        )?;
        let session = Arc::new(Self {
            number,
            dds,
            graph,
            stood_still: Mutex::default(),
            has_moved: AtomicBool::default(),
            infos,
            tasks: Mutex::default(),
        });
        session.spawn(handle, |session| session.follow_discovery());
        session.spawn(handle, |session| session.follow_endpoints());
        session.spawn(handle, |session| session.follow_nodes(nodes));
        session.spawn(handle, |session| session.announce());
        Ok(session)
    }

    /// Runs a task until the session is left.
    fn spawn<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        handle: &Handle,
        task: impl FnOnce(Arc<Self>) -> F,
    ) {
        // The task owns the session, so the session is never dropped unless `leave` ends the task.
        let task = Task(handle.spawn(task(self.clone())).abort_handle());
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(task);
    }

    /// Ends the session's tasks, and announces that the node has left. The participant leaves when
    /// the session is dropped.
    pub(super) fn leave(&self) {
        self.graph.leave();
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.infos.write_last(&self.info());
    }

    /// Announces that the node has moved to another session. Exchanges in progress here may be
    /// completed.
    pub(super) fn retire(&self) {
        self.graph.leave();
        self.graph.own_changed.notify_one();
    }

    /// Subscribes to `topic`; see [`Dds::reader`].
    pub(super) fn reader(&self, topic: &DdsTopic, qos: Qos) -> Result<SessionReader, Diagnostic> {
        let reader = self.dds.reader(topic, qos, qos.depth)?;
        let end = self
            .graph
            .own(reader.gid(), Direction::Reader, topic.clone(), qos);
        Ok(SessionReader { reader, end })
    }

    /// Advertises `topic`; see [`Dds::writer`].
    pub(super) fn writer(&self, topic: &DdsTopic, qos: Qos) -> Result<SessionWriter, Diagnostic> {
        let writer = self.dds.writer(topic, qos)?;
        let end = self
            .graph
            .own(writer.gid(), Direction::Writer, topic.clone(), qos);
        Ok(SessionWriter { writer, _end: end })
    }

    /// Records that this process was suspended until now.
    pub(super) fn note_standstill(&self) {
        *self
            .stood_still
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Returns whether this process was suspended recently, so that events of that time may still
    /// arrive, in any order.
    pub(super) fn has_just_stood_still(&self) -> bool {
        self.stood_still
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some_and(|at| at.elapsed() < CATCH_UP)
    }

    /// Records that the addresses of this machine have changed.
    pub(super) fn note_moved(&self) {
        self.has_moved.store(true, Ordering::Relaxed);
    }

    /// Returns whether messages written here reach connected endpoints, as far as is known.
    pub(super) fn delivers(&self) -> bool {
        !self.has_moved.load(Ordering::Relaxed)
    }

    fn info(&self) -> Bytes {
        // Names and numbers can always be encoded.
        cdr::encode(&self.graph.info(self.dds.gid()))
            .unwrap_or_default()
            .into()
    }

    /// Announces the node's endpoints whenever they change.
    async fn announce(self: Arc<Self>) {
        let mut faults = Recurring::default();
        loop {
            self.graph.own_changed.notified().await;
            tokio::time::sleep(DEBOUNCE).await;
            retry_write(&mut faults, || self.infos.write(self.info())).await;
        }
    }

    /// Hands the graph the events of discovery.
    async fn follow_discovery(self: Arc<Self>) {
        self.dds.listen(|event| self.graph.hear(event)).await;
    }

    /// Reads the endpoints of others after every change. Listing them waits for the library's
    /// thread, and so runs on a blocking thread.
    async fn follow_endpoints(self: Arc<Self>) {
        loop {
            let session = self.clone();
            if let Ok(endpoints) =
                tokio::task::spawn_blocking(move || session.dds.endpoints()).await
            {
                self.graph.note_endpoints(endpoints);
            }
            self.graph.others_changed.notified().await;
            tokio::time::sleep(DEBOUNCE).await;
        }
    }

    /// Reads the nodes that other participants announce.
    async fn follow_nodes(self: Arc<Self>, reader: Reader) {
        let mut infos = std::pin::pin!(reader.stream());
        while let Some(info) = infos.next().await {
            let info = info.map_err(|fault| fault.to_string()).and_then(|arrived| {
                cdr::decode::<ParticipantEntitiesInfo>(&arrived.payload)
                    .map(|info| (info, arrived.writer.prefix()))
            });
            match info {
                // A participant may announce only its own nodes: others would never leave the
                // graph.
                Ok((info, sender)) if Gid::from(info.gid).prefix() == sender => {
                    self.graph.hear_nodes(info)
                }
                Ok(_) => tracing::debug!("a participant announced the nodes of another one"),
                Err(error) => tracing::debug!(
                    "a participant's announcement of its nodes can't be read: {error}"
                ),
            }
        }
    }
}

/// A subscription, part of the graph for as long as it lives.
pub(super) struct SessionReader {
    reader: Reader,
    end: OwnEnd,
}

impl SessionReader {
    pub(super) fn gid(&self) -> Gid {
        self.end.gid
    }

    /// Hands `hear` the messages that arrive, without end; unreadable ones are logged under `name`.
    pub(super) async fn hear(&self, name: &str, mut hear: impl FnMut(Arrived)) {
        let mut messages = std::pin::pin!(self.reader.stream());
        let mut faults = Recurring::default();
        while let Some(message) = messages.next().await {
            match message {
                Ok(arrived) => hear(arrived),
                Err(fault) => faults.report(|n| {
                    tracing::warn!("{name}: {n} message(s) could not be read; the last: {fault}")
                }),
            }
        }
    }

    /// Returns the messages that arrive, without end.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Arrived, Fault>> + '_ {
        self.reader.stream()
    }
}

/// A publisher, part of the graph for as long as it lives.
pub(super) struct SessionWriter {
    pub writer: Writer,
    _end: OwnEnd,
}

/// Writes until it succeeds, pausing for [`ANNOUNCE_RETRY`] after a failure. Failures are logged
/// with exponentially falling frequency ([`Recurring`]).
async fn retry_write<W: Future<Output = Result<(), E>>, E: std::fmt::Display>(
    faults: &mut Recurring,
    write: impl Fn() -> W,
) {
    while let Err(error) = write().await {
        faults.report(|n| {
            tracing::warn!("{n} announcement(s) of this node's endpoints failed; the last: {error}")
        });
        tokio::time::sleep(ANNOUNCE_RETRY).await;
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
        let told =
            tokio::time::timeout(Duration::from_millis(200), retry_write(&mut faults, fail)).await;
        assert!(
            told.is_err() && tries.load(Ordering::SeqCst) == 1,
            "{tries:?}"
        );
    }

    #[test]
    fn recurring_failures_are_logged_with_falling_frequency() {
        let (mut faults, mut logged) = (Recurring::default(), Vec::new());
        for _ in 0..6000 {
            faults.report(|n| logged.push(n));
        }
        assert_eq!((logged.len(), logged.last()), (13, Some(&4096)));
    }
}
