//! The ROS graph as a node sees it: publishers, subscribers, servers and clients, with their types
//! and qualities of service.
//!
//! This is plain data, which an implementation of [`super::Node`] fills from its discovery.

use super::{Durability, PublisherId, Reliability};

/// A snapshot of the graph, including this node. Names are absolute, types as in
/// `sensor_msgs/msg/Image`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Fully qualified names of nodes, sorted; a name that two nodes share occurs twice.
    pub nodes: Vec<String>,
    /// Both ends of topics, sorted by topic.
    pub topics: Vec<TopicEnd>,
    /// Both ends of services, sorted by service. The services and topics of an action are listed
    /// here and in [`Graph::topics`] under `NAME/_action/…`.
    pub services: Vec<ServiceEnd>,
}

/// A publisher or a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicEnd {
    /// The topic: `/left/scan`.
    pub topic: String,
    /// The message type: `sensor_msgs/msg/LaserScan`.
    pub type_name: String,
    /// The role of this end.
    pub role: TopicRole,
    /// The node's fully qualified name; `None` until discovery reports it.
    pub node: Option<String>,
    /// The publisher's identity, as in samples; `None` for subscribers, and if the client does not
    /// know it.
    pub id: Option<PublisherId>,
    /// The quality offered or requested, if the client knows it.
    pub qos: Option<EndQos>,
}

/// The role of an end of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicRole {
    /// Publishes.
    Publisher,
    /// Subscribes.
    Subscriber,
}

/// The quality of service of one end, as reported by discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndQos {
    /// Whether lost messages are repeated.
    pub reliability: Reliability,
    /// Whether late subscribers receive earlier messages.
    pub durability: Durability,
    /// Length of the history; `None` if unlimited or unknown (discovery rarely reports it).
    pub depth: Option<usize>,
}

/// A server or a client of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceEnd {
    /// The service: `/left/reset`.
    pub service: String,
    /// The service type: `std_srvs/srv/Trigger`.
    pub type_name: String,
    /// Which end of it.
    pub role: ServiceRole,
    /// The node's fully qualified name; `None` until discovery reports it.
    pub node: Option<String>,
    /// Whether requests and answers can be exchanged with this end: they can't between the embedded
    /// client and nodes on Fast DDS or Connext ([`super::codes::OTHER_SERVICE_WIRE`]).
    pub is_reachable: bool,
}

/// The role of an end of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceRole {
    /// Answers.
    Server,
    /// Calls.
    Client,
}

impl Graph {
    /// Sorts the lists as documented on the fields.
    pub(super) fn sort(&mut self) {
        self.nodes.sort();
        self.topics.sort_by(|a, b| {
            (&a.topic, a.role, &a.node, a.id).cmp(&(&b.topic, b.role, &b.node, b.id))
        });
        self.services
            .sort_by(|a, b| (&a.service, a.role, &a.node).cmp(&(&b.service, b.role, &b.node)));
    }

    /// Returns the publishers of a topic.
    pub fn publishers<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = &'a TopicEnd> {
        self.topics
            .iter()
            .filter(move |end| end.topic == topic && end.role == TopicRole::Publisher)
    }
}
