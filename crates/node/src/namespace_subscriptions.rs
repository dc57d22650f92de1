//! What is heard of running robots, namespace by namespace: transforms and joint states.
//!
//! The node's own scope is always open: `/tf`, `/tf_static`, its `joint_states`. A namespace's is
//! open while a robot of it is there, and listens only to topics that somebody publishes: of two
//! hundred robots that all publish to `/tf` nothing is heard twice. Every transform is taken in
//! once, whatever the number of robots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::future::OptionFuture;
use tokio::task::JoinSet;

use super::description_source::RobotNamespace;
use super::parts::Parts;
use super::robots;
use super::tf_messages;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Node, PublisherId, Qos, Subscription};
use urdf_usd_serve::Site;
use urdf_usd_tf_check::{self as tf_check, Live, Sources, Topic, Topics};

/// How many transforms may wait to be read.
const TRANSFORMS: usize = 1000;
/// How many joint states may wait to be read: several publishers may each tell a part of the
/// joints.
const JOINT_STATES: usize = 100;
/// After how long without joint states a robot counts as not moving by them any more.
const SILENCE: Duration = Duration::from_secs(2);
/// How many namespaces are listened to at once.
const MOST_NAMESPACES: usize = 1000;
/// How many other subscriptions a robot's frames are looked for in.
const MOST_ELSEWHERE: usize = 4;

type Shared = Arc<Mutex<Live>>;

/// Whose joint states are heard.
type Keys = Arc<RwLock<BTreeSet<String>>>;

/// What is heard in one namespace.
struct NamespaceSubscription {
    live: Shared,
    keys: Keys,
    topics: Topics,
    open: BTreeSet<String>,
    tasks: JoinSet<()>,
}

/// All that is heard.
pub(super) struct NamespaceSubscriptions<N> {
    node: Arc<N>,
    site: Arc<Site>,
    parts: Parts,
    own: NamespaceSubscription,
    /// The namespace that the node's own robots are described in, if it is not the root.
    own_namespace: Option<Arc<str>>,
    others: BTreeMap<String, NamespaceSubscription>,
    /// Which scope the robots in namespaces are heard in, for the page.
    by_robot: Arc<RwLock<HashMap<String, Shared>>>,
    complained: bool,
}

impl<N: Node> NamespaceSubscriptions<N> {
    /// Opens the node's own scope. `own_namespace`: where its own robots are described, if not in
    /// the root. Call it in a tokio runtime.
    ///
    /// # Errors
    /// If the transport refuses, or a remapped name is invalid.
    pub(super) fn start(
        node: Arc<N>,
        site: Arc<Site>,
        own_namespace: Option<Arc<str>>,
        parts: Parts,
    ) -> Result<Self, Diagnostic> {
        let moving = node.subscribe::<TFMessage>("/tf", Qos::best_effort(TRANSFORMS))?;
        let fixed = node.subscribe::<TFMessage>("/tf_static", Qos::latched(TRANSFORMS))?;
        let joints =
            node.subscribe::<JointState>("joint_states", Qos::best_effort(JOINT_STATES))?;
        let topics = Topics {
            moving: moving.topic().to_owned(),
            fixed: fixed.topic().to_owned(),
            joints: joints.topic().to_owned(),
        };
        let mut own = NamespaceSubscription::new(topics);
        own.follow(moving, Topic::Moving, &parts);
        own.follow(fixed, Topic::Static, &parts);
        own.follow_joints(joints, &site, None, &parts);
        let by_robot: Arc<RwLock<HashMap<String, Shared>>> = Arc::default();
        site.follow_transforms({
            let (own, by_robot) = (own.live.clone(), by_robot.clone());
            move |key| {
                let scope = by_robot
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(key)
                    .cloned();
                let scope = scope
                    .filter(|live| !lock(live).tree().is_empty())
                    .unwrap_or_else(|| own.clone());
                robots::transforms(lock(&scope).tree(), Instant::now())
            }
        });
        Ok(Self {
            node,
            site,
            parts,
            own,
            own_namespace,
            others: BTreeMap::new(),
            by_robot,
            complained: false,
        })
    }

