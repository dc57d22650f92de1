//! One look at a running robot: listens for some seconds, and says how an asset's frames stand. It
//! writes and publishes nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::tf_messages;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::graph::{TopicEnd, TopicRole};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Node, Qos, Subscription};
use urdf_usd_tf_check::{
    Expected, FrameCheck, FrameStatus, Limits, Live, Sources, Topic, Topics, check_frames,
};

/// How many messages may wait to be read.
const DEPTH: usize = 1000;
/// In how many other namespaces is listened.
const MOST_OTHERS: usize = 32;
/// How often it is looked whether enough was heard.
const PERIOD: Duration = Duration::from_millis(100);
/// For how long verdicts must stay as they are once every frame was heard: as long as it takes to
/// see two publishers take turns.
const SETTLED: Duration = Duration::from_millis(3500);

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was found.
    pub check: FrameCheck,
    /// Where the robot was heard, or would have been.
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
    /// `namespace` without a slash at its end.
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

    /// Takes in what has come.
    fn receive(&mut self) {
        let now = Instant::now();
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

    /// Whether nothing at all was heard.
    fn is_silent(&self) -> bool {
        self.live.tree().is_empty()
    }

    fn hears(&self, expected: &Expected) -> bool {
        expected
            .iter()
            .any(|frame| self.live.tree().get(&frame.id).is_some())
    }
}

/// The namespaces, without a slash at the end, in which somebody publishes static transforms.
fn namespaces(node: &impl Node) -> BTreeSet<String> {
    let is_tf = |end: &TopicEnd| {
        end.role == TopicRole::Publisher && end.type_name == "tf2_msgs/msg/TFMessage"
    };
    let ends = node.graph().topics;
    ends.iter()
        .filter(|end| is_tf(end))
        .filter_map(|end| end.topic.strip_suffix("/tf_static").map(str::to_owned))
        .collect()
}

/// Listens until every frame was heard and the verdicts stay as they are, or for `patience`. The
/// robot is listened to in the namespace that its asset declares and in the root namespace: there
/// it counts if it is not heard in its own. Other namespaces are listened to as well, to say where
/// it is if it is there.
///
/// # Errors
/// If the transport refuses, or a name is invalid.
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
    changes.mark_changed();
    let start = Instant::now();
    let mut settled: Option<(Instant, Vec<FrameStatus>)> = None;
    let mut period = tokio::time::interval(PERIOD);
    loop {
        period.tick().await;
        own.receive();
        if let Some(root) = &mut root {
            root.receive();
        }
        if changes.has_changed().unwrap_or(false) {
            changes.mark_unchanged();
            for other in namespaces(node) {
                if others.len() < MOST_OTHERS && known.insert(other.clone()) {
                    others.push(Subscriptions::open(node, &other, None)?);
                }
            }
        }
        others.iter_mut().for_each(Subscriptions::receive);
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
        let checked = check_frames(expected, &[], &sources, limits, now);
        let verdicts: Vec<FrameStatus> = checked
            .findings
            .iter()
            .map(|finding| finding.verdict)
            .collect();
        let is_open = verdicts
            .iter()
            .any(|verdict| matches!(verdict, FrameStatus::Missing | FrameStatus::Stale));
        settled = settled.filter(|(_, before)| !is_open && *before == verdicts);
        let since = settled.get_or_insert((now, verdicts)).0;
        if (!is_open && now.duration_since(since) >= SETTLED) || start.elapsed() >= patience {
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

    /// Of a robot that calls its frames so.
    async fn checked_of(asks: &str, says: &str, patience: u64, [base, tool]: [&str; 2]) -> Outcome {
        let node = Fake::default();
        let tf_static = node.advertise::<TFMessage>(says, Qos::latched(1)).unwrap();
        // Again and again, since without a network nothing is latched.
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
    async fn what_is_not_heard_is_waited_for_and_missing() {
        let start = Instant::now();
        let outcome = checked("/r1", "/r2/tf_static", 500).await;
        assert!(
            !outcome.check.is_ok() && start.elapsed() >= Duration::from_millis(500),
            "{outcome:?}"
        );
        assert_eq!(outcome.topics.moving, "/r1/tf");
    }
}
