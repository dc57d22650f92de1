//! What the ROS graph tells: which descriptions there are to follow, which robots came and went,
//! whom to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Done, Engine};
use crate::description_source::{DESCRIPTION, Origin, RobotNamespace};
use crate::robots::{Frames, Robot};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::graph::{ServiceRole, TopicRole};
use urdf_usd_ros::msg::rcl_interfaces::{GetParameters, GetParametersRequest};
use urdf_usd_ros::{Graph, Node, PublisherId, Value, names};
use urdf_usd_tf_check as tf_check;

use super::descriptions::Described;

/// The type of a description's topic.
const STRING: &str = "std_msgs/msg/String";
/// Who publishes descriptions in ROS, and has them as a parameter.
const PUBLISHER: &str = "robot_state_publisher";
/// The service of a node that tells its parameters, after its name.
const GET_PARAMETERS: &str = "/get_parameters";
/// Which nodes to ask: any. A lone `*` would be an alias to YAML, at which `ros2 param load` gives
/// up.
const ANY: &str = "/*";
/// How many topics of another type are remembered that are there no more.
const MOST_ODD: usize = 1000;
/// How many nodes are asked.
const MOST_ASKED: usize = 64;
/// Maximum number of clients listed whose requests can't be answered.
const MAX_UNREACHABLE_CLIENTS: usize = 100;
/// How many nodes are named where there may be many.
const MOST_NAMED: usize = 5;
/// How long a topic may take to be there before a parameter is read in its place.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a node may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// In how many other namespaces the frames of a robot are looked for.
const MOST_SEARCHED: usize = 4;
/// How often a node that does not answer is asked.
const TRIES: u32 = 3;

/// What the graph offers of what is followed here.
struct Offered<'a> {
    /// The publishers of each topic that holds a description.
    descriptions: BTreeMap<&'a str, Vec<Option<PublisherId>>>,
    /// Topics that are called like one, and are of another type.
    others: BTreeMap<&'a str, &'a str>,
    /// All other topics, with their publishers.
    topics: BTreeMap<&'a str, Vec<Option<PublisherId>>>,
}

