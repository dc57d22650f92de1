//! The ROS graph as reported by rcl.

use ::rclrs::{
    LogSeverity, Logger, Node, QoSDurabilityPolicy, QoSHistoryPolicy, QoSReliabilityPolicy,
    RclrsError, TopicEndpointInfo,
};

use crate::graph::{EndQos, Graph, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use crate::{Durability, Reliability, names};

/// The name that rcl gives a node whose name discovery has not reported.
const UNKNOWN: &str = "_NODE_NAME_UNKNOWN_";

/// Silences a warning of rclrs about every endpoint: discovery does not report the history policy.
pub(super) fn silence_history_warnings() {
    if let Ok(logger) = Logger::new("QoSProfile.conversion") {
        let _ = logger.set_level(LogSeverity::Fatal);
    }
}

/// Returns a snapshot of the graph, in any order. Endpoints that vanish meanwhile are left out.
pub(super) fn look(node: &Node) -> Graph {
    let nodes = node.get_node_names().unwrap_or_default();
    let mut graph = Graph::default();
    for topic in node
        .get_topic_names_and_types()
        .unwrap_or_default()
        .into_keys()
    {
        let mut add = |role, ends: Result<Vec<TopicEndpointInfo>, RclrsError>| {
            graph.topics.extend(
                ends.unwrap_or_default()
                    .into_iter()
                    .map(|end| topic_end(&topic, role, end)),
            );
        };
        add(
            TopicRole::Publisher,
            node.get_publishers_info_by_topic(&topic),
        );
        add(
            TopicRole::Subscriber,
            node.get_subscriptions_info_by_topic(&topic),
        );
    }
    for other in nodes {
        let name = names::join(&other.namespace, &other.name);
        let served = node.get_service_names_and_types_by_node(&other.name, &other.namespace);
        let called = node.get_client_names_and_types_by_node(&other.name, &other.namespace);
        for (role, ends) in [(ServiceRole::Server, served), (ServiceRole::Client, called)] {
            let ends = ends.unwrap_or_default().into_iter();
            graph.services.extend(ends.flat_map(|(service, types)| {
                let end = |type_name| ServiceEnd {
                    service: service.clone(),
                    type_name,
                    role,
                    node: Some(name.clone()),
                    is_reachable: true,
                };
                types.into_iter().map(end).collect::<Vec<_>>()
            }));
        }
        graph.nodes.push(name);
    }
    graph
}

fn topic_end(topic: &str, role: TopicRole, end: TopicEndpointInfo) -> TopicEnd {
    let qos = end.qos_profile;
    let reliability = match qos.reliability {
        QoSReliabilityPolicy::Reliable => Some(Reliability::Reliable),
        QoSReliabilityPolicy::BestEffort => Some(Reliability::BestEffort),
        _ => None,
    };
    let durability = match qos.durability {
        QoSDurabilityPolicy::TransientLocal => Some(Durability::TransientLocal),
        QoSDurabilityPolicy::Volatile => Some(Durability::Volatile),
        _ => None,
    };
    let depth = match qos.history {
        QoSHistoryPolicy::KeepLast { depth } if depth > 0 => Some(depth as usize),
        _ => None,
    };
    TopicEnd {
        topic: topic.to_owned(),
        type_name: end.topic_type,
        role,
        node: (end.node_name != UNKNOWN).then(|| names::join(&end.node_namespace, &end.node_name)),
        // rclrs does not report it.
        id: None,
        qos: reliability
            .zip(durability)
            .map(|(reliability, durability)| EndQos {
                reliability,
                durability,
                depth,
            }),
    }
}
