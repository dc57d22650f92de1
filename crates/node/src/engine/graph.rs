//! Reacts to changes of the ROS graph: follows description topics, notes robots that come and go,
//! and asks nodes for their parameter.
//!
//! After a standstill of the process (SIGSTOP, a suspended machine) the graph may lack nodes until
//! discovery has found them again, so no departure is concluded for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Done, Engine};
use crate::description_source::{DESCRIPTION, Origin, RobotNamespace};
use crate::robots::{Frames, Robot};
use crate::ros_time;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::graph::{ServiceRole, TopicEnd, TopicRole};
use urdf_usd_ros::msg::rcl_interfaces::{GetParameters, GetParametersRequest};
use urdf_usd_ros::{Graph, Node, PublisherId, Value, names};
use urdf_usd_tf_check as tf_check;

use super::descriptions::Described;

/// Type of a description topic.
const DESCRIPTION_TYPE: &str = "std_msgs/msg/String";
/// Usual name of the node that publishes a description and has it as a parameter.
const STATE_PUBLISHER: &str = "robot_state_publisher";
/// Suffix of the service that returns a node's parameters.
const GET_PARAMETERS: &str = "/get_parameters";
/// The pattern for any node. A lone `*` would be an alias in YAML, which `ros2 param load` rejects.
const ANY_NODE: &str = "/*";
/// Maximum number of warned topics of another type before those that are gone are forgotten.
const MAX_MISTYPED_TOPICS: usize = 1000;
/// Maximum number of nodes that are asked.
const MAX_ASKED_NODES: usize = 64;
/// Maximum number of clients listed whose requests can't be answered.
const MAX_UNREACHABLE_CLIENTS: usize = 100;
/// Maximum number of nodes that a message names.
const MAX_NAMED: usize = 5;
/// Time to wait for a description topic before a parameter is read instead.
const TOPIC_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for a node's answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of other namespaces in which a robot's frames are looked for.
const MAX_SEARCHED_NAMESPACES: usize = 4;
/// Maximum number of requests to a node that does not answer.
const MAX_TRIES: u32 = 3;

/// The topics in the graph that have publishers.
struct Offered<'a> {
    /// Description topics, with their publishers.
    descriptions: BTreeMap<&'a str, Vec<Option<PublisherId>>>,
    /// Topics with the name of a description topic but another type.
    others: BTreeMap<&'a str, &'a str>,
    /// All other topics, with their publishers.
    topics: BTreeMap<&'a str, Vec<&'a TopicEnd>>,
}

impl<'a> Offered<'a> {
    fn from_graph(graph: &'a Graph, own: &str) -> Self {
        let (mut descriptions, mut others, mut topics) = (
            BTreeMap::<_, Vec<_>>::new(),
            BTreeMap::new(),
            BTreeMap::<_, Vec<_>>::new(),
        );
        for end in graph
            .topics
            .iter()
            .filter(|end| end.role == TopicRole::Publisher)
        {
            let topic = end.topic.as_str();
            if topic != own && RobotNamespace::from_topic(topic).is_none() {
                topics.entry(topic).or_default().push(end);
            } else if end.type_name == DESCRIPTION_TYPE {
                descriptions.entry(topic).or_default().push(end.id);
            } else {
                others.insert(topic, end.type_name.as_str());
            }
        }
        Self {
            descriptions,
            others,
            topics,
        }
    }
}

/// Nodes whose parameter may be read, by name.
#[derive(Default)]
pub(super) struct Nodes {
    nodes: BTreeMap<Arc<str>, Inquiry>,
    /// Topics of another type that were warned of.
    mistyped: BTreeSet<String>,
}

/// The state of the requests to a node.
struct Inquiry {
    since: Instant,
    tries: u32,
    state: State,
    /// Other nodes that may have the parameter.
    others: Vec<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// To be asked at this time.
    Due(Instant),
    Asking,
    /// Its description was read.
    Answered,
    /// It has no such parameter, or never answered.
    Done,
}

