//! Derives the interfaces of a running robot from the ROS graph and from messages on its topics
//! (REP-158 §2.2 to §2.6, §2.9).
//!
//! An interface belongs to the robot whose namespace it is in; the robot in the root namespace owns
//! whatever is in no other robot's. Excluded are:
//! - by type, the interfaces of every node and of ROS itself: parameters, `/rosout`, type
//!   descriptions, lifecycles, composition, bonds, statistics, diagnostics, `/clock`, and TF, which
//!   every asset declares by its frames (§2.7);
//! - `simulation_interfaces` (§2.9);
//! - hidden names (with a segment that begins with `_`), except for actions, which are recognised
//!   by their services `NAME/_action/…`;
//! - endpoints of this node and of tools: RViz, rqt, the ros2 command line, rosbag2, Foxglove.
//!
//! A topic that the robot publishes is authored once, as a publisher, even if other nodes of the
//! robot subscribe to it. A command topic (velocities, trajectories, joysticks) is authored as a
//! subscription, even if an operator publishes it. A client is authored only if no node of the
//! robot serves the service.
//!
//! This module does not depend on USD. Only [`listen`] does I/O; all else works on plain data.

mod compare;
mod listen;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use compare::{Differing, compare, status};
pub(super) use listen::listen;

use urdf_usd_robot::{Captured, Interface, InterfaceKind, Qos};
use urdf_usd_ros::graph::{EndQos, Graph, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use urdf_usd_ros::{Durability, Reliability, names};

/// Rate in Hz of a publisher that could not be measured: REP-158 requires one of every publisher.
const DEFAULT_RATE: f64 = 1.0;
/// Packages whose messages and services belong to ROS itself, not to a robot.
const INFRASTRUCTURE_PACKAGES: [&str; 12] = [
    "rcl_interfaces",
    "type_description_interfaces",
    "service_msgs",
    "lifecycle_msgs",
    "composition_interfaces",
    "bond",
    "statistics_msgs",
    "diagnostic_msgs",
    "rosgraph_msgs",
    "tf2_msgs",
    "simulation_interfaces",
    "urdf_usd",
];
/// Prefixes of the names of nodes that are tools, in any namespace.
const TOOL_PREFIXES: [&str; 7] = [
    "rviz",
    "rqt",
    "_ros2cli",
    "rosbag2",
    "foxglove_bridge",
    "launch_ros_",
    "transform_listener_impl_",
];
/// Types of messages that command a robot.
const COMMAND_TYPES: [&str; 12] = [
    "geometry_msgs/msg/Twist",
    "geometry_msgs/msg/TwistStamped",
    "ackermann_msgs/msg/AckermannDrive",
    "ackermann_msgs/msg/AckermannDriveStamped",
    "trajectory_msgs/msg/JointTrajectory",
    "trajectory_msgs/msg/MultiDOFJointTrajectory",
    "control_msgs/msg/JointJog",
    "control_msgs/msg/MultiDOFCommand",
    "control_msgs/msg/DynamicInterfaceGroupValues",
    "std_msgs/msg/Float64MultiArray",
    "sensor_msgs/msg/Joy",
    "sensor_msgs/msg/JoyFeedback",
];
/// Types that describe the whole robot: the frame in their header is not the interface's frame.
const WHOLE_ROBOT_TYPES: [&str; 2] = ["sensor_msgs/msg/JointState", "nav_msgs/msg/Odometry"];

/// Topics that every robot publishes: a subscription to one is not an interface of the robot.
const UNIVERSAL_TOPICS: [&str; 2] = ["joint_states", "robot_description"];

/// Measurements of a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measurement {
    /// Hz, rounded; `None` if too few messages were received.
    pub rate: Option<f64>,
    /// The frame in the headers, if all messages have the same.
    pub frame: Option<String>,
}

/// A snapshot of the graph, with measurements of its topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    /// Sorted by name: looking up one robot costs only its own endpoints, however many robots run.
    graph: Graph,
    heard: BTreeMap<String, Measurement>,
}

impl Snapshot {
    pub(super) fn new(mut graph: Graph, heard: BTreeMap<String, Measurement>) -> Self {
        // Clients report the graph sorted; sorting it again costs little.
        graph.topics.sort_by(|a, b| a.topic.cmp(&b.topic));
        graph.services.sort_by(|a, b| a.service.cmp(&b.service));
        Self { graph, heard }
    }

