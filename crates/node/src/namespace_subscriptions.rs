//! Subscriptions to the transforms and joint states of running robots, per namespace.
//!
//! The node's own scope is always open: `/tf`, `/tf_static`, its `joint_states`. The scope of
//! another namespace is open while one of its robots is present, and subscribes only to topics that
//! have publishers and that the own scope does not cover. Hence every transform is processed once,
//! however many robots publish to `/tf`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::task::JoinSet;

use super::description_source::RobotNamespace;
use super::parts::Parts;
use super::robots;
use super::tf_messages;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::Pose;
use urdf_usd_ros::graph::TopicEnd;
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Node, Qos, Subscription, Timeline};
use urdf_usd_serve::{Base, Bases, Site};
use urdf_usd_tf_check::{Live, Sources, Topic, Topics, Tree, TreeFrame};

/// Queue depth of transforms.
const TRANSFORM_QUEUE_DEPTH: usize = 1000;
/// Queue depth of joint states: several publishers may each send a part of the joints.
const JOINT_STATE_QUEUE_DEPTH: usize = 100;
/// Time after the last joint states for which a robot counts as moved by them.
const JOINT_STATE_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum time between two updates of the poses of robots in the frames above them: 60 Hz.
const BASE_PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Maximum number of frames above a robot.
const MAX_ABOVE: usize = 16;
/// Maximum number of namespaces with subscriptions.
const MAX_NAMESPACES: usize = 1000;
/// Maximum number of other scopes in which a robot's frames are looked for.
const MAX_ELSEWHERE: usize = 4;

type Shared = Arc<Mutex<Live>>;

/// Reads the node's clock for timeouts.
type Clock = Arc<dyn Fn() -> Timeline + Send + Sync>;

/// The keys of the robots that joint states are shown for.
type Keys = Arc<RwLock<BTreeSet<String>>>;

/// The scope of one namespace.
struct NamespaceSubscription {
    live: Shared,
    clock: Clock,
    keys: Keys,
    topics: Topics,
    open: BTreeSet<String>,
    tasks: JoinSet<()>,
}

/// All scopes.
pub(super) struct NamespaceSubscriptions<N> {
    node: Arc<N>,
    site: Arc<Site>,
    parts: Parts,
    own: NamespaceSubscription,
    /// The namespace in which the node's own robots are described, unless it is the root.
    own_namespace: Option<Arc<str>>,
    others: BTreeMap<String, NamespaceSubscription>,
    /// The scope of each robot in another namespace, for the viewer.
    by_robot: Arc<RwLock<HashMap<String, Shared>>>,
    has_warned: bool,
}

impl<N: Node> NamespaceSubscriptions<N> {
    /// Opens the node's own scope. `own_namespace` is where its own robots are described, unless in
    /// the root. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Fails if the transport refuses, or a remapped name is invalid.
    pub(super) fn start(
        node: Arc<N>,
        site: Arc<Site>,
        own_namespace: Option<Arc<str>>,
        parts: Parts,
    ) -> Result<Self, Diagnostic> {
        // By DDS's rule of offered and requested QoS, best effort matches every publisher.
        let moving = node.subscribe::<TFMessage>("/tf", Qos::best_effort(TRANSFORM_QUEUE_DEPTH))?;
        let fixed =
            node.subscribe::<TFMessage>("/tf_static", Qos::latched(TRANSFORM_QUEUE_DEPTH))?;
        let joints = node
            .subscribe::<JointState>("joint_states", Qos::best_effort(JOINT_STATE_QUEUE_DEPTH))?;
        let topics = Topics {
            moving: moving.topic().to_owned(),
            fixed: fixed.topic().to_owned(),
            joints: joints.topic().to_owned(),
        };
        let clock: Clock = {
            let node = node.clone();
            Arc::new(move || node.timeline())
        };
        let mut own = NamespaceSubscription::new(topics, clock.clone());
        own.follow(moving, Topic::Moving, &site, None, &parts);
        own.follow(fixed, Topic::Static, &site, None, &parts);
        own.follow_joints(joints, &site, None, &parts);
        let by_robot: Arc<RwLock<HashMap<String, Shared>>> = Arc::default();
        site.set_transforms_source({
            let (own, by_robot) = (own.live.clone(), by_robot.clone());
            move |key| {
                let scope = by_robot
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(key)
                    .cloned();
                let scope = scope
                    // A robot in a namespace may still publish its transforms to the shared `/tf`.
                    .filter(|live| !lock(live).tree().is_empty())
                    .unwrap_or_else(|| own.clone());
                robots::transforms(lock(&scope).tree(), clock().at)
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
            has_warned: false,
        })
    }

    /// Opens and closes scopes. `wanted` has the namespaces of present robots with their keys;
    /// `offered` the topics with publishers.
    pub(super) fn set(
        &mut self,
        wanted: &BTreeMap<Arc<str>, BTreeSet<String>>,
        offered: &BTreeSet<&str>,
    ) {
        // Dropping a scope aborts its tasks and so closes its subscriptions.
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
                if self.others.len() >= MAX_NAMESPACES {
                    if !std::mem::replace(&mut self.has_warned, true) {
                        tracing::warn!(
                            "more than {MAX_NAMESPACES} namespaces: transforms and joint states of the others are ignored"
                        );
                    }
                    continue;
                }
                self.others.insert(
                    namespace.to_string(),
                    NamespaceSubscription::new(topics, self.own.clock.clone()),
                );
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

    /// Updates the publishers of transforms, which `publishers` returns for a topic.
    pub(super) fn update_publishers<'a>(&self, publishers: impl Fn(&str) -> &'a [&'a TopicEnd]) {
        for scope in std::iter::once(&self.own).chain(self.others.values()) {
            tf_messages::set_publishers(&mut lock(&scope.live), &scope.topics, &publishers);
        }
    }

    /// Changes the namespace of the node's own robots, from the next
    /// [`NamespaceSubscriptions::set`] on.
    pub(super) fn set_own_namespace(&mut self, namespace: Option<Arc<str>>) {
        self.own_namespace = namespace;
    }

    /// Returns the absolute namespace in which robots publish, unless it is the root.
    pub(super) fn namespace<'a>(
        &'a self,
        robot_namespace: &'a RobotNamespace,
    ) -> Option<&'a Arc<str>> {
        match robot_namespace {
            RobotNamespace::Own => self.own_namespace.as_ref(),
            RobotNamespace::Named(namespace) => Some(namespace),
        }
    }