impl Nodes {
    /// Returns whether a node is still to be asked.
    pub(super) fn are_waiting(&self) -> bool {
        self.nodes
            .values()
            .any(|asked| matches!(asked.state, State::Due(_)))
    }

    /// Forgets nodes that are due but were not asked.
    fn forget_due(&mut self) {
        self.nodes
            .retain(|_, asked| !matches!(asked.state, State::Due(_)));
    }

    /// Returns whether one of these nodes has answered or is being asked.
    fn has_answer(&self, nodes: &[Arc<str>]) -> bool {
        let state = |node| self.nodes.get(node).map(|asked| asked.state);
        nodes
            .iter()
            .any(|node| matches!(state(node), Some(State::Asking | State::Answered)))
    }
}

impl<N: Node> Engine<N> {
    /// Scans the graph, after it or something that depends on it changed.
    pub(super) fn scan_graph(&mut self) {
        let (graph, now) = (self.node.graph(), Instant::now());
        let own = self.descriptions.topic().clone();
        let offered = Offered::from_graph(&graph, &own);
        for (topic, kind) in &offered.others {
            if (self.parameters.discover || **topic == *own)
                && self.nodes.mistyped.insert((*topic).to_owned())
            {
                tracing::warn!(
                    "{topic} is ignored: its type is {kind}, and descriptions are of type {DESCRIPTION_TYPE}"
                );
            }
        }
        let is_recovering = self.is_recovering(now);
        let followed = if is_recovering {
            self.descriptions.followed()
        } else {
            BTreeSet::new()
        };
        let wanted = if self.parameters.discover {
            let published = offered.descriptions.keys().copied();
            published
                .chain(followed.iter().map(String::as_str))
                .collect()
        } else {
            BTreeSet::new()
        };
        if self.nodes.mistyped.len() > MAX_MISTYPED_TOPICS {
            self.nodes
                .mistyped
                .retain(|topic| offered.others.contains_key(topic.as_str()));
        }
        self.warn_of_unreachable_clients(&graph);
        let dropped = self.descriptions.follow(&*self.node, &wanted);
        // An empty graph may come from a client that reports none: don't conclude that publishers
        // have left.
        let is_known = !graph.topics.is_empty() && !is_recovering;
        if is_known {
            self.has_clock = ros_time::has_clock(&*self.node, &graph);
            let publishers = |topic: &str| {
                offered
                    .descriptions
                    .get(topic)
                    .map_or(&[][..], Vec::as_slice)
            };
            self.publishers.update(publishers, now);
        }
        dropped
            .iter()
            .for_each(|topic| self.publishers.forget(topic));
        // After the publishers, which decide about presence.
        self.update_presence(&graph, is_known);
        self.open_scopes(&offered.topics.keys().copied().collect());
        if is_known {
            self.subscriptions.update_publishers(|topic| {
                offered.topics.get(topic).map_or(&[][..], Vec::as_slice)
            });
        }
        self.ask_nodes(&graph, !offered.descriptions.is_empty(), now);
        self.set_description_parameters(&graph, now);
    }

    /// Warns of nodes that call a service of this node but that its ROS client can't answer.
    fn warn_of_unreachable_clients(&mut self, graph: &Graph) {
        let this = self.node.fully_qualified_name();
        let ends = |role| graph.services.iter().filter(move |end| end.role == role);
        let own: BTreeSet<&str> = ends(ServiceRole::Server)
            .filter(|end| end.node.as_deref() == Some(&*this))
            .map(|end| end.service.as_str())
            .collect();
        let clients = ends(ServiceRole::Client)
            .filter(|end| !end.is_reachable && own.contains(end.service.as_str()));
        // An endpoint whose node is not announced yet is reported once it has a name.
        let clients = clients.filter_map(|end| Some((end.node.clone()?, end.service.clone())));
        let clients: BTreeSet<(String, String)> = clients.take(MAX_UNREACHABLE_CLIENTS).collect();
        for (node, service) in clients.difference(&self.unreachable_clients) {
            tracing::warn!(
                "{node} calls {service} but gets no answer: this build cannot exchange services with nodes on Fast DDS or Connext; \
                 run it with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp, or build this node in a ROS 2 workspace (docs/ros.md)"
            );
        }
        self.unreachable_clients = clients;
    }

