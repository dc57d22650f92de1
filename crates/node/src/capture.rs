//! Which interfaces a running robot has, told from the ROS graph and from what was heard on its
//! topics (REP-158 §2.2 to §2.6, §2.9).
//!
//! What belongs to a robot is in its namespace; in the root it is everything that is in no other
//! robot's. Left out is what is no robot's:
//! - what every node has or what serves ROS itself, by type: parameters, `/rosout`, type
//!   descriptions, lifecycles, composition, bonds, statistics, diagnostics, `/clock`, and TF, which
//!   every asset has by its frames (§2.7);
//! - `simulation_interfaces` (§2.9);
//! - hidden names (with a segment that begins with `_`), but for actions, which are told from their
//!   parts in `NAME/_action/…`;
//! - the ends of this node and of tools: RViz, rqt, ros2 on the command line, rosbag2, Foxglove.
//!
//! A topic at which the robot speaks is authored once, as a publisher, although others of its nodes
//! listen. A topic that somebody commands by (velocities, trajectories, joysticks) is a
//! subscription, although an operator publishes it. Clients are authored where nobody of the robot
//! serves.
//!
//! This module must not know of USD. [`listen`] listens; all else is plain data.

mod compare;
mod listen;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use compare::{Differing, compare, status};
pub(super) use listen::listen;

use urdf_usd_robot::{Captured, Interface, InterfaceKind, Qos};
use urdf_usd_ros::graph::{EndQos, Graph, ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use urdf_usd_ros::{Durability, Reliability, names};

/// The rate in Hz of a publisher that was not measured: it spoke once or never. REP-158 wants one
/// of every publisher.
const NO_RATE: f64 = 1.0;
/// The packages whose messages and services are no robot's.
const INFRASTRUCTURE: [&str; 12] = [
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
/// The beginnings of the names of nodes that are tools, whatever their namespace.
const TOOLS: [&str; 7] = [
    "rviz",
    "rqt",
    "_ros2cli",
    "rosbag2",
    "foxglove_bridge",
    "launch_ros_",
    "transform_listener_impl_",
];
/// What robots are commanded by.
const COMMANDS: [&str; 12] = [
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
/// What is about the whole robot, whatever its header says.
const OF_THE_WHOLE: [&str; 2] = ["sensor_msgs/msg/JointState", "nav_msgs/msg/Odometry"];

/// What every robot publishes: who listens to it is no part of what it offers.
const OF_EVERY_ROBOT: [&str; 2] = ["joint_states", "robot_description"];

/// What was heard on a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Heard {
    /// Hz, rounded; `None` if it was not heard often enough.
    pub rate: Option<f64>,
    /// The frame in the headers, if there was one and always the same.
    pub frame: Option<String>,
}

/// The graph, and what was heard on topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Sorted by names, so that looking for one robot among many costs what that robot has.
    graph: Graph,
    heard: BTreeMap<String, Heard>,
}

impl Seen {
    pub(super) fn new(mut graph: Graph, heard: BTreeMap<String, Heard>) -> Self {
        // Clients tell it sorted; it costs little to make sure.
        graph.topics.sort_by(|a, b| a.topic.cmp(&b.topic));
        graph.services.sort_by(|a, b| a.service.cmp(&b.service));
        Self { graph, heard }
    }

    /// Whether nothing was seen yet.
    pub(super) fn is_empty(&self) -> bool {
        self.graph == Graph::default()
    }

    /// The ends of topics whose names begin with `start`.
    fn topics(&self, start: &str) -> &[TopicEnd] {
        beginning(&self.graph.topics, start, |end| &end.topic)
    }

    /// The ends of services whose names begin with `start`.
    fn services(&self, start: &str) -> &[ServiceEnd] {
        beginning(&self.graph.services, start, |end| &end.service)
    }
}

/// Of what is sorted by names, what has a name that begins with `start`.
fn beginning<'a, T>(sorted: &'a [T], start: &str, name: impl Fn(&T) -> &str) -> &'a [T] {
    let (_, rest) = sorted.split_at(sorted.partition_point(|one| name(one) < start));
    rest.split_at(rest.partition_point(|one| name(one).starts_with(start)))
        .0
}

/// Whose interfaces are asked for.
pub(super) struct Who<'a> {
    /// The robot's namespace, absolute: `/`, `/r1`.
    pub namespace: &'a str,
    /// The namespaces of all robots.
    pub others: &'a BTreeSet<&'a str>,
    /// The fully qualified name of this node.
    pub node: &'a str,
}

impl Who<'_> {
    /// The name relative to the robot's namespace; `None` if it belongs to another, or is hidden.
    fn relative<'n>(&self, name: &'n str) -> Option<&'n str> {
        let relative = below(name, self.namespace)?;
        // Namespaces between this one and the name, so that it costs the same whatever the number
        // of robots.
        let start = name.len() - relative.len();
        let mut ends = relative
            .match_indices('/')
            .map(|(at, _)| &name[..start + at]);
        let is_anothers = ends.any(|namespace| self.others.contains(namespace));
        (!is_anothers && !relative.is_empty()).then_some(relative)
    }

    /// Whether a node at an end counts: not this one, and no tool.
    fn counts(&self, node: Option<&str>) -> bool {
        node.is_none_or(|node| node != self.node && !is_tool(node))
    }
}