    /// Calls `look` with the sources of a robot: its namespace's scope, or the node's own if that
    /// has no transforms.
    pub(super) fn with_sources<R>(
        &self,
        robot_namespace: &RobotNamespace,
        look: impl FnOnce(&Sources<'_>) -> R,
    ) -> R {
        // A reset counts from now on, even if no message arrives after it.
        let resets = (self.own.clock)().resets;
        let lock = |live| {
            let mut live = lock(live);
            live.set_clock_resets(resets);
            live
        };
        // Lock in a fixed order to avoid deadlocks: the own scope first, then the others by name.
        let own = lock(&self.own.live);
        let Some(scope) = self
            .namespace(robot_namespace)
            .and_then(|namespace| self.others.get(&**namespace))
        else {
            let others: Vec<MutexGuard<'_, Live>> = self
                .others
                .values()
                .take(MAX_ELSEWHERE)
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
        // A robot without joint states in its namespace may publish them in the shared topic.
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

    /// Returns the names of the topics on which transforms are expected.
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
    fn new(topics: Topics, clock: Clock) -> Self {
        let live = Arc::new(Mutex::new(Live::new(topics.clone())));
        Self {
            live,
            clock,
            keys: Arc::default(),
            topics,
            open: BTreeSet::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Returns its topics that have publishers but no subscription, neither here nor in the own
    /// scope.
    fn new_topics(&self, node: &impl Node, offered: &BTreeSet<&str>, own: &Topics) -> Vec<Kind> {
        // Remaps are meant for the node's own names: a topic that one renames is received under its
        // actual name only.
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
        let is_new_kind = |kind: &Kind| match kind {
            Kind::Moving => is_new(&self.topics.moving, &own.moving),
            Kind::Static => is_new(&self.topics.fixed, &own.fixed),
            Kind::Joints => is_new(&self.topics.joints, &own.joints),
        };
        [Kind::Moving, Kind::Static, Kind::Joints]
            .into_iter()
            .filter(is_new_kind)
            .collect()
    }

    /// Subscribes to more of its topics.
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
                        node.subscribe(&moving, Qos::best_effort(TRANSFORM_QUEUE_DEPTH))?,
                        Topic::Moving,
                        site,
                        Some(self.keys.clone()),
                        parts,
                    );
                    &moving
                }
                Kind::Static => {
                    self.follow(
                        node.subscribe(&fixed, Qos::latched(TRANSFORM_QUEUE_DEPTH))?,
                        Topic::Static,
                        site,
                        Some(self.keys.clone()),
                        parts,
                    );
                    &fixed
                }
                Kind::Joints => {
                    let topic =
                        node.subscribe(&joints, Qos::best_effort(JOINT_STATE_QUEUE_DEPTH))?;
                    self.follow_joints(topic, site, Some(self.keys.clone()), parts);
                    &joints
                }
            };
            // A topic that failed to open is tried again at the next scan.
            self.open.insert(topic.clone());
        }
        Ok(())
    }

