//! From the trait's terms to those of DDS and back: quality of service, the names of topics and types.

use rustdds::policy::{
    Durability as DdsDurability, History, Lifespan, Liveliness, Reliability as DdsReliability, ResourceLimits,
};
use rustdds::{Duration, QosPolicies, QosPolicyBuilder};

use super::dds::DdsTopic;
use crate::{Durability, Qos, Reliability, names};

fn depth(qos: Qos) -> i32 {
    i32::try_from(qos.depth.max(1)).unwrap_or(i32::MAX)
}

fn policies(qos: Qos) -> QosPolicyBuilder {
    QosPolicyBuilder::new()
        .reliability(match qos.reliability {
            // How long a write may wait for slow readers before it gives up; the writer's task tries again.
            Reliability::Reliable => DdsReliability::Reliable { max_blocking_time: Duration::from_millis(100) },
            Reliability::BestEffort => DdsReliability::BestEffort,
        })
        .durability(match qos.durability {
            Durability::Volatile => DdsDurability::Volatile,
            Durability::TransientLocal => DdsDurability::TransientLocal,
        })
        .history(History::KeepLast { depth: depth(qos) })
        .liveliness(Liveliness::Automatic { lease_duration: Duration::INFINITE })
}

/// The QoS of a topic that is published.
///
/// RustDDS 0.15 writes nothing to anybody while 8192 messages, unless limited otherwise, are not acknowledged by one of the readers; and of
/// one that is new, and has not acknowledged anything yet, all count that were ever written. So there is no limit here:
/// [`super::graph::Graph`] has one for a reader that never acknowledges anything.
pub(super) fn publisher(qos: Qos) -> QosPolicies {
    let duration = qos.lifespan.map_or(Duration::INFINITE, Duration::from_std);
    policies(qos).lifespan(Lifespan { duration }).resource_limits(samples(i32::MAX)).build()
}

fn samples(most: i32) -> ResourceLimits {
    ResourceLimits { max_samples: most, max_instances: most, max_samples_per_instance: most }
}

/// The QoS of a topic that is heard, of which `cached` messages of all publishers together are kept. RustDDS keeps the last 64 messages
/// of every topic unless limited, also those that were read: with descriptions of 16 MiB that would be a gigabyte.
pub(super) fn subscription(qos: Qos, cached: usize) -> QosPolicies {
    let most = i32::try_from(cached.max(qos.depth).max(1)).unwrap_or(i32::MAX);
    policies(qos).resource_limits(samples(most)).build()
}

/// The topic `/tf` in DDS terms.
pub(super) fn topic(name: &str, kind: &str) -> DdsTopic {
    DdsTopic { name: format!("rt{name}"), kind: names::dds_type(kind, "") }
}

/// The two topics of a service, for requests and for answers.
pub(super) fn service(name: &str, kind: &str) -> (DdsTopic, DdsTopic) {
    (
        DdsTopic { name: format!("rq{name}Request"), kind: names::dds_type(kind, "_Request") },
        DdsTopic { name: format!("rr{name}Reply"), kind: names::dds_type(kind, "_Response") },
    )
}

/// `rt/tf` → `/tf`.
pub(super) fn topic_of(dds: &str) -> Option<String> {
    dds.strip_prefix("rt").filter(|name| name.starts_with('/')).map(str::to_owned)
}

/// `rq/resetRequest` → `/reset`.
pub(super) fn service_of(dds: &str) -> Option<String> {
    dds.strip_prefix("rq").filter(|name| name.starts_with('/'))?.strip_suffix("Request").map(str::to_owned)
}

/// Whether a DDS topic is a ROS topic or half of a ROS service.
pub(super) fn is_of_ros(dds: &str) -> bool {
    ["rt/", "rq/", "rr/"].iter().any(|prefix| dds.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_way_to_dds_and_back() {
        for kind in ["std_msgs/msg/String", "a_b/action/Fibonacci_FeedbackMessage", "p/msg/Request"] {
            let dds = topic("/x/y", kind);
            assert_eq!((topic_of(&dds.name).as_deref(), names::type_of_dds(&dds.kind, "").as_str()), (Some("/x/y"), kind));
        }
        let (requests, answers) = service("/left/reset", "std_srvs/srv/Trigger");
        assert_eq!(
            (requests.name.as_str(), requests.kind.as_str()),
            ("rq/left/resetRequest", "std_srvs::srv::dds_::Trigger_Request_")
        );
        assert_eq!(
            (answers.name.as_str(), answers.kind.as_str()),
            ("rr/left/resetReply", "std_srvs::srv::dds_::Trigger_Response_")
        );
        assert_eq!(service_of(&requests.name).as_deref(), Some("/left/reset"));
        assert_eq!(names::type_of_dds(&requests.kind, "_Request"), "std_srvs/srv/Trigger");
        assert_eq!(
            names::type_of_dds("p::action::dds_::Fibonacci_SendGoal_Request_", "_Request"),
            "p/action/Fibonacci_SendGoal"
        );
        for foreign in ["DCPSTopic", "rt", "rtx/y", "ros_discovery_info"] {
            assert_eq!((topic_of(foreign), service_of(foreign), is_of_ros(foreign)), (None, None, false), "{foreign}");
        }
        for foreign in ["ShapeType", "a::dds_::B", "a::b"] {
            assert_eq!(names::type_of_dds(foreign, ""), foreign);
        }
    }
}
