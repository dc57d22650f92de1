//! A single check of a running robot: subscribes for some seconds and compares TF with an asset's
//! frames. It writes and publishes nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{ros_time, tf_messages};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::graph::{TopicEnd, TopicRole};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Graph, Node, Qos, Subscription, Timeline};
use urdf_usd_tf_check::{
    Expected, FrameCheck, FrameStatus, Limits, Live, Sources, Topic, Topics, check_frames,
};

/// Queue depth of the subscriptions.
const DEPTH: usize = 1000;
/// Maximum number of other namespaces to subscribe in.
const MAX_OTHER_NAMESPACES: usize = 32;
/// Period of evaluating the verdicts.
const PERIOD: Duration = Duration::from_millis(100);
/// Time for which verdicts must stay the same after every frame was received: long enough to notice
/// two publishers that alternate.
const SETTLE_TIME: Duration = Duration::from_millis(3500);

/// The result of [`check`].
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The findings.
    pub check: FrameCheck,
    /// The topics on which the robot was found, or was expected.
    pub topics: Topics,
}

/// The topics of one namespace.
struct Subscriptions {
    moving: Subscription<TFMessage>,
    fixed: Subscription<TFMessage>,
    joints: Subscription<JointState>,
    live: Live,
}

impl Subscriptions {
    /// Subscribes to the topics of `namespace`, which has no trailing slash.
    fn open(
        node: &impl Node,
        namespace: &str,
        joint_states: Option<&str>,
    ) -> Result<Self, Diagnostic> {
        let name = |topic: &str| format!("{namespace}/{topic}");
        let moving = node.subscribe::<TFMessage>(&name("tf"), Qos::best_effort(DEPTH))?;
        let fixed = node.subscribe::<TFMessage>(&name("tf_static"), Qos::latched(DEPTH))?;
        let joints = node.subscribe::<JointState>(
            joint_states.unwrap_or(&name("joint_states")),
            Qos::best_effort(DEPTH),
        )?;
        let topics = Topics {
            moving: moving.topic().to_owned(),
            fixed: fixed.topic().to_owned(),
            joints: joints.topic().to_owned(),
        };
        Ok(Self {
            moving,
            fixed,
            joints,
            live: Live::new(topics),
        })
    }

    /// Processes all queued messages.
    fn receive(&mut self, now: Timeline) {
        while let Some(sample) = self.joints.try_next() {
            tf_messages::add_joint_positions(&mut self.live, &sample, now);
        }
        for (topic, transforms) in [
            (Topic::Static, &mut self.fixed),
            (Topic::Moving, &mut self.moving),
        ] {
            while let Some(sample) = transforms.try_next() {
                tf_messages::add_transforms(&mut self.live, topic, &sample, now);
            }
        }
    }

    /// Sets the publishers of its transforms.
    fn set_publishers(&mut self, graph: &Graph) {
        let is_tf = |end: &&TopicEnd| {
            let topics = self.live.topics();
            end.role == TopicRole::Publisher
                && (end.topic == topics.moving || end.topic == topics.fixed)
        };
        let ends: Vec<&TopicEnd> = graph.topics.iter().filter(is_tf).collect();
        let topics = self.live.topics().clone();
        // The graph is sorted by topic, so each has a part of it.
        tf_messages::set_publishers(&mut self.live, &topics, |topic| {
            let start = ends.partition_point(|end| end.topic.as_str() < topic);
            let end = ends.partition_point(|end| end.topic.as_str() <= topic);
            ends.get(start..end).unwrap_or_default()
        });
    }

    /// Returns whether no transform was received.
    fn is_silent(&self) -> bool {
        self.live.tree().is_empty()
    }

    fn hears(&self, expected: &Expected) -> bool {
        expected
            .iter()
            .any(|frame| self.live.tree().get(&frame.id).is_some())
    }
}

/// Returns the namespaces with publishers of static transforms, without a trailing slash.
fn namespaces(graph: &Graph) -> BTreeSet<String> {
    let is_tf = |end: &TopicEnd| {
        end.role == TopicRole::Publisher && end.type_name == "tf2_msgs/msg/TFMessage"
    };
    graph
        .topics
        .iter()
        .filter(|end| is_tf(end))
        .filter_map(|end| end.topic.strip_suffix("/tf_static").map(str::to_owned))
        .collect()
}