    /// Returns whether the graph is empty: nothing was received yet.
    pub(super) fn is_empty(&self) -> bool {
        self.graph == Graph::default()
    }

    /// Returns the topic endpoints whose names begin with `start`.
    fn topics(&self, start: &str) -> &[TopicEnd] {
        with_prefix(&self.graph.topics, start, |end| &end.topic)
    }

    /// Returns the service endpoints whose names begin with `start`.
    fn services(&self, start: &str) -> &[ServiceEnd] {
        with_prefix(&self.graph.services, start, |end| &end.service)
    }
}

/// Returns the slice of `sorted` whose names begin with `start`.
fn with_prefix<'a, T>(sorted: &'a [T], start: &str, name: impl Fn(&T) -> &str) -> &'a [T] {
    // Names with a common prefix are consecutive, so two binary searches find them.
    let (_, rest) = sorted.split_at(sorted.partition_point(|one| name(one) < start));
    rest.split_at(rest.partition_point(|one| name(one).starts_with(start)))
        .0
}

/// The robot whose interfaces are requested.
pub(super) struct Scope<'a> {
    /// The robot's namespace, absolute: `/`, `/r1`.
    pub namespace: &'a str,
    /// The namespaces of all robots.
    pub others: &'a BTreeSet<&'a str>,
    /// The fully qualified name of this node.
    pub node: &'a str,
}

impl Scope<'_> {
    /// Returns the name relative to the robot's namespace; `None` if it belongs to another robot.
    fn relative<'n>(&self, name: &'n str) -> Option<&'n str> {
        let relative = below(name, self.namespace)?;
        // Look up the namespaces between this one and the name, not all robots: the cost does not
        // depend on their number.
        let start = name.len() - relative.len();
        let mut ends = relative
            .match_indices('/')
            .map(|(at, _)| &name[..start + at]);
        let is_anothers = ends.any(|namespace| self.others.contains(namespace));
        (!is_anothers && !relative.is_empty()).then_some(relative)
    }

    /// Returns whether endpoints of a node count: it is neither this node nor a tool.
    fn counts(&self, node: Option<&str>) -> bool {
        node.is_none_or(|node| node != self.node && !is_tool(node))
    }
}

/// Returns the name relative to a namespace.
fn below<'n>(name: &'n str, namespace: &str) -> Option<&'n str> {
    name.strip_prefix(namespace.trim_end_matches('/'))?
        .strip_prefix('/')
}

fn is_tool(node: &str) -> bool {
    let name = node.rsplit('/').next().unwrap_or(node);
    TOOL_PREFIXES.iter().any(|tool| name.starts_with(tool))
}

fn is_hidden(name: &str) -> bool {
    name.split('/').any(|segment| segment.starts_with('_'))
}

fn is_infrastructure(type_name: &str) -> bool {
    type_name
        .split('/')
        .next()
        .is_some_and(|package| INFRASTRUCTURE_PACKAGES.contains(&package))
}

/// Returns whether to subscribe to a topic: it may be a robot's, and its messages carry
/// information.
fn is_measurable(end: &TopicEnd, node: &str) -> bool {
    let others = BTreeSet::new();
    let scope = Scope {
        namespace: "/",
        others: &others,
        node,
    };
    end.role == TopicRole::Publisher
        && scope.counts(end.node.as_deref())
        && !is_hidden(&end.topic)
        && !is_infrastructure(&end.type_name)
        && names::check_namespace(&end.topic).is_ok()
}

