//! The ROS graph as a node sees it: who publishes, listens, serves and calls, under which types and
//! qualities of service.
//!
//! Plain data: an implementation of [`super::Node`] fills it from its discovery.

use super::{Durability, PublisherId, Reliability};

/// All that is known of the graph at one moment, this node included. Names are absolute, types as
/// in `sensor_msgs/msg/Image`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Fully qualified names of nodes, sorted; a name that two nodes have is there twice.
    pub nodes: Vec<String>,
    /// Both ends of topics, sorted by topic.
    pub topics: Vec<TopicEnd>,
    /// Both ends of services, sorted by service. An action's services and topics are here and in
    /// [`Graph::topics`] as such, under `NAME/_action/…`.
    pub services: Vec<ServiceEnd>,
}

/// A publisher or a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicEnd {
    /// The topic: `/left/scan`.
    pub topic: String,
    /// The message type: `sensor_msgs/msg/LaserScan`.
    pub type_name: String,
    /// Which end of it.
    pub role: TopicRole,
    /// The node's fully qualified name; `None` while discovery has not told it.
    pub node: Option<String>,
    /// The publisher's identity, as samples carry it; `None` for subscribers and where the client
    /// can't tell.
    pub id: Option<PublisherId>,
    /// What it offers or asks for, if the client can tell.
    pub qos: Option<EndQos>,
}

/// Which end of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicRole {
    /// It publishes.
    Publisher,
    /// It listens.
    Subscriber,
}

/// The quality of service at one end, as discovery tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndQos {
    /// Whether losses are repaired.
    pub reliability: Reliability,
    /// Whether late subscribers are served.
    pub durability: Durability,
    /// How many messages are kept; `None` if all, or if discovery does not tell (it rarely does).
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
    /// The node's fully qualified name; `None` while discovery has not told it.
    pub node: Option<String>,
    /// Whether requests and answers can be exchanged with it. Not between the embedded client and
    /// nodes on Fast DDS or Connext ([`super::codes::OTHER_SERVICE_WIRE`]).
    pub is_reachable: bool,
}

/// Which end of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceRole {
    /// It answers.
    Server,
    /// It calls.
    Client,
}

impl Graph {
    /// Puts it in the order that it promises.
    pub(super) fn sort(&mut self) {
        self.nodes.sort();
        self.topics.sort_by(|a, b| {
            (&a.topic, a.role, &a.node, a.id).cmp(&(&b.topic, b.role, &b.node, b.id))
        });
        self.services
            .sort_by(|a, b| (&a.service, a.role, &a.node).cmp(&(&b.service, b.role, &b.node)));
    }

    /// The publishers of a topic.
    pub fn publishers<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = &'a TopicEnd> {
        self.topics
            .iter()
            .filter(move |end| end.topic == topic && end.role == TopicRole::Publisher)
    }
}