/// Subscribes until every frame was received and the verdicts have settled, at most for `patience`.
///
/// A robot that is not found in the namespace that its asset declares is looked for in the root
/// namespace. Other namespaces are subscribed to only to tell where else the robot is.
///
/// # Errors
/// Fails if the transport refuses a subscription or a name is invalid.
pub async fn check<N: Node>(
    node: &N,
    expected: &Expected,
    limits: &Limits,
    patience: Duration,
) -> Result<Outcome, Diagnostic> {
    let context = &expected.asset().context;
    let namespace = context.namespace.trim_end_matches('/');
    let mut own = Subscriptions::open(node, namespace, context.joint_states.as_deref())?;
    let mut root = if namespace.is_empty() {
        None
    } else {
        Some(Subscriptions::open(node, "", None)?)
    };
    let (mut others, mut known) = (
        Vec::new(),
        BTreeSet::from([namespace.to_owned(), String::new()]),
    );
    let mut changes = node.graph_changes();
    // The first round looks at the graph as it is.
    changes.mark_changed();
    let mut has_clock = true;
    let start = Instant::now();
    let mut settled: Option<(Instant, Vec<FrameStatus>)> = None;
    let mut period = tokio::time::interval(PERIOD);
    loop {
        period.tick().await;
        let timeline = node.timeline();
        own.receive(timeline);
        if let Some(root) = &mut root {
            root.receive(timeline);
        }
        // An error means that the node has shut down; `patience` ends the loop then.
        if changes.has_changed().unwrap_or(false) {
            changes.mark_unchanged();
            let graph = node.graph();
            for other in namespaces(&graph) {
                if others.len() < MAX_OTHER_NAMESPACES && known.insert(other.clone()) {
                    others.push(Subscriptions::open(node, &other, None)?);
                }
            }
            // A graph without topics may come from a client that reports none.
            if !graph.topics.is_empty() {
                has_clock = ros_time::has_clock(node, &graph);
                for subscriptions in std::iter::once(&mut own)
                    .chain(&mut root)
                    .chain(&mut others)
                {
                    subscriptions.set_publishers(&graph);
                }
            }
        }
        others.iter_mut().for_each(|other| other.receive(timeline));
        let (live, second) = match &root {
            Some(root)
                if !own.hears(expected)
                    && (root.hears(expected) || own.is_silent() && !root.is_silent()) =>
            {
                (&root.live, Some(&own.live))
            }
            root => (&own.live, root.as_ref().map(|root| &root.live)),
        };
        let elsewhere: Vec<&Live> = second
            .into_iter()
            .chain(others.iter().map(|other| &other.live))
            .collect();
        let now = Instant::now();
        let sources = Sources {
            transforms: live,
            joints: live,
            elsewhere: &elsewhere,
        };
        let time = ros_time::check_time(node, has_clock);
        let mut checked = check_frames(expected, &[], &sources, limits, time.now);
        checked.causes.extend(time.cause);
        let verdicts: Vec<FrameStatus> = checked
            .findings
            .iter()
            .map(|finding| finding.verdict)
            .collect();
        // Missing and stale frames may still arrive.
        let is_open = verdicts
            .iter()
            .any(|verdict| matches!(verdict, FrameStatus::Missing | FrameStatus::Stale));
        settled = settled.filter(|(_, before)| !is_open && *before == verdicts);
        let since = settled.get_or_insert((now, verdicts)).0;
        if (!is_open && now.duration_since(since) >= SETTLE_TIME) || start.elapsed() >= patience {
            return Ok(Outcome {
                check: checked,
                topics: live.topics().clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::tf_messages::tests::transform;
    use urdf_usd_robot::Pose;
    use urdf_usd_usd_read::{AssetFrame, AssetFrames, FrameKind, RosContext};

    fn expected(namespace: &str) -> Expected {
        let frame = |id: &str, parent: Option<&str>| AssetFrame {
            id: id.to_owned(),
            display_name: None,
            parent: parent.map(str::to_owned),
            is_static: true,
            pose: Pose::identity(),
            kind: FrameKind::Body,
            from_sensor: false,
            is_root: parent.is_none(),
            is_apart: false,
            joint: None,
        };
        let context = RosContext {
            namespace: namespace.to_owned(),
            ..RosContext::default()
        };
        let frames = vec![frame("base", None), frame("tool", Some("base"))];
        Expected::new(
            AssetFrames {
                context,
                frames,
                joints: Vec::new(),
            },
            Instant::now(),
        )
        .unwrap()
    }

    async fn checked(asks: &str, says: &str, patience: u64) -> Outcome {
        checked_of(asks, says, patience, ["base", "tool"]).await
    }

    /// As [`checked`], for a robot with these frame names.
    async fn checked_of(asks: &str, says: &str, patience: u64, [base, tool]: [&str; 2]) -> Outcome {
        let node = Fake::default();
        let tf_static = node.advertise::<TFMessage>(says, Qos::latched(1)).unwrap();
        // Publish repeatedly: the fake has no latched topics.
        let say = async {
            loop {
                tf_static
                    .publish(TFMessage {
                        transforms: vec![transform(base, tool, 0.0)],
                    })
                    .unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (expected, limits) = (expected(asks), Limits::default());
        tokio::select! {
            outcome = check(&node, &expected, &limits, Duration::from_millis(patience)) => outcome.unwrap(),
            () = say => unreachable!(),
        }
    }

    #[tokio::test]
    async fn the_asset_s_namespace_or_the_root_s() {
        for (asks, says, moving) in [
            ("/", "/tf_static", "/tf"),
            ("/r1", "/r1/tf_static", "/r1/tf"),
            ("/r1", "/tf_static", "/tf"),
        ] {
            let start = Instant::now();
            let outcome = checked(asks, says, 60_000).await;
            assert!(
                outcome.check.is_ok() && start.elapsed() < Duration::from_secs(30),
                "{outcome:?}"
            );
            assert_eq!(outcome.topics.moving, moving);
        }
    }

    #[tokio::test]
    async fn frames_with_a_prefix_are_found_in_the_root_namespace() {
        let outcome = checked_of("/r1", "/tf_static", 500, ["p/base", "p/tool"]).await;
        assert_eq!(outcome.topics.moving, "/tf");
        assert_eq!(outcome.check.causes[0].kind.as_str(), "frame_prefix");
    }

    #[tokio::test]
    async fn unheard_frames_are_awaited_and_missing() {
        let start = Instant::now();
        let outcome = checked("/r1", "/r2/tf_static", 500).await;
        assert!(
            !outcome.check.is_ok() && start.elapsed() >= Duration::from_millis(500),
            "{outcome:?}"
        );
        assert_eq!(outcome.topics.moving, "/r1/tf");
    }
}
