//! Publishes the URDF of the file that the node was given, for robots that have no other
//! description (parameters `asset_file`, `publish_description`, `description_to`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Done, Engine, Task, jobs};
use crate::description_source::{DESCRIPTION, Origin, RobotNamespace};
use urdf_usd_convert::Report;
use urdf_usd_ros::msg::rcl_interfaces::{Parameter, SetParameters, SetParametersRequest};
use urdf_usd_ros::msg::std_msgs;
use urdf_usd_ros::{Graph, Node, Publisher, Qos, Value, names};
use urdf_usd_tf_check as tf_check;

/// Time limit for a node's answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before a node is asked again.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// Maximum number of nodes whose parameter is set.
const MAX_NODES: usize = 64;

/// The description that this node publishes.
#[derive(Default)]
pub(super) struct Published {
    publisher: Option<Publisher<std_msgs::String>>,
    text: Option<Arc<str>>,
    /// The nodes whose parameter was set, with the time of the next try if that failed.
    nodes: BTreeMap<Arc<str>, Option<Instant>>,
}

impl Published {
    /// Returns whether a description equals the published one, and so brings nothing new.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.text.as_deref() == Some(text)
    }

    /// Returns whether a node is to be asked again.
    pub(super) fn is_waiting(&self) -> bool {
        self.nodes.values().any(Option::is_some)
    }
}

impl<N: Node> Engine<N> {
    /// Returns whether a description is ignored because the node was given a file: it describes the
    /// node's own robot, or comes from a node that this node gives its own description to. Any other
    /// text from there is stale: robot_state_publisher first publishes the one that it was started
    /// with.
    pub(super) fn yields_to_file(&self, robot_namespace: &RobotNamespace, origin: &Origin) -> bool {
        let is_recipient = || {
            self.parameters.publish_description
                && matches!(origin, Origin::Parameter(node) if self.is_recipient(node))
        };
        self.parameters.file().is_some()
            && (*robot_namespace == RobotNamespace::Own || is_recipient())
    }

    /// Returns whether this node sets the parameter of a node.
    fn is_recipient(&self, node: &str) -> bool {
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

    /// Starts to read the URDF of a revision, if the revision is the file's.
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

    /// Publishes the URDF of a revision.
    pub(super) fn publish_description(&mut self, path: &Path, text: Result<String, String>) {
        // Publishing may have been switched off meanwhile.
        if !self.parameters.publish_description {
            return;
        }
        let text: Arc<str> = match text {
            Ok(text) => text.into(),
            Err(why) => {
                return tracing::error!(
                    "the description in {} cannot be read: {why}",
                    path.display()
                );
            }
        };
        if self.published.matches(&text) {
            return;
        }
        if self.published.publisher.is_none() {
            match self.node.advertise(DESCRIPTION, Qos::latched(1)) {
                Ok(publisher) => self.published.publisher = Some(publisher),
                Err(error) => return tracing::error!("cannot publish the description: {error}"),
            }
        }
        self.published.text = Some(text.clone());
        // Every node gets the new text.
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
                Err(error) => tracing::error!("cannot publish the description: {error}"),
            }
        }
        self.schedule_graph_scan();
    }

    /// Stops publishing.
    pub(super) fn end_publishing(&mut self) {
        // Dropping the publisher withdraws the topic with its latched message.
        self.published = Published::default();
    }

    /// Sets the parameter of the nodes that match `description_to`, once each.
    pub(super) fn set_description_parameters(&mut self, graph: &Graph, now: Instant) {
        let Some(text) = self.published.text.clone() else {
            return;
        };
        let given: BTreeSet<&String> = graph
            .nodes
            .iter()
            .filter(|node| self.is_recipient(node))
            .take(MAX_NODES)
            .collect();
        // A node that restarts under the same name needs the parameter again.
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
                        CALL_TIMEOUT,
                    )
                    .await;
                let taken = answer
                    .map_err(|error| error.to_string())
                    .and_then(|answer| {
                        // An answer without a result counts as a refusal.
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

    /// Takes a node's answer about setting its parameter.
    pub(super) fn finish_set_parameter(
        &mut self,
        node: Arc<str>,
        text: &str,
        taken: Result<(), String>,
    ) {
        // A newer text has been published meanwhile, and is set by a call of its own.
        if !self.published.matches(text) {
            return;
        }
        match taken {
            Ok(()) => tracing::info!("set the parameter {DESCRIPTION} of {node}"),
            Err(why) => {
                tracing::warn!(
                    "the parameter {DESCRIPTION} of {node} could not be set: {why}; trying again"
                );
                if let Some(state) = self.published.nodes.get_mut(&node) {
                    *state = Some(Instant::now() + RETRY_DELAY);
                }
            }
        }
    }
}
