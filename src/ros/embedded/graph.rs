//! The ROS graph: what the node tells the others of itself, and what it hears of them.
//!
//! DDS discovery tells of readers and writers; which node they belong to is said on the topic `ros_discovery_info`, by every
//! participant for its own nodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use rustdds::policy::{Durability as DdsDurability, History, Reliability as DdsReliability, ResourceLimits};
use rustdds::{DomainParticipant, DomainParticipantStatusEvent as Event, GUID, QosPolicies, QosPolicyBuilder, StatusEvented};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use super::dds::{self, DdsTopic, Reader, Writer};
use super::wire;
use crate::ros::graph::{EndQos, Graph as Told, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use crate::ros::names::{self, NodeName};
use crate::ros::{Durability, PublisherId, Reliability};

/// How long a new reader is given to see a heartbeat. RustDDS sends one at once, which may come too early for the other side, and then
/// every 100 ms while a reader lacks something. Without this wait 1 of 80 first answers to CycloneDDS was lost, with it none of 500.
const FIRST_HEARTBEAT: Duration = Duration::from_millis(150);
/// Changes of the node's own ends within this time are told together.
const TOGETHER: Duration = Duration::from_millis(10);
/// How many participants' nodes may arrive at once.
const MOST_AT_ONCE: i32 = 4096;

/// The identity of a participant, a reader or a writer as ROS writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Gid([u8; 16]);

impl From<GUID> for Gid {
    fn from(guid: GUID) -> Self {
        Self(guid.to_bytes())
    }
}

impl Gid {
    /// Whether both belong to one participant.
    fn is_beside(self, other: Self) -> bool {
        self.0[..12] == other.0[..12]
    }
}

/// `rmw_dds_common/msg/ParticipantEntitiesInfo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ParticipantInfo {
    participant: Gid,
    nodes: Vec<NodeInfo>,
}

/// `rmw_dds_common/msg/NodeEntitiesInfo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NodeInfo {
    namespace: String,
    name: String,
    readers: Vec<Gid>,
    writers: Vec<Gid>,
}

/// The topic on which participants tell of their nodes.
pub(super) fn discovery_topic() -> DdsTopic {
    DdsTopic { name: "ros_discovery_info".to_owned(), kind: "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_".to_owned() }
}

/// Its quality of service.
pub(super) fn discovery_qos() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(DdsReliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(DdsDurability::TransientLocal)
        .history(History::KeepLast { depth: 1 })
        // The last message of each participant; RustDDS counts them for all together.
        .resource_limits(ResourceLimits {
            max_samples: MOST_AT_ONCE,
            max_instances: MOST_AT_ONCE,
            max_samples_per_instance: MOST_AT_ONCE,
        })
        .build()
}

/// Which way an end looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// It listens.
    Reader,
    /// It writes.
    Writer,
}

/// A reader or writer in DDS terms.
struct End {
    gid: Gid,
    direction: Direction,
    topic: String,
    kind: String,
    qos: EndQos,
}

#[derive(Default)]
struct Known {
    /// The node's own ends.
    own: BTreeMap<GUID, End>,
    /// Whether the node's own ends may still be told of.
    has_left: bool,
    /// The nodes of each participant.
    nodes: HashMap<Gid, Vec<NodeInfo>>,
    /// The writers of others.
    writers: HashSet<GUID>,
    /// Own ends and those of others that they are connected with, and since when.
    matched: HashMap<(GUID, GUID), Instant>,
}

/// The node and its neighbours.
pub(super) struct Graph {
    node: NodeName,
    known: Mutex<Known>,
    own_changed: Notify,
    changes: watch::Sender<()>,
}

