//! The ROS graph as one session sees it: what the node tells the others of itself, and what it hears of them.
//!
//! DDS discovery tells of readers and writers; which node they belong to is said on the topic `ros_discovery_info`, by every
//! participant for its own nodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use super::dds::{DdsTopic, Direction, End, Event, Gid, Prefix};
use super::wire;
use crate::graph::{EndQos, Graph as RosGraph, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use crate::names::{self, NodeName};
use crate::{Durability, PublisherId, Qos};

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

/// How many participants may leave in one session: RustDDS 0.15 keeps what each has told of its ends, which is some 10 kB.
const MOST_LEFT: u32 = 1000;
/// How many of the node's own ends may be closed in one session. RustDDS 0.15 keeps the last 8192 announcements of writers, and as many
/// of readers, for participants that come later; an end that was closed leaves two. What is announced before these stays unknown to
/// them.
const MOST_CLOSED: u32 = 2000;

/// How many messages of one publisher, and how many bytes of them, somebody may leave unacknowledged before a new session is wanted: RustDDS
/// keeps them all.
const MOST_UNACKNOWLEDGED: u32 = 1 << 15;
const MOST_UNACKNOWLEDGED_BYTES: usize = 256 << 20;

/// A connection of an own end with one of another participant. If that is given up and comes back, it is another connection, and nothing
/// that was sent in the first has to have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub other: Gid,
    number: u64,
}

#[derive(Default)]
struct Known {
    /// The node's own ends.
    own: BTreeMap<Gid, End>,
    /// Whether the node's own ends may still be told of.
    has_left: bool,
    /// The nodes of each participant.
    nodes: HashMap<Gid, Vec<NodeInfo>>,
    /// The writers of others.
    writers: HashSet<Gid>,
    /// The ends of others, as the library knew them last.
    ends: Vec<End>,
    /// Own ends and those of others that they are connected with, and which connection of all it is.
    matched: HashMap<(Gid, Gid), u64>,
    /// How many connections there were.
    connections: u64,
    /// Those of them that take what is written for news.
    settled: HashSet<(Gid, Gid)>,
    /// The participants that were given up because they were silent for too long.
    given_up: HashSet<Prefix>,
    /// How many participants have left, or were given up.
    left: u32,
    /// How many own ends were closed.
    closed: u32,
    /// Why a new session is wanted.
    worn: Option<&'static str>,
}

/// The node and its neighbours.
pub(super) struct Graph {
    node: NodeName,
    known: Mutex<Known>,
    pub(super) own_changed: Notify,
    /// Discovery told something.
    pub(super) others_changed: Notify,
    changes: watch::Sender<()>,
}