    /// Opens and closes subscriptions: `wanted` are the namespaces of robots that are there, each
    /// with the keys of its robots; `offered` are the topics that somebody publishes.
    pub(super) fn set(
        &mut self,
        wanted: &BTreeMap<Arc<str>, BTreeSet<String>>,
        offered: &BTreeSet<&str>,
    ) {
        self.others
            .retain(|namespace, _| wanted.contains_key(&**namespace));
        let mut by_robot = HashMap::new();
        for (namespace, keys) in wanted {
            let robot_namespace = RobotNamespace::Named(namespace.clone());
            let topic = |name| robot_namespace.topic(name).unwrap_or_default();
            let topics = Topics {
                moving: topic("tf"),
                fixed: topic("tf_static"),
                joints: topic("joint_states"),
            };
            if !self.others.contains_key(&**namespace) {
                if self.others.len() >= MOST_NAMESPACES {
                    if !std::mem::replace(&mut self.complained, true) {
                        tracing::warn!(
                            "transforms and joint states of no more than {MOST_NAMESPACES} namespaces are heard"
                        );
                    }
                    continue;
                }
                self.others
                    .insert(namespace.to_string(), NamespaceSubscription::new(topics));
            }
            let Some(scope) = self.others.get_mut(&**namespace) else {
                continue;
            };
            let new = scope.new_topics(&*self.node, offered, &self.own.topics);
            if !new.is_empty()
                && let Err(error) = scope.open(&*self.node, new, &self.site, &self.parts)
            {
                tracing::warn!("{error}");
            }
            scope
                .keys
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(keys);
            by_robot.extend(keys.iter().map(|key| (key.clone(), scope.live.clone())));
        }
        *self
            .by_robot
            .write()
            .unwrap_or_else(PoisonError::into_inner) = by_robot;
    }

    /// Notes who publishes each topic: what a publisher said once and for all does not count once
    /// it has left. `None` stands for publishers that can't be told apart.
    pub(super) fn note_publishers<'a>(
        &self,
        publishers: impl Fn(&str) -> &'a [Option<PublisherId>],
        now: Instant,
    ) {
        for scope in std::iter::once(&self.own).chain(self.others.values()) {
            let present: Option<Vec<tf_check::PublisherId>> = publishers(&scope.topics.fixed)
                .iter()
                .map(|id| id.map(tf_messages::publisher))
                .collect();
            if let Some(present) = present {
                lock(&scope.live).set_static_publishers(&present, now);
            }
        }
    }

    /// Whether publishers are to be noted again: one was heard that had left, or that is not known
    /// to be there.
    pub(super) fn are_waiting(&self) -> bool {
        std::iter::once(&self.own)
            .chain(self.others.values())
            .any(|scope| lock(&scope.live).is_waiting())
    }

    /// Changes where the node's own robots are heard, from the next [`NamespaceSubscriptions::set`]
    /// on.
    pub(super) fn set_own_namespace(&mut self, namespace: Option<Arc<str>>) {
        self.own_namespace = namespace;
    }

    /// The namespace that a namespace's robots are heard in, if it is not the root.
    pub(super) fn namespace<'a>(
        &'a self,
        robot_namespace: &'a RobotNamespace,
    ) -> Option<&'a Arc<str>> {
        match robot_namespace {
            RobotNamespace::Own => self.own_namespace.as_ref(),
            RobotNamespace::Named(namespace) => Some(namespace),
        }
    }

    /// What is heard of the robots of a namespace: transforms on the namespace's topics, or where
    /// those have nothing on the node's own.
    pub(super) fn with<R>(
        &self,
        robot_namespace: &RobotNamespace,
        look: impl FnOnce(&Sources<'_>) -> R,
    ) -> R {
        // In one order everywhere, so that nobody waits for each other: the own scope first, then
        // the others by name.
        let own = lock(&self.own.live);
        let Some(scope) = self
            .namespace(robot_namespace)
            .and_then(|namespace| self.others.get(&**namespace))
        else {
            let others: Vec<MutexGuard<'_, Live>> = self
                .others
                .values()
                .take(MOST_ELSEWHERE)
                .map(|scope| lock(&scope.live))
                .collect();
            let elsewhere: Vec<&Live> = others.iter().map(|live| &**live).collect();
            return look(&Sources {
                transforms: &own,
                joints: &own,
                elsewhere: &elsewhere,
            });
        };
        let live = lock(&scope.live);
        // One that tells no joint states in its namespace may tell them where everybody does.
        let joints = if live.joints_heard().is_some() {
            &live
        } else {
            &own
        };
        if live.tree().is_empty() {
            look(&Sources {
                transforms: &own,
                joints,
                elsewhere: &[&live],
            })
        } else {
            look(&Sources {
                transforms: &live,
                joints,
                elsewhere: &[&own],
            })
        }
    }

    /// The names of the topics that a namespace's transforms are heard on.
    pub(super) fn topics(&self, robot_namespace: &RobotNamespace) -> String {
        let Topics { moving, fixed, .. } = &self.own.topics;
        match self
            .namespace(robot_namespace)
            .and_then(|namespace| self.others.get(&**namespace))
        {
            Some(NamespaceSubscription { topics, .. }) if topics.moving != *moving => {
                format!("{}, {}, {moving} and {fixed}", topics.moving, topics.fixed)
            }
            _ => format!("{moving} and {fixed}"),
        }
    }
}

