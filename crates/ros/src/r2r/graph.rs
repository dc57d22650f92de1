//! The ROS graph as r2r reports it: topics and their publishers.

use ::r2r::Node;
use ::r2r::qos::{DurabilityPolicy, HistoryPolicy, ReliabilityPolicy};

use crate::graph::{EndQos, Graph, TopicEnd, TopicRole};
use crate::{Durability, Reliability, names};

/// The name that rcl gives a node whose name discovery has not reported.
const UNKNOWN: &str = "_NODE_NAME_UNKNOWN_";

/// Returns a snapshot of the graph, in any order: the publishers, and the nodes that have one, as
/// almost every node has on `/rosout`. Endpoints that vanish meanwhile are left out.
pub(super) fn look(node: &Node) -> Graph {
    let mut graph = Graph::default();
    for topic in node
        .get_topic_names_and_types()
        .unwrap_or_default()
        .into_keys()
    {
        for end in node
            .get_publishers_info_by_topic(&topic, false)
            .unwrap_or_default()
        {
            let qos = &end.qos_profile;
            let reliability = match qos.reliability {
                ReliabilityPolicy::Reliable => Some(Reliability::Reliable),
                ReliabilityPolicy::BestEffort => Some(Reliability::BestEffort),
                _ => None,
            };
            let durability = match qos.durability {
                DurabilityPolicy::TransientLocal => Some(Durability::TransientLocal),
                DurabilityPolicy::Volatile => Some(Durability::Volatile),
                _ => None,
            };
            let depth =
                (qos.history == HistoryPolicy::KeepLast && qos.depth > 0).then_some(qos.depth);
            let name = names::join(&end.node_namespace, &end.node_name);
            graph.topics.push(TopicEnd {
                topic: topic.clone(),
                node: (end.node_name != UNKNOWN).then_some(name),
                type_name: end.topic_type,
                role: TopicRole::Publisher,
                // Messages do not carry it.
                id: None,
                qos: reliability
                    .zip(durability)
                    .map(|(reliability, durability)| EndQos {
                        reliability,
                        durability,
                        depth,
                    }),
            });
        }
    }
    graph.nodes = graph
        .topics
        .iter()
        .filter_map(|end| end.node.clone())
        .collect();
    graph.nodes.sort_unstable();
    graph.nodes.dedup();
    graph
}