    fn follow(
        &mut self,
        transforms: Subscription<TFMessage>,
        topic: Topic,
        site: &Arc<Site>,
        keys: Option<Keys>,
        parts: &Parts,
    ) {
        let name = format!("listening to {}", transforms.topic());
        let following = follow(
            transforms,
            topic,
            (self.live.clone(), self.clock.clone()),
            site.clone(),
            keys,
        );
        self.tasks.spawn(parts.clone().run(name, following));
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
            follow_joints(
                states,
                (self.live.clone(), self.clock.clone()),
                site.clone(),
                keys,
            ),
        ));
    }
}

/// One of the topics of a scope.
#[derive(Clone, Copy)]
enum Kind {
    Moving,
    Static,
    Joints,
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    // Each update leaves the state consistent, so a poisoned lock is safe to use.
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes transforms until the subscription ends, and passes the poses of robots in the frames
/// above them on to the viewer.
async fn follow(
    mut transforms: Subscription<TFMessage>,
    topic: Topic,
    (live, clock): (Shared, Clock),
    site: Arc<Site>,
    keys: Option<Keys>,
) {
    let mut has_warned = false;
    // When to pass the poses on; `None` without news.
    let mut due = None;
    loop {
        let pause = OptionFuture::from(due.map(tokio::time::sleep_until));
        tokio::select! {
            sample = transforms.next() => {
                let Some(sample) = sample else { return };
                let now = clock();
                let mut live = lock(&live);
                tf_messages::add_transforms(&mut live, topic, &sample, now);
                if live.tree().is_full() && !std::mem::replace(&mut has_warned, true) {
                    tracing::warn!(
                        "{}: too many frames; further ones are ignored",
                        transforms.topic()
                    );
                }
                due.get_or_insert_with(|| tokio::time::Instant::now() + BASE_PERIOD);
            }
            Some(()) = pause => {
                due = None;
                let roots = site.roots();
                let bases = bases(lock(&live).tree(), roots);
                for key in keys_of(keys.as_ref()) {
                    site.update_bases(key.as_deref(), bases.clone());
                }
            }
        }
    }
}

/// Returns the poses of roots in all frames above them, as far as there are any.
fn bases(tree: &Tree, roots: BTreeSet<String>) -> Bases {
    let found = roots.into_iter().map(|root| {
        let above = above(tree, &root);
        (root, above)
    });
    found.filter(|(_, above)| !above.is_empty()).collect()
}

/// Returns the pose of a frame in each frame above it, the nearest first.
fn above(tree: &Tree, frame: &str) -> Vec<Base> {
    let mut found: Vec<Base> = Vec::new();
    let (mut at, mut pose) = (frame, Pose::identity());
    while let Some((_, edge)) = tree.get(at).and_then(TreeFrame::newest) {
        // Transforms may form a cycle.
        if found.len() == MAX_ABOVE || found.iter().any(|base| base.frame == edge.parent) {
            break;
        }
        pose = edge.pose * pose;
        let (t, r) = (pose.translation, pose.rotation);
        found.push(Base {
            frame: edge.parent.clone(),
            pose: [t.x, t.y, t.z, r.i, r.j, r.k, r.w],
        });
        at = &edge.parent;
    }
    found
}

/// Returns the robots of a scope: all, or those with these keys.
fn keys_of(keys: Option<&Keys>) -> Vec<Option<String>> {
    match keys {
        None => vec![None],
        Some(keys) => keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .map(Some)
            .collect(),
    }
}

/// Passes joint states on to the viewer, and reports when they cease: for the robots with these
/// keys, or for all robots that have the joints.
async fn follow_joints(
    mut states: Subscription<JointState>,
    (live, clock): (Shared, Clock),
    site: Arc<Site>,
    keys: Option<Keys>,
) {
    // When the positions become stale; `None` without any.
    let mut until = None;
    let keys = || keys_of(keys.as_ref());
    loop {
        let silence = OptionFuture::from(until.map(tokio::time::sleep_until));
        tokio::select! {
            next = states.next() => {
                let Some(next) = next else { return };
                tf_messages::add_joint_positions(&mut lock(&live), &next, clock());
                let JointState { header, name, position, .. } = next.message;
                // A publisher of velocities only sends no positions; if the arrays differ in
                // length, the common part counts.
                let positions = || name.iter().map(String::as_str).zip(position.iter().copied());
                let mut any = false;
                for key in keys() {
                    any |= site.update_joints(key.as_deref(), header.stamp.seconds(), positions());
                }
                if any {
                    until = Some(tokio::time::Instant::now() + JOINT_STATE_TIMEOUT);
                }
            }
            Some(()) = silence => {
                until = None;
                keys().iter().for_each(|key| site.stop_joints(key.as_deref()));
            }
        }
    }
}