/// The name below a namespace.
fn below<'n>(name: &'n str, namespace: &str) -> Option<&'n str> {
    name.strip_prefix(namespace.trim_end_matches('/'))?
        .strip_prefix('/')
}

fn is_tool(node: &str) -> bool {
    let name = node.rsplit('/').next().unwrap_or(node);
    TOOLS.iter().any(|tool| name.starts_with(tool))
}

fn is_hidden(name: &str) -> bool {
    name.split('/').any(|segment| segment.starts_with('_'))
}

fn is_infrastructure(type_name: &str) -> bool {
    type_name
        .split('/')
        .next()
        .is_some_and(|package| INFRASTRUCTURE.contains(&package))
}

/// Whether a topic is worth listening to: it may be a robot's, and its messages may say something.
fn is_listened_to(end: &TopicEnd, node: &str) -> bool {
    let others = BTreeSet::new();
    let who = Who {
        namespace: "/",
        others: &others,
        node,
    };
    end.role == TopicRole::Publisher
        && who.counts(end.node.as_deref())
        && !is_hidden(&end.topic)
        && !is_infrastructure(&end.type_name)
        && names::check_namespace(&end.topic).is_ok()
}

/// The interfaces of a robot, sorted by name.
pub(super) fn interfaces(seen: &Seen, who: &Who<'_>) -> Vec<Captured> {
    let mut found: BTreeMap<(&str, u8), Captured> = BTreeMap::new();
    let mut ends: BTreeMap<&str, Vec<&TopicEnd>> = BTreeMap::new();
    let inside = format!("{}/", who.namespace.trim_end_matches('/'));
    for end in seen.topics(&inside) {
        if who.counts(end.node.as_deref())
            && !is_infrastructure(&end.type_name)
            && !is_hidden(&end.topic)
        {
            ends.entry(&end.topic).or_default().push(end);
        }
    }
    for (topic, ends) in ends {
        let Some(name) = who.relative(topic) else {
            continue;
        };
        if let Some(captured) = of_topic(name, &ends, seen.heard.get(topic)) {
            found.insert((name, 0), captured);
        }
    }
    let mut services: BTreeMap<&str, Vec<&ServiceEnd>> = BTreeMap::new();
    for end in seen.services(&inside) {
        if who.counts(end.node.as_deref()) && !is_infrastructure(&end.type_name) {
            services.entry(&end.service).or_default().push(end);
        }
    }
    for (service, ends) in services {
        let is_served = |end: &&&ServiceEnd| end.role == ServiceRole::Server;
        let end = ends.iter().find(is_served).or(ends.first());
        let (Some(name), Some(end)) = (who.relative(service), end) else {
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
        found.insert((name, order), whole(name, type_name, kind));
    }
    found.into_values().collect()
}

/// The name and type of the action that a service belongs to, by the one that its goals go to.
fn action<'n>(service: &'n str, type_name: &'n str) -> Option<(&'n str, &'n str)> {
    let name = service
        .strip_suffix("/_action/send_goal")
        .filter(|name| !name.is_empty() && !is_hidden(name))?;
    Some((name, type_name.strip_suffix("_SendGoal")?))
}

fn whole(name: &str, type_name: &str, kind: InterfaceKind) -> Captured {
    let interface = Interface {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        kind,
        starts_enabled: true,
    };
    Captured {
        interface,
        is_measured: false,
        frame: None,
    }
}

fn of_topic(name: &str, ends: &[&TopicEnd], heard: Option<&Heard>) -> Option<Captured> {
    let with = |role: TopicRole| ends.iter().copied().filter(move |end| end.role == role);
    // Ends that disagree can't speak to each other: the first by name stands for the topic.
    let type_of = |role| with(role).map(|end| end.type_name.as_str()).min();
    let (published, wanted) = (
        type_of(TopicRole::Publisher),
        type_of(TopicRole::Subscriber),
    );
    let is_command = |type_name: &&str| COMMANDS.contains(type_name);
    Some(
        match (
            published.filter(|_| !wanted.is_some_and(|wanted| is_command(&wanted))),
            wanted,
        ) {
            (Some(type_name), _) => {
                let rate = heard.and_then(|heard| heard.rate);
                let kind = InterfaceKind::Publisher {
                    rate: rate.unwrap_or(NO_RATE),
                    qos: qos(with(TopicRole::Publisher)),
                };
                let frame = heard
                    .and_then(|heard| heard.frame.clone())
                    .filter(|_| !OF_THE_WHOLE.contains(&type_name));
                Captured {
                    is_measured: rate.is_some(),
                    frame,
                    ..whole(name, type_name, kind)
                }
            }
            (None, Some(_)) if OF_EVERY_ROBOT.contains(&name) => return None,
            (None, Some(type_name)) => whole(
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

/// What all of several ends offer.
fn qos<'e>(ends: impl Iterator<Item = &'e TopicEnd>) -> Qos {
    let known: Vec<EndQos> = ends.filter_map(|end| end.qos).collect();
    if known.is_empty() {
        return Qos::Default;
    }
    Qos::Seen {
        is_reliable: known
            .iter()
            .all(|qos| qos.reliability == Reliability::Reliable),
        is_latched: known
            .iter()
            .all(|qos| qos.durability == Durability::TransientLocal),
        depth: known
            .iter()
            .filter_map(|qos| qos.depth)
            .min()
            .map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
    }
}

#[cfg(test)]
mod tests;