impl Graph {
    /// What changes ticks `changes`.
    pub(super) fn new(node: NodeName, changes: watch::Sender<()>) -> Arc<Self> {
        Arc::new(Self { node, known: Mutex::default(), own_changed: Notify::new(), others_changed: Notify::new(), changes })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an end of this node until the guard is dropped.
    pub(super) fn own(self: &Arc<Self>, gid: Gid, direction: Direction, topic: DdsTopic, qos: Qos) -> OwnEnd {
        let qos = EndQos { reliability: qos.reliability, durability: qos.durability, depth: Some(qos.depth) };
        self.known().own.insert(gid, End { gid, direction, topic, qos });
        self.own_changed();
        OwnEnd {
            gid,
            is_latched: qos.durability == Durability::TransientLocal,
            unacknowledged: Mutex::default(),
            graph: self.clone(),
        }
    }

    fn own_changed(&self) {
        self.own_changed.notify_one();
        self.changes.send_replace(());
    }

    /// What the others are told of this node.
    pub(super) fn info(&self, participant: Gid) -> ParticipantInfo {
        let known = self.known();
        let ends = |direction| {
            let ends = known.own.values().filter(|end| end.direction == direction && wire::is_of_ros(&end.topic.name));
            ends.map(|end| end.gid).collect()
        };
        let node = NodeInfo {
            namespace: self.node.namespace.clone(),
            name: self.node.name.clone(),
            readers: ends(Direction::Reader),
            writers: ends(Direction::Writer),
        };
        ParticipantInfo { participant, nodes: if known.has_left { Vec::new() } else { vec![node] } }
    }

    /// From now on the others are told that the node is not here any more.
    pub(super) fn leave(&self) {
        self.known().has_left = true;
    }

    /// Notes what a participant tells of its nodes.
    pub(super) fn hear_nodes(&self, ParticipantInfo { participant, nodes }: ParticipantInfo) {
        self.known().nodes.insert(participant, nodes);
        self.changes.send_replace(());
    }

    /// Notes what discovery tells.
    pub(super) fn hear(&self, event: Event) {
        let mut known = self.known();
        match event {
            Event::Writer(writer) => {
                known.writers.insert(writer);
            }
            Event::Reader => {}
            Event::Participant(prefix) => {
                if known.given_up.remove(&prefix) {
                    known.worn = Some("a node is back that was silent for too long");
                }
            }
            Event::EndLost(end) => {
                known.writers.remove(&end);
                known.matched.retain(|(_, other), _| *other != end);
                known.settled.retain(|(_, other)| *other != end);
            }
            Event::ParticipantLost { prefix, was_silent } => {
                if was_silent {
                    known.given_up.insert(prefix);
                }
                known.left += 1;
                if known.left == MOST_LEFT {
                    known.worn = Some("many nodes have left, of which the network's library keeps something");
                }
                known.nodes.retain(|participant, _| participant.prefix() != prefix);
                known.writers.retain(|writer| writer.prefix() != prefix);
                known.matched.retain(|(_, other), _| other.prefix() != prefix);
                known.settled.retain(|(_, other)| other.prefix() != prefix);
            }
            Event::Matched { own, other } => {
                let number = known.connections;
                known.matched.entry((own, other)).or_insert(number);
                known.connections += 1;
                // It may be connected anew, and know of nothing.
                known.settled.remove(&(own, other));
            }
            Event::Unmatched { own, other } => {
                known.matched.remove(&(own, other));
                known.settled.remove(&(own, other));
            }
            Event::Incompatible { own, who, offered, requested } => {
                let topic = known.own.get(&own).map_or("a topic", |end| end.topic.name.as_str());
                let topic = topic.strip_prefix("rt").unwrap_or(topic);
                tracing::warn!(
                    "a {who} of {topic} can't be connected: what is offered ({offered}) is less than what is asked for \
                     ({requested}); change the QoS of one of them"
                );
            }
        }
        drop(known);
        self.others_changed.notify_one();
        self.changes.send_replace(());
    }

    /// Why RustDDS wants a new session, if it does: a participant is back that it has given up, too many have left, too many ends
    /// were closed, or too much is not acknowledged. Asked twice, it says so once.
    pub(super) fn take_worn(&self) -> Option<&'static str> {
        self.known().worn.take()
    }

    /// Notes all ends of others that the library knows.
    pub(super) fn note_ends(&self, ends: Vec<End>) {
        self.known().ends = ends;
        self.changes.send_replace(());
    }

    /// Whether `own` is connected with `other`.
    pub(super) fn has_matched(&self, own: Gid, other: Gid) -> bool {
        self.known().matched.contains_key(&(own, other))
    }

    /// All ends that `own` is connected with.
    pub(super) fn all_matches(&self, own: Gid) -> Vec<Gid> {
        self.known().matched.keys().filter(|(one, _)| *one == own).map(|(_, other)| *other).collect()
    }

    /// The ends of the participant `prefix` that `own` is connected with.
    pub(super) fn matches(&self, own: Gid, prefix: Prefix) -> Vec<Gid> {
        self.connections(own, prefix).into_iter().map(|connection| connection.other).collect()
    }

    /// Its connections with ends of the participant `prefix`.
    pub(super) fn connections(&self, own: Gid, prefix: Prefix) -> Vec<Connection> {
        let known = self.known();
        let connections = known.matched.iter().filter(|((one, other), _)| *one == own && other.prefix() == prefix);
        connections.map(|((_, other), number)| Connection { other: *other, number: *number }).collect()
    }

