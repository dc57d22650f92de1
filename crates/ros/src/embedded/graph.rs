//! The ROS graph as one session sees it: the node's announcements, and those of others.
//!
//! DDS discovery reports readers and writers. The node that each belongs to is announced on the
//! topic `ros_discovery_info`, by every participant for its own nodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::dds::{DdsTopic, Direction, Endpoint, Event, Gid, Prefix};
use super::wire;
use crate::graph::{EndQos, Graph as RosGraph, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use crate::msg::Interface;
use crate::msg::rmw_dds_common::{NodeEntitiesInfo, ParticipantEntitiesInfo};
use crate::names::{self, NodeName};
use crate::{PublisherId, Qos};

/// The topic on which participants announce their nodes.
pub(super) fn discovery_topic() -> DdsTopic {
    DdsTopic {
        name: "ros_discovery_info".to_owned(),
        type_name: names::dds_type(ParticipantEntitiesInfo::TYPE.name, ""),
        definition: Some(ParticipantEntitiesInfo::TYPE),
    }
}

/// A connection of an own endpoint with one of another participant.
///
/// An endpoint that is lost and comes back has a new connection; messages sent over the old one may
/// not have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub other: Gid,
    number: u64,
}

#[derive(Default)]
struct Known {
    /// The node's own endpoints.
    own: BTreeMap<Gid, Endpoint>,
    /// Whether the node has left, so that its endpoints are no longer announced.
    has_left: bool,
    /// The nodes of each participant.
    nodes: HashMap<Gid, Vec<NodeEntitiesInfo>>,
    /// The endpoints of others, as last listed.
    endpoints: Vec<Endpoint>,
    /// Connected pairs of an own endpoint and one of another participant, with the number of the
    /// connection.
    matched: HashMap<(Gid, Gid), u64>,
    /// Number of connections so far.
    connections: u64,
    /// Connected pairs that deliver what is written from now on ([`super::dds::Writer::settle`]).
    settled: HashSet<(Gid, Gid)>,
}

/// Whether a service can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    Found,
    Missing,
    /// Its node runs on another middleware, which carries services differently
    /// ([`Gid::has_our_service_wire`]).
    OtherWire,
}

/// The node's own endpoints, and those of other participants.
pub(super) struct Graph {
    node: NodeName,
    known: Mutex<Known>,
    pub(super) own_changed: Notify,
    /// Notified after every event of discovery.
    pub(super) others_changed: Notify,
    changes: watch::Sender<()>,
}