    /// Marks robots that have left, and robots from a file that have returned.
    fn update_presence(&mut self, graph: &Graph, is_known: bool) {
        let described = self.publishers.keys();
        let departure = |key: &str, robot: &Robot| match &robot.origin {
            origin @ (Origin::Topic(_) | Origin::Parameter(_))
                if self.yields_to_file(&robot.robot_namespace, origin) =>
            {
                let file = self.parameters.file()?.display();
                Some(format!("{file} is converted instead of {origin}"))
            }
            Origin::Topic(topic) => (!described.contains(key))
                .then(|| format!("its description is no longer published on {topic}")),
            Origin::Parameter(node) => {
                let is_gone = is_known
                    && graph
                        .nodes
                        // The snapshot of the graph is sorted.
                        .binary_search_by(|other| other.as_str().cmp(node))
                        .is_err();
                is_gone.then(|| format!("{node}, which had it as a parameter, has shut down"))
            }
            origin @ Origin::File(path) => (self.parameters.file() != Some(path))
                .then(|| format!("it is no longer converted from {origin}")),
            // A call describes no running robot that could leave.
            Origin::Call => None,
        };
        let present = self.robots.iter().filter(|(_, robot)| robot.gone.is_none());
        let left: Vec<(String, String)> = present
            .filter_map(|(key, robot)| Some((key.clone(), departure(key, robot)?)))
            .collect();
        for (key, why) in left {
            self.mark_gone(&key, why);
        }
        // The robot of a file is present as long as the parameter names the file.
        let is_back = |robot: &Robot| {
            robot.gone.is_some()
                && matches!(&robot.origin, Origin::File(path) if self.parameters.file() == Some(path))
        };
        let back: Vec<String> = self
            .robots
            .iter()
            .filter(|(_, robot)| is_back(robot))
            .map(|(key, _)| key.clone())
            .collect();
        for key in back {
            self.mark_returned(&key);
        }
    }

    /// Subscribes to TF and joint states in the namespaces of the present robots.
    fn open_scopes(&mut self, offered: &BTreeSet<&str>) {
        let mut wanted: BTreeMap<Arc<str>, BTreeSet<String>> = BTreeMap::new();
        for (key, robot) in self.robots.iter().filter(|(_, robot)| robot.gone.is_none()) {
            if let Some(namespace) = self.subscriptions.namespace(&robot.robot_namespace) {
                wanted
                    .entry(namespace.clone())
                    .or_default()
                    .insert(key.clone());
            }
        }
        if self.is_any_lost() {
            // It may run in another namespace than its description says.
            let others = offered.iter().filter_map(|topic| {
                topic
                    .strip_suffix("/tf")
                    .or_else(|| topic.strip_suffix("/tf_static"))
            });
            for namespace in others
                .filter(|namespace| !namespace.is_empty())
                .take(MAX_SEARCHED_NAMESPACES)
            {
                wanted.entry(namespace.into()).or_default();
            }
        }
        self.subscriptions.set(&wanted, offered);
    }

    /// Returns whether a present robot of the node's own namespace has frames but none of them is
    /// received.
    pub(super) fn is_any_lost(&self) -> bool {
        self.robots.values().any(|robot| {
            let has_frames =
                matches!(robot.asset.as_ref().map(|asset| &asset.frames), Some(Frames::Read(Ok(frames))) if !frames.is_empty());
            let is_heard =
                || robot.frame_check.as_ref().is_some_and(|check| check.findings.iter().any(|f| f.actual_topic.is_some()));
            robot.robot_namespace == RobotNamespace::Own && robot.runs() && has_frames && !is_heard()
        })
    }