/// Returns the interfaces of a robot, sorted by name.
pub(super) fn interfaces(seen: &Snapshot, scope: &Scope<'_>) -> Vec<Captured> {
    let mut found: BTreeMap<(&str, u8), Captured> = BTreeMap::new();
    let mut ends: BTreeMap<&str, Vec<&TopicEnd>> = BTreeMap::new();
    let inside = format!("{}/", scope.namespace.trim_end_matches('/'));
    for end in seen.topics(&inside) {
        if scope.counts(end.node.as_deref())
            && !is_infrastructure(&end.type_name)
            && !is_hidden(&end.topic)
        {
            ends.entry(&end.topic).or_default().push(end);
        }
    }
    for (topic, ends) in ends {
        let Some(name) = scope.relative(topic) else {
            continue;
        };
        if let Some(captured) = topic_interface(name, &ends, seen.heard.get(topic)) {
            // The number keeps a topic, a service and an action of the same name apart.
            found.insert((name, 0), captured);
        }
    }
    let mut services: BTreeMap<&str, Vec<&ServiceEnd>> = BTreeMap::new();
    for end in seen.services(&inside) {
        if scope.counts(end.node.as_deref()) && !is_infrastructure(&end.type_name) {
            services.entry(&end.service).or_default().push(end);
        }
    }
    for (service, ends) in services {
        let is_served = |end: &&&ServiceEnd| end.role == ServiceRole::Server;
        let end = ends.iter().find(is_served).or(ends.first());
        let (Some(name), Some(end)) = (scope.relative(service), end) else {
            continue;
        };
        let is_server = end.role == ServiceRole::Server;
        let (name, order, type_name, kind) = match action(name, &end.type_name) {
            Some((name, type_name)) if is_server => {
                (name, 2, type_name, InterfaceKind::ActionServer)
            }
            Some((name, type_name)) => (name, 2, type_name, InterfaceKind::ActionClient),
            None if is_hidden(name) => continue,
            None if is_server => (
                name,
                1,
                end.type_name.as_str(),
                InterfaceKind::ServiceServer,
            ),
            None => (
                name,
                1,
                end.type_name.as_str(),
                InterfaceKind::ServiceClient,
            ),
        };
        found.insert((name, order), unmeasured(name, type_name, kind));
    }
    found.into_values().collect()
}

/// Returns the name and type of the action whose goal service this is.
fn action<'n>(service: &'n str, type_name: &'n str) -> Option<(&'n str, &'n str)> {
    let name = service
        .strip_suffix("/_action/send_goal")
        .filter(|name| !name.is_empty() && !is_hidden(name))?;
    Some((name, type_name.strip_suffix("_SendGoal")?))
}

fn unmeasured(name: &str, type_name: &str, kind: InterfaceKind) -> Captured {
    Captured {
        interface: Interface::new(name, type_name, kind),
        is_measured: false,
        frame: None,
    }
}

fn topic_interface(
    name: &str,
    ends: &[&TopicEnd],
    heard: Option<&Measurement>,
) -> Option<Captured> {
    let with = |role: TopicRole| ends.iter().copied().filter(move |end| end.role == role);
    // Endpoints of different types can't communicate: the first type by name represents the topic.
    let type_of = |role| with(role).map(|end| end.type_name.as_str()).min();
    let (published, wanted) = (
        type_of(TopicRole::Publisher),
        type_of(TopicRole::Subscriber),
    );
    // If the robot subscribes to a command topic, its publisher is an operator, not the robot.
    let is_command = |type_name: &&str| COMMAND_TYPES.contains(type_name);
    Some(
        match (
            published.filter(|_| !wanted.is_some_and(|wanted| is_command(&wanted))),
            wanted,
        ) {
            (Some(type_name), _) => {
                let rate = heard.and_then(|heard| heard.rate);
                let kind = InterfaceKind::Publisher {
                    rate: rate.unwrap_or(DEFAULT_RATE),
                    qos: qos(with(TopicRole::Publisher)),
                };
                let frame = heard
                    .and_then(|heard| heard.frame.clone())
                    .filter(|_| !WHOLE_ROBOT_TYPES.contains(&type_name));
                Captured {
                    is_measured: rate.is_some(),
                    frame,
                    ..unmeasured(name, type_name, kind)
                }
            }
            (None, Some(_)) if UNIVERSAL_TOPICS.contains(&name) => return None,
            (None, Some(type_name)) => unmeasured(
                name,
                type_name,
                InterfaceKind::Subscription {
                    qos: qos(with(TopicRole::Subscriber)),
                },
            ),
            (None, None) => return None,
        },
    )
}

/// Returns the QoS that all endpoints offer.
fn qos<'e>(ends: impl Iterator<Item = &'e TopicEnd>) -> Qos {
    let known: Vec<EndQos> = ends.filter_map(|end| end.qos).collect();
    if known.is_empty() {
        return Qos::DEFAULT;
    }
    let depth = known.iter().filter_map(|qos| qos.depth).min();
    Qos::seen(
        known
            .iter()
            .all(|qos| qos.reliability == Reliability::Reliable),
        known
            .iter()
            .all(|qos| qos.durability == Durability::TransientLocal),
        depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
    )
}

#[cfg(test)]
mod tests;