    /// Whether all of `others` take what `own` writes for news.
    pub(super) fn have_settled(&self, own: Gid, others: &[Gid]) -> bool {
        let known = self.known();
        others.iter().all(|other| known.settled.contains(&(own, *other)))
    }

    /// Notes that these do.
    pub(super) fn note_settled(&self, own: Gid, others: &[Gid]) {
        let mut known = self.known();
        for other in others {
            if known.matched.contains_key(&(own, *other)) {
                known.settled.insert((own, *other));
            }
        }
    }

    /// Whether an own end is half of a service that this node calls or serves.
    pub(super) fn is_server(&self, own: Gid) -> bool {
        self.known().own.get(&own).is_some_and(|end| wire::service_of(&end.topic.name).is_some())
    }

    /// Whether one participant listens to `writer` and speaks to `reader`, both ends of ours: whether a service that they call is
    /// there.
    pub(super) fn has_server(&self, writer: Gid, reader: Gid) -> bool {
        let known = self.known();
        let others = |own: Gid| known.matched.keys().filter(move |ends| ends.0 == own).map(|ends| ends.1.prefix());
        others(writer).any(|listens| others(reader).any(|speaks| listens == speaks))
    }

    /// Adds all that is known to `union`: `is_current` says whether the node's own ends are in this session.
    pub(super) fn add_to(&self, is_current: bool, union: &mut Union) {
        let known = self.known();
        let mut owners: HashMap<Gid, Arc<str>> = HashMap::new();
        for (participant, nodes) in &known.nodes {
            let is_new = !union.own.contains(&participant.prefix()) && union.participants.insert(*participant);
            for node in nodes {
                let name: Arc<str> = names::join(&node.namespace, &node.name).into();
                owners.extend(node.readers.iter().chain(&node.writers).map(|gid| (*gid, name.clone())));
                if is_new {
                    union.graph.nodes.push(name.to_string());
                }
            }
        }
        for end in &known.ends {
            if !union.own.contains(&end.gid.prefix()) && union.ends.insert(end.gid) {
                add_end(end, owners.get(&end.gid).map(|name| name.to_string()), &mut union.graph);
            }
        }
        if is_current {
            let this = self.node.fully_qualified();
            for end in known.own.values() {
                add_end(end, Some(this.clone()), &mut union.graph);
            }
            union.graph.nodes.push(this);
        }
    }
}

/// What several sessions know together.
#[derive(Default)]
pub(super) struct Union {
    own: HashSet<Prefix>,
    participants: HashSet<Gid>,
    ends: HashSet<Gid>,
    graph: RosGraph,
}

impl Union {
    /// Of all but the node's own participants.
    pub(super) fn without(own: impl Iterator<Item = Gid>) -> Self {
        Self { own: own.map(Gid::prefix).collect(), ..Self::default() }
    }

    /// The graph, in any order.
    pub(super) fn graph(self) -> RosGraph {
        self.graph
    }
}

/// Adds an end in ROS terms, if it has any.
fn add_end(end: &End, node: Option<String>, graph: &mut RosGraph) {
    let is_writer = end.direction == Direction::Writer;
    if let Some(topic) = wire::topic_of(&end.topic.name) {
        graph.topics.push(TopicEnd {
            topic,
            type_name: names::type_of_dds(&end.topic.kind, ""),
            role: if is_writer { TopicRole::Publisher } else { TopicRole::Subscriber },
            node,
            id: is_writer.then_some(PublisherId(end.gid.0)),
            qos: Some(end.qos),
        });
    } else if let Some(service) = wire::service_of(&end.topic.name) {
        graph.services.push(ServiceEnd {
            service,
            type_name: names::type_of_dds(&end.topic.kind, "_Request"),
            role: if is_writer { ServiceRole::Client } else { ServiceRole::Server },
            node,
        });
    }
}