impl NamespaceSubscription {
    fn new(topics: Topics) -> Self {
        let live = Arc::new(Mutex::new(Live::new(topics.clone())));
        Self {
            live,
            keys: Arc::default(),
            topics,
            open: BTreeSet::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Those of its topics that somebody publishes, and that neither it nor the node's own scope
    /// hears.
    fn new_topics(&self, node: &impl Node, offered: &BTreeSet<&str>, own: &Topics) -> Vec<Kind> {
        // The node's remaps are meant for its own names: where one leads elsewhere is heard under
        // that name.
        let is_itself = |topic: &String| {
            node.resolve_topic(topic)
                .is_ok_and(|resolved| resolved == *topic)
        };
        let is_new = |topic: &String, heard: &String| {
            topic != heard
                && !self.open.contains(topic)
                && offered.contains(&**topic)
                && is_itself(topic)
        };
        let of = |kind: &Kind| match kind {
            Kind::Moving => is_new(&self.topics.moving, &own.moving),
            Kind::Static => is_new(&self.topics.fixed, &own.fixed),
            Kind::Joints => is_new(&self.topics.joints, &own.joints),
        };
        [Kind::Moving, Kind::Static, Kind::Joints]
            .into_iter()
            .filter(of)
            .collect()
    }

    /// Listens to more of its topics.
    fn open(
        &mut self,
        node: &impl Node,
        new: Vec<Kind>,
        site: &Arc<Site>,
        parts: &Parts,
    ) -> Result<(), Diagnostic> {
        let Topics {
            moving,
            fixed,
            joints,
        } = self.topics.clone();
        for kind in new {
            let topic = match kind {
                Kind::Moving => {
                    self.follow(
                        node.subscribe(&moving, Qos::best_effort(TRANSFORMS))?,
                        Topic::Moving,
                        parts,
                    );
                    &moving
                }
                Kind::Static => {
                    self.follow(
                        node.subscribe(&fixed, Qos::latched(TRANSFORMS))?,
                        Topic::Static,
                        parts,
                    );
                    &fixed
                }
                Kind::Joints => {
                    let topic = node.subscribe(&joints, Qos::best_effort(JOINT_STATES))?;
                    self.follow_joints(topic, site, Some(self.keys.clone()), parts);
                    &joints
                }
            };
            // One that can't be opened is tried again with the next look.
            self.open.insert(topic.clone());
        }
        Ok(())
    }

    fn follow(&mut self, transforms: Subscription<TFMessage>, topic: Topic, parts: &Parts) {
        let name = format!("listening to {}", transforms.topic());
        self.tasks.spawn(
            parts
                .clone()
                .run(name, follow(transforms, topic, self.live.clone())),
        );
    }

    fn follow_joints(
        &mut self,
        states: Subscription<JointState>,
        site: &Arc<Site>,
        keys: Option<Keys>,
        parts: &Parts,
    ) {
        let name = format!("listening to {}", states.topic());
        self.tasks.spawn(parts.clone().run(
            name,
            follow_joints(states, self.live.clone(), site.clone(), keys),
        ));
    }
}

/// A topic of a scope.
#[derive(Clone, Copy)]
enum Kind {
    Moving,
    Static,
    Joints,
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    // What is heard is whole at every step.
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes transforms in as they come.
async fn follow(mut transforms: Subscription<TFMessage>, topic: Topic, live: Shared) {
    let mut complained = false;
    while let Some(sample) = transforms.next().await {
        let now = Instant::now();
        let mut live = lock(&live);
        tf_messages::add_transforms(&mut live, topic, &sample, now);
        if live.tree().is_full() && !std::mem::replace(&mut complained, true) {
            tracing::warn!(
                "{}: so many frames are heard that no more are taken in",
                transforms.topic()
            );
        }
    }
}

/// Shows joint states as they come, and that they do not come any more: of the robots with these
/// keys, or of all that have them.
async fn follow_joints(
    mut states: Subscription<JointState>,
    live: Shared,
    site: Arc<Site>,
    keys: Option<Keys>,
) {
    // Until when positions count as live; `None` while there are none.
    let mut until = None;
    let keys = || match &keys {
        None => vec![None],
        Some(keys) => keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .map(Some)
            .collect(),
    };
    loop {
        let silence = OptionFuture::from(until.map(tokio::time::sleep_until));
        tokio::select! {
            next = states.next() => {
                let Some(next) = next else { return };
                tf_messages::add_joint_positions(&mut lock(&live), &next, Instant::now());
                let JointState { header, name, position, .. } = next.message;
                // A publisher of velocities alone gives no positions; of arrays of different
                // lengths the common part counts.
                let positions = || name.iter().map(String::as_str).zip(position.iter().copied());
                let mut any = false;
                for key in keys() {
                    any |= site.hear_joints(key.as_deref(), header.stamp.seconds(), positions());
                }
                if any {
                    until = Some(tokio::time::Instant::now() + SILENCE);
                }
            }
            Some(()) = silence => {
                until = None;
                keys().iter().for_each(|key| site.end_joints(key.as_deref()));
            }
        }
    }
}
