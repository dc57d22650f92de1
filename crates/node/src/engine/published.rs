//! The description that the node itself publishes: the URDF of the file that it was given, for
//! robots that no URDF describes (parameters `asset_file`, `publish_description`,
//! `description_to`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Done, Engine, Task, jobs};
use crate::description_source::{DESCRIPTION, Origin};
use urdf_usd_convert::Report;
use urdf_usd_ros::msg::rcl_interfaces::{Parameter, SetParameters, SetParametersRequest};
use urdf_usd_ros::msg::std_msgs;
use urdf_usd_ros::{Graph, Node, Publisher, Qos, Value, names};
use urdf_usd_tf_check as tf_check;

/// How long a node may take to take a parameter.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it waits until it asks again a node that did not take it.
const AGAIN: Duration = Duration::from_secs(10);
/// How many nodes are given it.
const MOST_NODES: usize = 64;

/// The description that the node publishes.
#[derive(Default)]
pub(super) struct Published {
    publisher: Option<Publisher<std_msgs::String>>,
    text: Option<Arc<str>>,
    /// The nodes whose parameter is it, or when they are asked again.
    nodes: BTreeMap<Arc<str>, Option<Instant>>,
}

impl Published {
    /// Whether a description is what the node published: then it says nothing new, whoever repeats
    /// it.
    pub(super) fn is(&self, text: &str) -> bool {
        self.text.as_deref() == Some(text)
    }

    /// Whether a node is to be asked again.
    pub(super) fn is_waiting(&self) -> bool {
        self.nodes.values().any(Option::is_some)
    }
}

impl<N: Node> Engine<N> {
    /// Whether a description comes from where the node's own goes: the topic on which it publishes
    /// and the nodes whose parameter it sets. These hold another robot only until they have heard,
    /// robot_state_publisher the one that it was started with.
    pub(super) fn hears_itself(&self, origin: &Origin) -> bool {
        self.parameters.publish_description
            && self.parameters.file().is_some()
            && match origin {
                Origin::Topic(topic) => topic == self.descriptions.topic(),
                Origin::Parameter(node) => self.is_given(node),
                Origin::File(_) | Origin::Call => false,
            }
    }

    /// Whether a node is one of those whose parameter is set.
    fn is_given(&self, node: &str) -> bool {
        self.parameters
            .description_to
            .as_ref()
            .is_some_and(|pattern| {
                let absolute = pattern.starts_with(['/', '*']);
                let pattern = if absolute {
                    pattern.clone()
                } else {
                    names::join(self.node.namespace(), pattern)
                };
                node != self.node.fully_qualified_name() && tf_check::matches(&pattern, node)
            })
    }

    /// Has the URDF of a revision read, if it is that of the file.
    pub(super) fn begin_publishing(&mut self, origin: &Origin, report: &Report) {
        if !self.parameters.publish_description || !matches!(origin, Origin::File(_)) {
            return;
        }
        let Some(path) = report.file(jobs::DESCRIPTION_ENDING) else {
            return;
        };
        self.running
            .begin(Task::Description { path: path.clone() }, move |_| {
                Done::Description {
                    text: std::fs::read_to_string(&path).map_err(|error| error.to_string()),
                    path,
                }
            });
    }

    /// The URDF of a revision was read.
    pub(super) fn publish_description(&mut self, path: &Path, text: Result<String, String>) {
        // It may have been told to stop meanwhile.
        if !self.parameters.publish_description {
            return;
        }
        let text: Arc<str> = match text {
            Ok(text) => text.into(),
            Err(why) => {
                return tracing::error!(
                    "the description in {} can't be read: {why}",
                    path.display()
                );
            }
        };
        if self.published.is(&text) {
            return;
        }
        if self.published.publisher.is_none() {
            match self.node.advertise(DESCRIPTION, Qos::latched(1)) {
                Ok(publisher) => self.published.publisher = Some(publisher),
                Err(error) => return tracing::error!("no description is published: {error}"),
            }
        }
        self.published.text = Some(text.clone());
        self.published.nodes.clear();
        if let Some(publisher) = &self.published.publisher {
            let size = super::request::size(text.len() as u64);
            match publisher.publish(std_msgs::String {
                data: text.to_string(),
            }) {
                Ok(()) => tracing::info!(
                    "published the description in {} ({size}) on {}",
                    path.display(),
                    publisher.topic()
                ),
                Err(error) => tracing::error!("the description is not published: {error}"),
            }
        }
        self.schedule_graph_scan();
    }

    /// Publishes no more.
    pub(super) fn end_publishing(&mut self) {
        self.published = Published::default();
    }

    /// Gives the description to the nodes that are to have it as a parameter, each once.
    pub(super) fn give_description(&mut self, graph: &Graph, now: Instant) {
        let Some(text) = self.published.text.clone() else {
            return;
        };
        let given: BTreeSet<&String> = graph
            .nodes
            .iter()
            .filter(|node| self.is_given(node))
            .take(MOST_NODES)
            .collect();
        // One that comes again under its name has to be given it again.
        self.published
            .nodes
            .retain(|node, _| given.iter().any(|other| ***other == **node));
        for node in given {
            let node: Arc<str> = node.as_str().into();
            match self.published.nodes.get(&node) {
                None => {}
                Some(Some(again)) if *again <= now => {}
                Some(_) => continue,
            }
            self.published.nodes.insert(node.clone(), None);
            let value = Value::String(text.to_string());
            let parameter = Parameter {
                name: DESCRIPTION.to_owned(),
                value: value.into(),
            };
            let (ros, given, service) = (
                self.node.clone(),
                text.clone(),
                format!("{node}/set_parameters"),
            );
            self.running.wait(async move {
                let answer = ros
                    .call::<SetParameters>(
                        &service,
                        SetParametersRequest {
                            parameters: vec![parameter],
                        },
                        ANSWER,
                    )
                    .await;
                let taken = answer
                    .map_err(|error| error.to_string())
                    .and_then(|answer| {
                        let result = answer.results.into_iter().next().unwrap_or_default();
                        if result.successful {
                            Ok(())
                        } else {
                            Err(result.reason)
                        }
                    });
                Done::Given {
                    node,
                    text: given,
                    taken,
                }
            });
        }
    }

    /// A node was given the description.
    pub(super) fn note_given(&mut self, node: Arc<str>, text: &str, taken: Result<(), String>) {
        if !self.published.is(text) {
            return;
        }
        match taken {
            Ok(()) => tracing::info!("the parameter {DESCRIPTION} of {node} is what is published"),
            Err(why) => {
                tracing::warn!(
                    "the parameter {DESCRIPTION} of {node} could not be set: {why}; it is tried again"
                );
                if let Some(state) = self.published.nodes.get_mut(&node) {
                    *state = Some(Instant::now() + AGAIN);
                }
            }
        }
    }
}