/// An end of this node; the others are told of it until this is dropped.
pub(super) struct OwnEnd {
    pub gid: Gid,
    is_latched: bool,
    /// How many messages, and how many bytes of them, were written since all that was written had been acknowledged.
    unacknowledged: Mutex<(u32, usize)>,
    graph: Arc<Graph>,
}

impl OwnEnd {
    /// Whether what `writer` said is worth hearing later: this end asks for latched messages, and the writer is still there.
    pub(super) fn is_still_latched(&self, writer: Gid) -> bool {
        self.is_latched && self.graph.known().writers.contains(&writer)
    }

    /// Notes that so many bytes are being written, and whether all that was written before was acknowledged.
    pub(super) fn note_writing(&self, bytes: usize, is_acknowledged: bool) {
        let mut unacknowledged = self.unacknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let (messages, total) = if is_acknowledged { (0, 0) } else { *unacknowledged };
        *unacknowledged = (messages + 1, total.saturating_add(bytes));
        if unacknowledged.0 > MOST_UNACKNOWLEDGED || unacknowledged.1 > MOST_UNACKNOWLEDGED_BYTES {
            *unacknowledged = (0, 0);
            self.graph.known().worn =
                Some("somebody acknowledges nothing of what is published, and the network's library keeps it");
        }
    }
}

impl Drop for OwnEnd {
    fn drop(&mut self) {
        let mut known = self.graph.known();
        known.own.remove(&self.gid);
        known.matched.retain(|(own, _), _| *own != self.gid);
        known.settled.retain(|(own, _)| *own != self.gid);
        known.closed += 1;
        if known.closed == MOST_CLOSED {
            known.worn = Some("many ends of topics were closed, of which the network's library keeps something");
        }
        drop(known);
        self.graph.own_changed();
    }
}

#[cfg(test)]
impl Graph {
    /// Opens and closes so many ends.
    fn close_ends(self: &Arc<Self>, count: u32) {
        let open = || self.own(Gid([7; 16]), Direction::Writer, discovery_topic(), Qos::latched(1));
        (0..count).for_each(|_| drop(open()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_comes_back_is_another_one() {
        let node = NodeName { namespace: "/".to_owned(), name: "n".to_owned() };
        let graph = Graph::new(node, watch::channel(()).0);
        let (own, other) = (Gid([7; 16]), Gid([8; 16]));
        let matched = || {
            graph.hear(Event::Matched { own, other });
            graph.connections(own, other.prefix())
        };
        let first = matched();
        assert_eq!((first.len(), matched()), (1, first.clone()));
        let ends = [
            Event::Unmatched { own, other },
            Event::EndLost(other),
            Event::ParticipantLost { prefix: other.prefix(), was_silent: true },
        ];
        for end in ends {
            graph.hear(end);
            assert!(!graph.has_matched(own, other));
            let again = matched();
            assert!(again.len() == 1 && again != first, "{again:?}");
        }
    }

    #[test]
    fn a_session_in_which_many_ends_were_closed_is_worn() {
        let node = NodeName { namespace: "/".to_owned(), name: "n".to_owned() };
        let graph = Graph::new(node, watch::channel(()).0);
        graph.close_ends(MOST_CLOSED - 1);
        assert_eq!(graph.take_worn(), None);
        graph.close_ends(1);
        assert!(graph.take_worn().is_some() && graph.take_worn().is_none());
    }

    #[test]
    fn a_session_in_which_nothing_is_acknowledged_is_worn() {
        let node = NodeName { namespace: "/".to_owned(), name: "n".to_owned() };
        let graph = Graph::new(node, watch::channel(()).0);
        let end = graph.own(Gid([7; 16]), Direction::Writer, discovery_topic(), Qos::latched(1));
        for n in 0..3 * MOST_UNACKNOWLEDGED {
            end.note_writing(1000, n % 5000 == 0);
        }
        assert_eq!(graph.take_worn(), None);
        (0..MOST_UNACKNOWLEDGED).for_each(|_| end.note_writing(1000, false));
        assert!(graph.take_worn().is_some());
        (0..20).for_each(|_| end.note_writing(16 << 20, false));
        assert!(graph.take_worn().is_some());
    }
}