    /// Asks nodes for their parameter in namespaces where no description is received.
    fn ask_nodes(&mut self, graph: &Graph, is_any_published: bool, now: Instant) {
        let Some(pattern) = self.parameters.description_from.as_deref() else {
            return;
        };
        // Don't query arbitrary nodes in a system that publishes descriptions as usual.
        if pattern == ANY_NODE && is_any_published {
            self.nodes.forget_due();
            return;
        }
        let pattern = if pattern.starts_with(['/', '*']) {
            pattern.to_owned()
        } else {
            names::join(self.node.namespace(), pattern)
        };
        let this = self.node.fully_qualified_name();
        let servers = graph
            .services
            .iter()
            .filter(|end| end.role == ServiceRole::Server);
        let servers: BTreeSet<&str> = servers
            .filter_map(|end| end.service.strip_suffix(GET_PARAMETERS))
            .collect();
        // A client that lists no services can't tell which nodes have parameters.
        let has_parameters = |node: &str| graph.services.is_empty() || servers.contains(node);
        let nodes = graph.nodes.iter().map(String::as_str);
        let present: BTreeSet<&str> = nodes
            .filter(|node| {
                *node != this && tf_check::matches(&pattern, node) && has_parameters(node)
            })
            .collect();
        // A node that leaves and returns is asked anew.
        self.nodes.nodes.retain(|node, _| present.contains(&**node));
        let mut by_namespace: BTreeMap<RobotNamespace, Vec<Arc<str>>> = BTreeMap::new();
        for node in present {
            let node: Arc<str> = node.into();
            if !self.nodes.nodes.contains_key(&node) {
                // The others are asked once some of these have left.
                if self.nodes.nodes.len() >= MAX_ASKED_NODES {
                    break;
                }
                let asked = Inquiry {
                    since: now,
                    tries: 0,
                    state: State::Due(now + TOPIC_TIMEOUT),
                    others: Vec::new(),
                };
                self.nodes.nodes.insert(node.clone(), asked);
            }
            by_namespace
                .entry(self.namespace_of_node(&node))
                .or_default()
                .push(node);
        }
        for (robot_namespace, mut nodes) in by_namespace {
            // A file that was given is not replaced by a guess.
            if robot_namespace == RobotNamespace::Own && self.parameters.file().is_some() {
                continue;
            }
            if self.is_heard(&robot_namespace) || self.nodes.has_answer(&nodes) {
                continue;
            }
            // The most likely first: in this node's namespace, with the usual name.
            let own = self.node.namespace().trim_end_matches('/').to_owned();
            nodes.sort_by_cached_key(|node| {
                let (namespace, name) = node.rsplit_once('/').unwrap_or_default();
                (name != STATE_PUBLISHER, namespace != own, node.clone())
            });
            let due = |node: &&Arc<str>| {
                self.nodes
                    .nodes
                    .get(*node)
                    .is_some_and(|asked| matches!(asked.state, State::Due(due) if due <= now))
            };
            // One node at a time: usually the first has the parameter.
            if let Some(node) = nodes.iter().find(due).cloned() {
                self.ask(&node, robot_namespace, &nodes);
            }
        }
    }

    /// Returns the namespace of the robots that a node describes.
    fn namespace_of_node(&self, node: &str) -> RobotNamespace {
        let topic = match node.rsplit_once('/') {
            Some((namespace, _)) => names::join(namespace, DESCRIPTION),
            None => return RobotNamespace::Own,
        };
        if !self.parameters.discover || topic == **self.descriptions.topic() {
            return RobotNamespace::Own;
        }
        RobotNamespace::from_topic(&topic).unwrap_or(RobotNamespace::Own)
    }