impl<'a> Offered<'a> {
    fn of(graph: &'a Graph, own: &str) -> Self {
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
            if topic != own && RobotNamespace::of_topic(topic).is_none() {
                topics.entry(topic).or_default().push(end.id);
            } else if end.type_name == STRING {
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
    nodes: BTreeMap<Arc<str>, Asked>,
    /// Topics of another type, of which was told.
    odd: BTreeSet<String>,
}

/// How it went with a node.
struct Asked {
    since: Instant,
    tries: u32,
    state: State,
    /// Who else may have it.
    others: Vec<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was not asked yet, or is to be asked again from then on.
    Due(Instant),
    Asking,
    /// Its description was read.
    Told,
    /// It has no such parameter, or never answers.
    Done,
}

impl Nodes {
    /// Whether a node is yet to be asked.
    pub(super) fn are_waiting(&self) -> bool {
        self.nodes
            .values()
            .any(|asked| matches!(asked.state, State::Due(_)))
    }

    /// Forgets those that were not asked yet.
    fn forget_due(&mut self) {
        self.nodes
            .retain(|_, asked| !matches!(asked.state, State::Due(_)));
    }

    /// Whether one of these was read, or is being asked.
    fn has_told(&self, nodes: &[Arc<str>]) -> bool {
        let state = |node| self.nodes.get(node).map(|asked| asked.state);
        nodes
            .iter()
            .any(|node| matches!(state(node), Some(State::Asking | State::Told)))
    }
}

impl<N: Node> Engine<N> {
    /// The graph changed, or something that depends on it.
    pub(super) fn look_at_graph(&mut self) {
        let (graph, now) = (self.node.graph(), Instant::now());
        let own = self.descriptions.topic().clone();
        let offered = Offered::of(&graph, &own);
        for (topic, kind) in &offered.others {
            if (self.parameters.discover || **topic == *own)
                && self.nodes.odd.insert((*topic).to_owned())
            {
                tracing::warn!(
                    "{topic} is not listened to: it is of type {kind}, and a description is a {STRING}"
                );
            }
        }
        let wanted = if self.parameters.discover {
            offered.descriptions.keys().copied().collect()
        } else {
            BTreeSet::new()
        };
        if self.nodes.odd.len() > MOST_ODD {
            self.nodes
                .odd
                .retain(|topic| offered.others.contains_key(topic.as_str()));
        }
        self.note_unreachable_clients(&graph);
        let dropped = self.descriptions.follow(&*self.node, &wanted);
        // A client that tells nothing of the graph tells of nobody that left either.
        let is_known = !graph.topics.is_empty();
        if is_known {
            let publishers = |topic: &str| {
                offered
                    .descriptions
                    .get(topic)
                    .map_or(&[][..], Vec::as_slice)
            };
            self.publishers.look(publishers, now);
        }
        dropped
            .iter()
            .for_each(|topic| self.publishers.forget(topic));
        self.note_presence(&graph, is_known);
        self.open_scopes(&offered.topics.keys().copied().collect());
        if is_known {
            self.subscriptions.note_publishers(
                |topic| offered.topics.get(topic).map_or(&[][..], Vec::as_slice),
                now,
            );
        }
        self.ask_nodes(&graph, !offered.descriptions.is_empty(), now);
        self.give_description(&graph, now);
    }

    /// Notes nodes that call a service of this one, and whose requests its ROS client can't answer.
    fn note_unreachable_clients(&mut self, graph: &Graph) {
        let this = self.node.fully_qualified_name();
        let ends = |role| graph.services.iter().filter(move |end| end.role == role);
        let own: BTreeSet<&str> = ends(ServiceRole::Server)
            .filter(|end| end.node.as_deref() == Some(&*this))
            .map(|end| end.service.as_str())
            .collect();
        let clients = ends(ServiceRole::Client)
            .filter(|end| !end.is_reachable && own.contains(end.service.as_str()));
        // One whose node is not announced yet is taken up with its name.
        let clients = clients.filter_map(|end| Some((end.node.clone()?, end.service.clone())));
        let clients: BTreeSet<(String, String)> = clients.take(MAX_UNREACHABLE_CLIENTS).collect();
        for (node, service) in clients.difference(&self.unreachable_clients) {
            tracing::warn!(
                "{node} calls {service} and gets no answer: services can't be exchanged with nodes on Fast DDS or Connext by this \
                 build; run it with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp, or build this node in a ROS 2 workspace (docs/ros.md)"
            );
        }
        self.unreachable_clients = clients;
    }

    /// Notes which robots left.
    fn note_presence(&mut self, graph: &Graph, is_known: bool) {
        let described = self.publishers.keys();
        let has_left = |key: &str, robot: &Robot| match &robot.origin {
            Origin::Topic(_) => !described.contains(key),
            Origin::Parameter(node) => {
                is_known
                    && graph
                        .nodes
                        .binary_search_by(|other| other.as_str().cmp(node))
                        .is_err()
            }
            Origin::File(path) => self.parameters.file() != Some(path),
            Origin::Call => false,
        };
        let left = self
            .robots
            .iter()
            .filter(|(key, robot)| robot.gone.is_none() && has_left(key, robot));
        let left: Vec<String> = left.map(|(key, _)| key.clone()).collect();
        for key in left {
            self.mark_gone(&key);
        }
        // A file is there as long as the parameter names it.
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

    /// Listens to what the robots that are there say of themselves.
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
                .take(MOST_SEARCHED)
            {
                wanted.entry(namespace.into()).or_default();
            }
        }
        self.subscriptions.set(&wanted, offered);
    }

    /// Whether a robot of the node's own is there, and no frame of it is heard where it should be.
    pub(super) fn is_any_lost(&self) -> bool {
        self.robots.values().any(|robot| {
            let has_frames =
                matches!(robot.asset.as_ref().map(|asset| &asset.frames), Some(Frames::Read(Ok(frames))) if !frames.is_empty());
            let is_heard =
                || robot.frame_check.as_ref().is_some_and(|check| check.findings.iter().any(|f| f.actual_topic.is_some()));
            robot.robot_namespace == RobotNamespace::Own && robot.runs() && has_frames && !is_heard()
        })
    }

    /// Reads the parameter of a node where no description is heard.
    fn ask_nodes(&mut self, graph: &Graph, is_any_published: bool, now: Instant) {
        let Some(pattern) = self.parameters.description_from.as_deref() else {
            return;
        };
        // Nobody is bothered at random where robots are described as usual.
        if pattern == ANY && is_any_published {
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
        let can_tell = |node: &str| graph.services.is_empty() || servers.contains(node);
        let nodes = graph.nodes.iter().map(String::as_str);
        let there: BTreeSet<&str> = nodes
            .filter(|node| *node != this && tf_check::matches(&pattern, node) && can_tell(node))
            .collect();
        self.nodes.nodes.retain(|node, _| there.contains(&**node));
        let mut homes: BTreeMap<RobotNamespace, Vec<Arc<str>>> = BTreeMap::new();
        for node in there {
            let node: Arc<str> = node.into();
            if !self.nodes.nodes.contains_key(&node) {
                if self.nodes.nodes.len() >= MOST_ASKED {
                    break;
                }
                let asked = Asked {
                    since: now,
                    tries: 0,
                    state: State::Due(now + PATIENCE),
                    others: Vec::new(),
                };
                self.nodes.nodes.insert(node.clone(), asked);
            }
            homes
                .entry(self.home_of_node(&node))
                .or_default()
                .push(node);
        }
        for (robot_namespace, mut nodes) in homes {
            if self.is_heard(&robot_namespace) || self.nodes.has_told(&nodes) {
                continue;
            }
            // The likeliest first: in the node's own namespace, and called as usual.
            let own = self.node.namespace().trim_end_matches('/').to_owned();
            nodes.sort_by_cached_key(|node| {
                let (namespace, name) = node.rsplit_once('/').unwrap_or_default();
                (name != PUBLISHER, namespace != own, node.clone())
            });
            let due = |node: &&Arc<str>| {
                self.nodes
                    .nodes
                    .get(*node)
                    .is_some_and(|asked| matches!(asked.state, State::Due(due) if due <= now))
            };
            if let Some(node) = nodes.iter().find(due).cloned() {
                self.ask(&node, robot_namespace, &nodes);
            }
        }
    }

    /// Whose robots a node describes.
    fn home_of_node(&self, node: &str) -> RobotNamespace {
        let topic = match node.rsplit_once('/') {
            Some((namespace, _)) => names::join(namespace, DESCRIPTION),
            None => return RobotNamespace::Own,
        };
        if !self.parameters.discover || topic == **self.descriptions.topic() {
            return RobotNamespace::Own;
        }
        RobotNamespace::of_topic(&topic).unwrap_or(RobotNamespace::Own)
    }

    /// The topic that a namespace's robots are described on.
    fn topic_of(&self, robot_namespace: &RobotNamespace) -> String {
        robot_namespace
            .topic(DESCRIPTION)
            .unwrap_or_else(|| self.descriptions.topic().to_string())
    }

    /// Whether a description is heard on a namespace's topic.
    fn is_heard(&self, robot_namespace: &RobotNamespace) -> bool {
        self.publishers.is_heard(&self.topic_of(robot_namespace))
    }

    fn ask(&mut self, node: &Arc<str>, robot_namespace: RobotNamespace, among: &[Arc<str>]) {
        let topic = self.topic_of(&robot_namespace);
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
            let answer = ros.call::<GetParameters>(&service, request, ANSWER).await;
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

    /// A node told of its parameter.
    pub(super) fn take_parameter(
        &mut self,
        node: Arc<str>,
        robot_namespace: RobotNamespace,
        value: Result<Option<String>, Diagnostic>,
    ) {
        self.schedule_graph_scan();
        let (topic, is_heard) = (
            self.topic_of(&robot_namespace),
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
                tracing::debug!("a description was heard meanwhile: that of {node} is left")
            }
            Ok(Some(text)) => {
                asked.state = State::Told;
                let others = match asked.others.len() {
                    0 => String::new(),
                    1..=MOST_NAMED => format!(
                        "; {} may have it too, and is not asked",
                        asked.others.join(", ")
                    ),
                    many => format!("; {many} other nodes may have it too, and are not asked"),
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
            Err(error) if asked.tries < TRIES => {
                let wait = Duration::from_secs(1 << asked.tries);
                asked.state = State::Due(Instant::now() + wait);
                tracing::debug!("{error}; asking again in {} s", wait.as_secs());
            }
            // Whoever names a node wants to hear of it.
            Err(error) if self.parameters.description_from.as_deref() != Some(ANY) => {
                tracing::warn!(
                    "the parameter {DESCRIPTION} of {node} could not be read in {waited} s: {error}"
                );
            }
            Err(error) => tracing::debug!("{node}: {error}"),
        }
    }
}