impl Graph {
    /// Creates a graph whose changes tick `changes`.
    pub(super) fn new(node: NodeName, changes: watch::Sender<()>) -> Arc<Self> {
        Arc::new(Self {
            node,
            known: Mutex::default(),
            own_changed: Notify::new(),
            others_changed: Notify::new(),
            changes,
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an endpoint of this node until the guard is dropped.
    pub(super) fn own(
        self: &Arc<Self>,
        gid: Gid,
        direction: Direction,
        topic: DdsTopic,
        qos: Qos,
    ) -> OwnEnd {
        let qos = EndQos {
            reliability: qos.reliability,
            durability: qos.durability,
            depth: Some(qos.depth),
        };
        self.known().own.insert(
            gid,
            Endpoint {
                gid,
                direction,
                topic,
                qos,
            },
        );
        self.own_changed();
        OwnEnd {
            gid,
            graph: self.clone(),
        }
    }

    fn own_changed(&self) {
        self.own_changed.notify_one();
        self.changes.send_replace(());
    }

    /// Returns the announcement of this node.
    pub(super) fn info(&self, participant: Gid) -> ParticipantEntitiesInfo {
        let known = self.known();
        let ends = |direction| {
            let ends = known
                .own
                .values()
                .filter(|end| end.direction == direction && wire::is_ros_topic(&end.topic.name));
            ends.map(|end| end.gid.into()).collect()
        };
        let node = NodeEntitiesInfo {
            node_namespace: self.node.namespace.clone(),
            node_name: self.node.name.clone(),
            reader_gid_seq: ends(Direction::Reader),
            writer_gid_seq: ends(Direction::Writer),
        };
        ParticipantEntitiesInfo {
            gid: participant.into(),
            node_entities_info_seq: if known.has_left {
                Vec::new()
            } else {
                vec![node]
            },
        }
    }

    /// Announces from now on that the node has left.
    pub(super) fn leave(&self) {
        self.known().has_left = true;
    }

    /// Notes the nodes that a participant announces.
    pub(super) fn hear_nodes(&self, info: ParticipantEntitiesInfo) {
        self.known()
            .nodes
            .insert(info.gid.into(), info.node_entities_info_seq);
        self.changes.send_replace(());
    }

    /// Applies an event of discovery.
    pub(super) fn hear(&self, event: Event) {
        let mut known = self.known();
        match event {
            Event::Found => {}
            Event::EndLost(end) => {
                // Its connections end with it: if it comes back, they must not pass for the new
                // ones.
                known.matched.retain(|(_, other), _| *other != end);
                known.settled.retain(|(_, other)| *other != end);
            }
            Event::ParticipantLost(prefix) => {
                known
                    .nodes
                    .retain(|participant, _| participant.prefix() != prefix);
                known
                    .matched
                    .retain(|(_, other), _| other.prefix() != prefix);
                known.settled.retain(|(_, other)| other.prefix() != prefix);
            }
            Event::Matched { own, other } => {
                // A repeated report of a connection keeps its number (`or_insert`).
                let number = known.connections;
                known.matched.entry((own, other)).or_insert(number);
                known.connections += 1;
                // A new connection has seen no heartbeat yet.
                known.settled.remove(&(own, other));
            }
            Event::Unmatched { own, other } => {
                known.matched.remove(&(own, other));
                known.settled.remove(&(own, other));
            }
            Event::Incompatible {
                own,
                who,
                offered,
                requested,
            } => {
                let topic = known
                    .own
                    .get(&own)
                    .map_or("a topic", |end| end.topic.name.as_str());
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

    /// Replaces the endpoints of others by those that discovery knows now.
    pub(super) fn note_endpoints(&self, endpoints: Vec<Endpoint>) {
        self.known().endpoints = endpoints;
        self.changes.send_replace(());
    }

    /// Returns the endpoints of the participant `prefix` that `own` is connected with.
    pub(super) fn matches(&self, own: Gid, prefix: Prefix) -> Vec<Gid> {
        self.connections(own, prefix)
            .into_iter()
            .map(|connection| connection.other)
            .collect()
    }

    /// Returns the connections of `own` with endpoints of the participant `prefix`.
    pub(super) fn connections(&self, own: Gid, prefix: Prefix) -> Vec<Connection> {
        let known = self.known();
        let connections = known
            .matched
            .iter()
            .filter(|((one, other), _)| *one == own && other.prefix() == prefix);
        connections
            .map(|((_, other), number)| Connection {
                other: *other,
                number: *number,
            })
            .collect()
    }

    /// Returns whether all of `others` deliver what `own` writes from now on.
    pub(super) fn have_settled(&self, own: Gid, others: &[Gid]) -> bool {
        let known = self.known();
        others
            .iter()
            .all(|other| known.settled.contains(&(own, *other)))
    }

    /// Records that all of `others` deliver what `own` writes from now on.
    pub(super) fn note_settled(&self, own: Gid, others: &[Gid]) {
        let mut known = self.known();
        for other in others {
            // It may have been disconnected meanwhile, and a new connection has to settle again.
            if known.matched.contains_key(&(own, *other)) {
                known.settled.insert((own, *other));
            }
        }
    }

    /// Looks for the server of a service: a participant that reads from `writer` and writes to
    /// `reader`, both endpoints of this node.
    pub(super) fn server(&self, writer: Gid, reader: Gid) -> Server {
        let known = self.known();
        let others = |own: Gid| {
            known
                .matched
                .keys()
                .filter(move |ends| ends.0 == own)
                .map(|ends| ends.1)
        };
        let mut servers = others(writer)
            .filter(|listens| others(reader).any(|speaks| listens.prefix() == speaks.prefix()));
        match servers.next() {
            None => Server::Missing,
            // Of several servers, prefer one that can be called.
            Some(first)
                if first.has_our_service_wire() || servers.any(Gid::has_our_service_wire) =>
            {
                Server::Found
            }
            Some(_) => Server::OtherWire,
        }
    }

    /// Adds this session's view to `union`.
    ///
    /// `is_current` says whether the node's own endpoints are in this session.
    pub(super) fn add_to(&self, is_current: bool, union: &mut Union) {
        let known = self.known();
        let mut owners: HashMap<Gid, Arc<str>> = HashMap::new();
        for (participant, nodes) in &known.nodes {
            let is_new = !union.own.contains(&participant.prefix())
                && union.participants.insert(*participant);
            for node in nodes {
                let name: Arc<str> = names::join(&node.node_namespace, &node.node_name).into();
                owners.extend(
                    node.reader_gid_seq
                        .iter()
                        .chain(&node.writer_gid_seq)
                        .map(|gid| (Gid::from(*gid), name.clone())),
                );
                if is_new {
                    union.graph.nodes.push(name.to_string());
                }
            }
        }
        for end in &known.endpoints {
            // Both sessions list the same endpoints, and each lists those of the other session.
            if !union.own.contains(&end.gid.prefix()) && union.ends.insert(end.gid) {
                add_end(
                    end,
                    owners.get(&end.gid).map(|name| name.to_string()),
                    &mut union.graph,
                );
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

/// The merged view of several sessions.
#[derive(Default)]
pub(super) struct Union {
    own: HashSet<Prefix>,
    participants: HashSet<Gid>,
    ends: HashSet<Gid>,
    graph: RosGraph,
}

impl Union {
    /// Starts a view that leaves out the node's own participants.
    pub(super) fn without(own: impl Iterator<Item = Gid>) -> Self {
        Self {
            own: own.map(Gid::prefix).collect(),
            ..Self::default()
        }
    }

    /// Returns the graph, in any order.
    pub(super) fn graph(self) -> RosGraph {
        self.graph
    }
}

/// Adds an endpoint in ROS terms, if it belongs to a topic or service of ROS.
fn add_end(end: &Endpoint, node: Option<String>, graph: &mut RosGraph) {
    let is_writer = end.direction == Direction::Writer;
    if let Some(topic) = wire::ros_topic(&end.topic.name) {
        graph.topics.push(TopicEnd {
            topic,
            type_name: names::ros_type(&end.topic.type_name, ""),
            role: if is_writer {
                TopicRole::Publisher
            } else {
                TopicRole::Subscriber
            },
            node,
            id: is_writer.then_some(PublisherId(end.gid.0)),
            qos: Some(end.qos),
        });
    // By its request topic alone, so that a service has one end for each server and client.
    } else if let Some(service) = wire::ros_service(&end.topic.name) {
        graph.services.push(ServiceEnd {
            service,
            type_name: names::ros_type(&end.topic.type_name, "_Request"),
            role: if is_writer {
                ServiceRole::Client
            } else {
                ServiceRole::Server
            },
            node,
            is_reachable: end.gid.has_our_service_wire(),
        });
    }
}

/// An endpoint of this node, announced until it is dropped.
pub(super) struct OwnEnd {
    pub gid: Gid,
    graph: Arc<Graph>,
}

impl Drop for OwnEnd {
    fn drop(&mut self) {
        let mut known = self.graph.known();
        known.own.remove(&self.gid);
        known.matched.retain(|(own, _), _| *own != self.gid);
        known.settled.retain(|(own, _)| *own != self.gid);
        drop(known);
        self.graph.own_changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_comes_back_is_a_new_one() {
        let node = NodeName {
            namespace: "/".to_owned(),
            name: "n".to_owned(),
        };
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
            Event::ParticipantLost(other.prefix()),
        ];
        for end in ends {
            graph.hear(end);
            assert!(graph.matches(own, other.prefix()).is_empty());
            let again = matched();
            assert!(again.len() == 1 && again != first, "{again:?}");
        }
    }

    #[test]
    fn a_server_of_another_wire_is_not_a_missing_one() {
        let node = NodeName {
            namespace: "/".to_owned(),
            name: "n".to_owned(),
        };
        let graph = Graph::new(node, watch::channel(()).0);
        let (writer, reader) = (Gid([7; 16]), Gid([8; 16]));
        let of = |vendor: u8, end: u8| Gid([1, vendor, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, end, 0, 0, 4]);
        let connect = |vendor: u8| {
            graph.hear(Event::Matched {
                own: writer,
                other: of(vendor, 1),
            });
            graph.hear(Event::Matched {
                own: reader,
                other: of(vendor, 2),
            });
            graph.server(writer, reader)
        };
        assert_eq!(connect(0x0f), Server::OtherWire);
        assert_eq!(connect(0x10), Server::Found);
        graph.hear(Event::EndLost(of(0x10, 2)));
        assert_eq!(graph.server(writer, reader), Server::OtherWire);
        graph.hear(Event::ParticipantLost(of(0x0f, 0).prefix()));
        assert_eq!(graph.server(writer, reader), Server::Missing);
    }
}