    /// Returns the topic on which a namespace's robots are described.
    fn description_topic(&self, robot_namespace: &RobotNamespace) -> String {
        robot_namespace
            .topic(DESCRIPTION)
            .unwrap_or_else(|| self.descriptions.topic().to_string())
    }

    /// Returns whether a description was received on a namespace's topic.
    fn is_heard(&self, robot_namespace: &RobotNamespace) -> bool {
        self.publishers
            .is_heard(&self.description_topic(robot_namespace))
    }

    fn ask(&mut self, node: &Arc<str>, robot_namespace: RobotNamespace, among: &[Arc<str>]) {
        let topic = self.description_topic(&robot_namespace);
        let Some(asked) = self.nodes.nodes.get_mut(node) else {
            return;
        };
        (asked.tries, asked.state) = (asked.tries + 1, State::Asking);
        tracing::debug!(
            "nothing is heard on {topic}: asking {node} for its parameter {DESCRIPTION}"
        );
        asked.others = among
            .iter()
            .filter(|other| *other != node)
            .cloned()
            .collect();
        let (ros, name, service) = (
            self.node.clone(),
            node.clone(),
            format!("{node}{GET_PARAMETERS}"),
        );
        self.running.wait(async move {
            let request = GetParametersRequest {
                names: vec![DESCRIPTION.to_owned()],
            };
            let answer = ros
                .call::<GetParameters>(&service, request, CALL_TIMEOUT)
                .await;
            let value = answer.map(|answer| {
                match answer
                    .values
                    .into_iter()
                    .next()
                    .and_then(|value| value.value())
                {
                    Some(Value::String(text)) => Some(text).filter(|text| !text.trim().is_empty()),
                    _ => None,
                }
            });
            Done::Parameter {
                node: name,
                robot_namespace,
                value,
            }
        });
    }

    /// Takes a node's answer about its parameter.
    pub(super) fn take_parameter(
        &mut self,
        node: Arc<str>,
        robot_namespace: RobotNamespace,
        value: Result<Option<String>, Diagnostic>,
    ) {
        // Whatever the answer, the scan decides which node is asked next.
        self.schedule_graph_scan();
        let (topic, is_heard) = (
            self.description_topic(&robot_namespace),
            self.is_heard(&robot_namespace),
        );
        // It may have left meanwhile.
        let Some(asked) = self.nodes.nodes.get_mut(&node) else {
            return;
        };
        let waited = asked.since.elapsed().as_secs();
        asked.state = State::Done;
        match value {
            Ok(Some(_)) if is_heard => {
                tracing::debug!("a description was heard meanwhile: that of {node} is ignored")
            }
            Ok(Some(text)) => {
                asked.state = State::Answered;
                let others = match asked.others.len() {
                    0 => String::new(),
                    1..=MAX_NAMED => format!(
                        "; {} may have it too but was not asked",
                        asked.others.join(", ")
                    ),
                    many => format!("; {many} other nodes may have it too but were not asked"),
                };
                tracing::info!(
                    "nothing is heard on {topic}: the parameter {DESCRIPTION} of {node} was read{others}"
                );
                self.hear(Described {
                    robot_namespace,
                    origin: Origin::Parameter(node),
                    publisher: None,
                    text,
                });
            }
            Ok(None) => tracing::debug!("{node} has no parameter {DESCRIPTION}"),
            Err(error) if asked.tries < MAX_TRIES => {
                // Exponential back-off: 2 s, then 4 s.
                let wait = Duration::from_secs(1 << asked.tries);
                asked.state = State::Due(Instant::now() + wait);
                tracing::debug!("{error}; asking again in {} s", wait.as_secs());
            }
            // A user who names a node wants to know that it failed.
            Err(error) if self.parameters.description_from.as_deref() != Some(ANY_NODE) => {
                tracing::warn!(
                    "the parameter {DESCRIPTION} of {node} could not be read in {waited} s: {error}"
                );
            }
            Err(error) => tracing::debug!("{node}: {error}"),
        }
    }
}