impl Graph {
    pub(super) fn new(node: NodeName) -> Arc<Self> {
        Arc::new(Self { node, known: Mutex::default(), own_changed: Notify::new(), changes: watch::channel(()).0 })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ticks after every change.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Notes an end of this node until the guard is dropped.
    pub(super) fn own(self: &Arc<Self>, guid: GUID, direction: Direction, topic: DdsTopic, qos: &QosPolicies) -> OwnEnd {
        let mut end = End { gid: guid.into(), direction, topic: topic.name, kind: topic.kind, qos: end_qos(qos, direction) };
        end.qos.depth = match qos.history() {
            Some(History::KeepLast { depth }) => usize::try_from(depth).ok(),
            _ => None,
        };
        let is_latched = end.qos.durability == Durability::TransientLocal;
        self.known().own.insert(guid, end);
        self.own_changed();
        OwnEnd { guid, is_latched, graph: self.clone() }
    }

    fn own_changed(&self) {
        self.own_changed.notify_one();
        self.changes.send_replace(());
    }

    /// What the others are told of this node.
    fn info(&self, participant: GUID) -> ParticipantInfo {
        let known = self.known();
        let ends = |direction| {
            let ends = known.own.values().filter(|end| end.direction == direction && wire::is_of_ros(&end.topic));
            ends.map(|end| end.gid).collect()
        };
        let node = NodeInfo {
            namespace: self.node.namespace.clone(),
            name: self.node.name.clone(),
            readers: ends(Direction::Reader),
            writers: ends(Direction::Writer),
        };
        ParticipantInfo { participant: participant.into(), nodes: if known.has_left { Vec::new() } else { vec![node] } }
    }

    /// Tells the others of the node's ends whenever they change.
    pub(super) async fn tell(self: Arc<Self>, participant: GUID, writer: Arc<Writer<ParticipantInfo>>) {
        loop {
            self.own_changed.notified().await;
            tokio::time::sleep(TOGETHER).await;
            if let Err(e) = writer.write(self.info(participant)).await {
                tracing::warn!("the others could not be told what this node offers: {e}");
                self.own_changed.notify_one();
            }
        }
    }

    /// Tells the others that the node leaves.
    pub(super) fn leave(&self, participant: GUID, writer: &Writer<ParticipantInfo>) {
        self.known().has_left = true;
        writer.write_now(self.info(participant));
    }

    /// Listens to discovery until the task is ended.
    pub(super) async fn hear_ends(self: Arc<Self>, participant: DomainParticipant) {
        let listener = participant.status_listener();
        let mut events = listener.as_async_status_stream();
        while let Some(event) = events.next().await {
            if let Event::RemoteWriterMatched { local_reader, remote_writer } = event
                && self.known().own.get(&local_reader).is_some_and(|end| wire::service_of(&end.topic).is_some())
            {
                dds::ask_for_first(&participant, local_reader, remote_writer);
            }
            self.hear(event);
        }
    }

    /// Listens to what the others tell of their nodes until the task is ended.
    pub(super) async fn hear_nodes(self: Arc<Self>, reader: Reader<ParticipantInfo>) {
        let mut infos = std::pin::pin!(reader.stream());
        while let Some(info) = infos.next().await {
            match info {
                Ok(change) => {
                    let ParticipantInfo { participant, nodes } = change.into_value();
                    self.known().nodes.insert(participant, nodes);
                    self.changes.send_replace(());
                }
                Err(e) => tracing::debug!("what a participant tells of its nodes could not be read: {e:?}"),
            }
        }
    }

    fn hear(&self, event: Event) {
        let mut known = self.known();
        match event {
            Event::WriterDetected { writer } => {
                known.writers.insert(writer.guid);
            }
            Event::ReaderDetected { .. } => {}
            Event::ReaderLost { guid, .. } | Event::WriterLost { guid, .. } => {
                known.writers.remove(&guid);
                known.matched.retain(|(_, other), _| *other != guid);
            }
            Event::ParticipantLost { id, .. } => {
                let is_lost = |gid: Gid| gid.0.starts_with(id.as_ref());
                known.nodes.retain(|participant, _| !is_lost(*participant));
                known.writers.retain(|writer| !is_lost((*writer).into()));
                known.matched.retain(|(_, other), _| !is_lost((*other).into()));
            }
            Event::RemoteReaderMatched { local_writer, remote_reader } => {
                known.matched.insert((local_writer, remote_reader), Instant::now());
            }
            Event::RemoteWriterMatched { local_reader, remote_writer } => {
                known.matched.insert((local_reader, remote_writer), Instant::now());
            }
            Event::RemoteReaderQosIncompatible { local_writer, requested_qos, offered_qos, .. } => {
                warn_of_qos(known.own.get(&local_writer), "subscriber", &requested_qos, &offered_qos);
            }
            Event::RemoteWriterQosIncompatible { local_reader, requested_qos, offered_qos, .. } => {
                warn_of_qos(known.own.get(&local_reader), "publisher", &requested_qos, &offered_qos);
            }
            _ => return,
        }
        drop(known);
        self.changes.send_replace(());
    }

    /// Waits until `wanted` is found among what is known, but not for longer than `patience`.
    async fn wait<T>(&self, patience: Duration, wanted: impl Fn(&Known) -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let wait = async {
            loop {
                let found = wanted(&self.known());
                if found.is_some() || changes.changed().await.is_err() {
                    return found;
                }
            }
        };
        tokio::time::timeout(patience, wait).await.ok().flatten()
    }

    /// Waits until a participant whose identity begins with `prefix` can hear our writer, but not for longer than `patience`.
    ///
    /// A reply sent earlier would be lost. Requests overtake discovery; and a reader under Cyclone takes all that was written before
    /// the first heartbeat it sees for history that is none of its business, so that a new one is given time to see a heartbeat.
    pub(super) async fn reader(&self, writer: GUID, prefix: &[u8], patience: Duration) {
        let since = |known: &Known| {
            let of_caller = |(own, other): &(GUID, GUID)| *own == writer && other.to_bytes().starts_with(prefix);
            // Of several the last one may be meant.
            known.matched.iter().filter(|(ends, _)| of_caller(ends)).map(|(_, since)| *since).max()
        };
        match self.wait(patience, since).await {
            Some(since) => tokio::time::sleep(FIRST_HEARTBEAT.saturating_sub(since.elapsed())).await,
            None => tracing::debug!("the caller's side of a service did not show up in time; answering all the same"),
        }
    }

    /// Whether `writer`, an end of ours, is connected with `reader`.
    pub(super) fn has_matched(&self, writer: GUID, reader: GUID) -> bool {
        self.known().matched.contains_key(&(writer, reader))
    }

    /// Waits until one participant listens to `writer` and speaks to `reader`, both ends of ours: until a service that they call is
    /// there.
    pub(super) async fn server(&self, writer: GUID, reader: GUID, patience: Duration) -> bool {
        let both = |known: &Known| {
            let others = |own: GUID| known.matched.keys().filter(move |ends| ends.0 == own).map(|ends| Gid::from(ends.1));
            others(writer).any(|listens| others(reader).any(|speaks| listens.is_beside(speaks))).then_some(())
        };
        self.wait(patience, both).await.is_some()
    }

    /// All that is known.
    pub(super) fn all(&self, participant: &DomainParticipant) -> Told {
        // The data base of RustDDS rather than its events: those are lost when too many come at once.
        let writers = participant.discovered_writers().into_iter().map(|end| End {
            gid: end.writer_proxy.remote_writer_guid.into(),
            direction: Direction::Writer,
            qos: end_qos(&end.publication_topic_data.qos(), Direction::Writer),
            topic: end.publication_topic_data.topic_name,
            kind: end.publication_topic_data.type_name,
        });
        let readers = participant.discovered_readers().into_iter().map(|end| End {
            gid: end.reader_proxy.remote_reader_guid.into(),
            direction: Direction::Reader,
            qos: end_qos(&end.subscription_topic_data.qos(), Direction::Reader),
            topic: end.subscription_topic_data.topic_name().clone(),
            kind: end.subscription_topic_data.type_name().clone(),
        });
        let mut told = Told::default();
        let known = self.known();
        let mut owners: HashMap<Gid, Arc<str>> = HashMap::new();
        for node in known.nodes.values().flatten() {
            let name: Arc<str> = names::join(&node.namespace, &node.name).into();
            owners.extend(node.readers.iter().chain(&node.writers).map(|gid| (*gid, name.clone())));
            told.nodes.push(name.to_string());
        }
        let this = self.node.fully_qualified();
        for end in writers.chain(readers) {
            tell_end(&end, owners.get(&end.gid).map(|name| name.to_string()), &mut told);
        }
        for end in known.own.values() {
            tell_end(end, Some(this.clone()), &mut told);
        }
        told.nodes.push(this);
        told.nodes.sort();
        told.topics.sort_by(|a, b| (&a.topic, a.role, &a.node, a.id).cmp(&(&b.topic, b.role, &b.node, b.id)));
        told.services.sort_by(|a, b| (&a.service, a.role, &a.node).cmp(&(&b.service, b.role, &b.node)));
        told
    }
}

/// Adds an end in ROS terms, if it has any.
fn tell_end(end: &End, node: Option<String>, told: &mut Told) {
    let is_writer = end.direction == Direction::Writer;
    if let Some(topic) = wire::topic_of(&end.topic) {
        told.topics.push(TopicEnd {
            topic,
            type_name: names::type_of_dds(&end.kind, ""),
            role: if is_writer { TopicRole::Publisher } else { TopicRole::Subscriber },
            node,
            id: is_writer.then_some(PublisherId(end.gid.0)),
            qos: Some(end.qos),
        });
    } else if let Some(service) = wire::service_of(&end.topic) {
        told.services.push(ServiceEnd {
            service,
            type_name: names::type_of_dds(&end.kind, "_Request"),
            role: if is_writer { ServiceRole::Client } else { ServiceRole::Server },
            node,
        });
    }
}

/// An end of this node; the others are told of it until this is dropped.
pub(super) struct OwnEnd {
    pub guid: GUID,
    is_latched: bool,
    graph: Arc<Graph>,
}

impl OwnEnd {
    /// Whether what `writer` said is worth hearing later: this end asks for latched messages, and the writer is still there.
    pub(super) fn is_still_latched(&self, writer: GUID) -> bool {
        self.is_latched && self.graph.known().writers.contains(&writer)
    }
}

impl Drop for OwnEnd {
    fn drop(&mut self) {
        let mut known = self.graph.known();
        known.own.remove(&self.guid);
        known.matched.retain(|(own, _), _| *own != self.guid);
        drop(known);
        self.graph.own_changed();
    }
}

/// Quality of service as discovery tells it; what is left out has the default of the DDS specification.
fn end_qos(qos: &QosPolicies, direction: Direction) -> EndQos {
    let reliability = match (qos.reliability(), direction) {
        (Some(DdsReliability::Reliable { .. }), _) | (None, Direction::Writer) => Reliability::Reliable,
        (Some(DdsReliability::BestEffort), _) | (None, Direction::Reader) => Reliability::BestEffort,
    };
    let durability = match qos.durability() {
        None | Some(DdsDurability::Volatile) => Durability::Volatile,
        Some(_) => Durability::TransientLocal,
    };
    EndQos { reliability, durability, depth: None }
}

fn warn_of_qos(own: Option<&End>, who: &str, requested: &QosPolicies, offered: &QosPolicies) {
    let topic = own.map_or("a topic", |end| end.topic.strip_prefix("rt").unwrap_or(&end.topic));
    tracing::warn!(
        "a {who} of {topic} can't be connected: what is offered ({:?}, {:?}) is less than what is asked for ({:?}, {:?}); change the \
         QoS of one of them",
        offered.reliability(),
        offered.durability(),
        requested.reliability(),
        requested.durability(),
    );
}
