//! From the trait's terms to `ros2-client`'s.

use rustdds::policy::{Durability as DdsDurability, History, Liveliness, Reliability as DdsReliability, ResourceLimits};
use rustdds::{Duration, QosPolicies, QosPolicyBuilder};
use serde::{Deserialize, Serialize};

use crate::ros::msg::Payload;
use crate::ros::{Durability, Qos, Reliability};

/// Half of a service, for a client that wants its own marker trait on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub(super) struct Wire<T: Payload>(pub T);

impl<T: Payload> ros2_client::Message for Wire<T> {}

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
pub(super) fn publisher(qos: Qos) -> QosPolicies {
    policies(qos).build()
}

/// The QoS of a topic that is heard. RustDDS keeps the last 64 messages of every topic unless limited, also those that were read:
/// with descriptions of 16 MiB that would be a gigabyte.
pub(super) fn subscription(qos: Qos) -> QosPolicies {
    let samples = depth(qos);
    let limits = ResourceLimits { max_samples: samples, max_instances: samples, max_samples_per_instance: samples };
    policies(qos).resource_limits(limits).build()
}

/// The QoS of both sides of a service. Callers wait in the reader's cache, so it is deep.
pub(super) fn service() -> ros2_client::qos::QosProfile {
    use ros2_client::qos::{History, QosProfile};
    QosProfile::publisher_default().history(History::KeepLast { depth: super::service::DEPTH })
}
