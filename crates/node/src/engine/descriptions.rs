//! Input of descriptions: from topics, another node's parameter, or a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::graph::Nodes;
use super::{Done, Engine, Order, Task, Work, codes, jobs, request, robot_name};
use crate::asset_paths;
use crate::description_source::{DESCRIPTION, Origin, RobotNamespace};
use crate::parts::Parts;
use crate::robots::Robot;
use urdf_usd_convert::{Job, Source};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::msg::std_msgs;
use urdf_usd_ros::{Node, PublisherId, Qos, Sample, Subscription};

/// Queue depth of a subscription: several publishers may send at once.
const QUEUE_DEPTH: usize = 16;
/// Minimum time between two scans for assets.
const RESCAN_INTERVAL: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });
/// Maximum number of conflicts logged per robot.
const MAX_RIVALS_LOGGED: usize = 8;
/// Maximum number of description topics besides the node's own.
const MAX_TOPICS: usize = 1000;

/// A received description.
pub(super) struct Described {
    pub robot_namespace: RobotNamespace,
    pub origin: Origin,
    pub publisher: Option<PublisherId>,
    pub text: String,
}

/// The subscriptions to descriptions.
pub(super) struct Descriptions {
    own: Subscription<std_msgs::String>,
    own_topic: Arc<str>,
    discovered: BTreeMap<String, AbortHandle>,
    listeners: JoinSet<()>,
    sender: mpsc::Sender<Described>,
    heard: mpsc::Receiver<Described>,
    parts: Parts,
    has_warned: bool,
}

impl Descriptions {
    /// Subscribes to the node's own topic.
    pub(super) fn start(node: &impl Node, parts: Parts) -> Result<Self, Diagnostic> {
        let own = node.subscribe(DESCRIPTION, Qos::latched(QUEUE_DEPTH))?;
        // Capacity 1: descriptions may be large, and the bounded subscriptions hold those that
        // wait.
        let (sender, heard) = mpsc::channel(1);
        let own_topic = own.topic().into();
        let (discovered, listeners) = (BTreeMap::new(), JoinSet::new());
        Ok(Self {
            own,
            own_topic,
            discovered,
            listeners,
            sender,
            heard,
            parts,
            has_warned: false,
        })
    }

    /// Renews the subscription to the node's own topic, so that latched descriptions arrive again.
    pub(super) fn reopen(&mut self, node: &impl Node) -> Result<(), Diagnostic> {
        self.own = node.subscribe(DESCRIPTION, Qos::latched(QUEUE_DEPTH))?;
        Ok(())
    }

    /// Returns the topics that are followed besides the node's own.
    pub(super) fn followed(&self) -> BTreeSet<String> {
        self.discovered.keys().cloned().collect()
    }

    /// Returns the node's own topic.
    pub(super) fn topic(&self) -> &Arc<str> {
        &self.own_topic
    }

    /// Waits for the next description; `None` once the node has shut down. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Described> {
        tokio::select! {
            sample = self.own.next() => sample.map(|sample| described(RobotNamespace::Own, self.own_topic.clone(), sample)),
            Some(described) = self.heard.recv() => Some(described),
        }
    }

    /// Subscribes to exactly these topics, besides the node's own. Returns those that were dropped.
    pub(super) fn follow(&mut self, node: &impl Node, topics: &BTreeSet<&str>) -> Vec<String> {
        let gone: Vec<String> = self
            .discovered
            .keys()
            .filter(|topic| !topics.contains(&***topic))
            .cloned()
            .collect();
        for topic in &gone {
            tracing::debug!("no longer listening to {topic}");
            self.discovered.remove(topic).inspect(AbortHandle::abort);
        }
        // A `JoinSet` keeps ended tasks until they are joined.
        while self.listeners.try_join_next().is_some() {}
        for topic in topics.iter().filter(|topic| ***topic != *self.own_topic) {
            let Some(robot_namespace) =
                RobotNamespace::from_topic(topic).filter(|_| !self.discovered.contains_key(*topic))
            else {
                continue;
            };
            // Remaps are meant for the node's own names: a topic that one renames is followed under
            // its actual name only.
            if node
                .resolve_topic(topic)
                .is_ok_and(|resolved| resolved != **topic)
            {
                continue;
            }
            if self.discovered.len() >= MAX_TOPICS {
                if !std::mem::replace(&mut self.has_warned, true) {
                    tracing::warn!("more than {MAX_TOPICS} description topics: {topic} is ignored");
                }
                break;
            }
            match node.subscribe::<std_msgs::String>(topic, Qos::latched(QUEUE_DEPTH)) {
                Ok(subscription) => {
                    tracing::info!("also listening to {topic}");
                    let listener = listen(
                        subscription,
                        robot_namespace,
                        (*topic).into(),
                        self.sender.clone(),
                    );
                    let listener = self
                        .parts
                        .clone()
                        .run(format!("listening to {topic}"), listener);
                    self.discovered
                        .insert((*topic).to_owned(), self.listeners.spawn(listener));
                }
                Err(error) => tracing::warn!("cannot listen to {topic}: {error}"),
            }
        }
        gone
    }
}

fn described(
    robot_namespace: RobotNamespace,
    topic: Arc<str>,
    sample: Sample<std_msgs::String>,
) -> Described {
    Described {
        robot_namespace,
        origin: Origin::Topic(topic),
        publisher: Some(sample.publisher),
        text: sample.message.data,
    }
}

async fn listen(
    mut subscription: Subscription<std_msgs::String>,
    robot_namespace: RobotNamespace,
    topic: Arc<str>,
    sender: mpsc::Sender<Described>,
) {
    while let Some(sample) = subscription.next().await {
        if sender
            .send(described(robot_namespace.clone(), topic.clone(), sample))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// The file of the parameter `asset_file` or `urdf_file`.
pub(super) struct SourceFile {
    path: PathBuf,
    /// The key of its robot; until that is known, one made from the file's name.
    pub key: String,
    /// The inputs of its latest conversion.
    pub used: Vec<PathBuf>,
    /// Other descriptions of the robot that were reported as ignored, by origin.
    ignored: BTreeSet<String>,
}

impl<N: Node> Engine<N> {
    /// Schedules the conversion of a description that was received or read.
    pub(super) fn hear(&mut self, described: Described) {
        // Parameters that were set before the description arrived apply to it.
        while let Some(change) = self.changes.try_next() {
            self.change(&change);
        }
        let Described {
            robot_namespace,
            origin,
            publisher,
            text,
        } = described;
        // Ignore the node's own description, which may come back through robot_state_publisher.
        if self.published.matches(&text) {
            return;
        }
        if self.yields_to_file(&robot_namespace, &origin) {
            return self.report_ignored(&origin);
        }
        let key = self.key_of(&robot_namespace, &text, publisher);
        tracing::debug!(
            "heard a description of {key:?} ({}) from {origin}",
            request::size(text.len() as u64)
        );
        if let (Origin::Topic(topic), Some(publisher)) = (&origin, publisher) {
            let is_renamed = self
                .publishers
                .record(publisher, topic, &key, Instant::now());
            if is_renamed || self.publishers.is_waiting() {
                self.schedule_graph_scan();
            }
        }
        // The robot is described again, even if this description is refused.
        self.mark_returned(&key);
        let most = self.parameters.max_description_bytes;
        if text.len() > most {
            let message = format!("the description has {} bytes, more than {most}", text.len());
            let diagnostic = Diagnostic::new(&codes::DESCRIPTION_TOO_LARGE, Place::default(), message)
                .help("refer to meshes by package:// or file:// URIs, or raise the parameter max_description_bytes");
            self.refuse(key, robot_namespace, origin, publisher, diagnostic);
            return;
        }
        if self.is_full_for(&key) {
            let most = self.parameters.max_assets;
            let message = format!(
                "the output directory holds {} assets, and max_assets is {most}",
                self.asset_paths.written()
            );
            let diagnostic = Diagnostic::new(&codes::TOO_MANY_ASSETS, Place::default(), message)
                .help("remove the folders of robots that no longer exist or raise the parameter max_assets, then publish it again");
            self.refuse(key, robot_namespace, origin, publisher, diagnostic);
            return;
        }
        self.warn_of_rivals(&key, &origin, &text);
        let job = self.job(
            Source::Text {
                text: text.into(),
                file: None,
            },
            &robot_namespace,
            &key,
        );
        self.heard = Some(request::LastDescription {
            job: job.clone(),
            robot_namespace: robot_namespace.clone(),
            key: key.clone(),
        });
        let order = Order::Source(Work {
            job,
            robot_namespace,
            origin,
            heard_from: publisher,
        });
        if self
            .schedule
            .replace(key.clone(), order, Instant::now())
            .is_some()
        {
            tracing::debug!("a newer description of {key:?} replaces one that waited");
        }
    }

    /// Reports, once for each origin, that a description is ignored because a file was given.
    fn report_ignored(&mut self, origin: &Origin) {
        let Some(file) = &mut self.file else { return };
        // A node that gets this node's description publishes its first one before.
        let is_expected = self.parameters.publish_description;
        if !is_expected
            && file.ignored.len() < MAX_RIVALS_LOGGED
            && file.ignored.insert(origin.to_string())
        {
            tracing::info!(
                "the description from {origin} is ignored: {} was given, and frames are compared with it",
                file.path.display()
            );
        }
    }

    /// Returns what a call without a description converts.
    pub(super) fn last_description(&self) -> Option<request::LastDescription> {
        self.heard.clone().or_else(|| {
            let SourceFile { path, key, .. } = self.file.as_ref()?;
            let source = jobs::file_source(path, &self.parameters);
            Some(request::LastDescription {
                job: self.job(source, &RobotNamespace::Own, key),
                robot_namespace: RobotNamespace::Own,
                key: key.clone(),
            })
        })
    }

    /// Returns whether a robot is new and the limit of assets is reached. If so, starts a scan,
    /// since users may have removed some.
    pub(super) fn is_full_for(&mut self, key: &str) -> bool {
        let is_full = !self.asset_paths.is_written(key)
            && self.asset_paths.written() >= self.parameters.max_assets;
        if is_full
            && self
                .last_asset_scan
                .is_none_or(|at| at.elapsed() >= RESCAN_INTERVAL)
        {
            self.last_asset_scan = Some(Instant::now());
            let folder = self.parameters.output_dir.clone();
            self.running.begin(Task::Assets, move |_| {
                Done::Assets(asset_paths::scan(&folder))
            });
        }
        is_full
    }

    /// Returns the job that converts a source to the asset with this key.
    pub(super) fn job(
        &self,
        source: Source,
        robot_namespace: &RobotNamespace,
        key: &str,
    ) -> Arc<Job> {
        Arc::new(jobs::job(
            &self.parameters,
            source,
            robot_namespace,
            asset_paths::parent(key),
        ))
    }

    /// Returns the key that a description's asset will have, as far as its text tells.
    fn key_of(
        &mut self,
        robot_namespace: &RobotNamespace,
        text: &str,
        publisher: Option<PublisherId>,
    ) -> String {
        if self.asset_paths.needs_pruning() {
            let Self {
                asset_paths,
                robots,
                file,
                ..
            } = self;
            asset_paths.prune(|key| {
                robots.contains_key(key) || file.as_ref().is_some_and(|file| file.key == key)
            });
        }
        if let Some(name) = robot_name(text) {
            return self.asset_paths.assign(robot_namespace, &name);
        }
        // Without a name in the text, it is most likely the robot that its publisher described
        // before.
        let is_same = |robot: &Robot| {
            publisher.is_some()
                && robot.heard_from == publisher
                && robot.robot_namespace == *robot_namespace
        };
        let before = self
            .robots
            .iter()
            .find(|(_, robot)| is_same(robot))
            .map(|(key, _)| key.clone());
        before.unwrap_or_else(|| self.asset_paths.assign(robot_namespace, "robot"))
    }

    /// Warns if different descriptions of one robot arrive: each would overwrite the other's asset.
    fn warn_of_rivals(&mut self, key: &str, origin: &Origin, text: &str) {
        let is_same = |robot: &Robot| matches!(&robot.job.source, Source::Text { text: other, .. } if **other == *text);
        let known = self.robots.get(key);
        let Some(robot) = known.filter(|robot| robot.gone.is_none() && !is_same(robot)) else {
            return;
        };
        let (before, now) = (self.describers(&robot.origin), self.describers(origin));
        let rivals = match (&robot.origin, origin) {
            (Origin::Call, _) => return,
            // A node that restarts, or that has the description as a parameter, too, has changed its
            // mind. After a crash, its former publisher stays in the graph for a while.
            _ if before.len() == 1 && before == now => return,
            (Origin::Topic(before), Origin::Topic(now)) if before == now => {
                let count = self.publishers.count(key);
                if count < 2 {
                    return;
                }
                format!("{count} publishers of {now} describe")
            }
            // Sorted, so that the text does not depend on the order of arrival.
            (before, now) => {
                let mut both = [before.to_string(), now.to_string()];
                both.sort();
                format!("{} both describe", both.join(" and "))
            }
        };
        let Some(robot) = self.robots.get_mut(key) else {
            return;
        };
        // Warn once per pair: a third publisher is news, the same two again are not.
        if robot.contested.len() < MAX_RIVALS_LOGGED && robot.contested.insert(rivals.clone()) {
            tracing::warn!(
                "{rivals} a robot {:?}, with different content: the last description received is used; give them different names or namespaces",
                robot.name
            );
        }
    }

    /// Returns the names of the nodes that a description may come from; none if one is unknown.
    fn describers(&self, origin: &Origin) -> BTreeSet<String> {
        match origin {
            Origin::Topic(topic) => {
                let graph = self.node.graph();
                let nodes = graph.publishers(topic).map(|end| end.node.clone());
                nodes.collect::<Option<_>>().unwrap_or_default()
            }
            Origin::Parameter(node) => BTreeSet::from([node.to_string()]),
            Origin::File(_) | Origin::Call => BTreeSet::new(),
        }
    }

    /// Makes the file that the parameter names the node's source file.
    pub(super) fn take_file(&mut self) {
        if let (Some(asset), Some(urdf)) = (&self.parameters.asset_file, &self.parameters.urdf_file)
        {
            let (asset, urdf) = (asset.display(), urdf.display());
            tracing::warn!(
                "asset_file and urdf_file are both set: {asset} is converted, {urdf} is ignored"
            );
        }
        let had_file = self.file.is_some();
        self.file = self.parameters.file().cloned().map(|path| {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            SourceFile {
                key: self.asset_paths.assign(&RobotNamespace::Own, &stem),
                used: vec![path.clone()],
                path,
                ignored: BTreeSet::new(),
            }
        });
        if had_file != self.file.is_some() {
            // Descriptions of the node's own robot count only without a file.
            self.nodes = Nodes::default();
            self.heard
                .take_if(|heard| heard.robot_namespace == RobotNamespace::Own);
        }
        if had_file
            && self.file.is_none()
            && let Err(error) = self.descriptions.reopen(&*self.node)
        {
            tracing::error!("cannot listen to {}: {error}", self.descriptions.topic());
        }
        self.convert_file();
        self.watch_soon();
    }

    /// Schedules the conversion of the file, which ends early if no input changed.
    pub(super) fn convert_file(&mut self) {
        let Some(SourceFile { path, key, .. }) = &self.file else {
            return;
        };
        let (source, robot_namespace, origin) = (
            jobs::file_source(path, &self.parameters),
            RobotNamespace::Own,
            Origin::File(path.clone()),
        );
        let order = Order::Source(Work {
            job: self.job(source, &robot_namespace, key),
            robot_namespace,
            origin,
            heard_from: None,
        });
        self.schedule.ensure(key, || order, Instant::now());
    }

    /// Records the key and the inputs of the file's latest conversion.
    pub(super) fn record_file_attempt(&mut self, origin: &Origin, key: &str, used: &[PathBuf]) {
        if let (Some(file), Origin::File(path)) = (&mut self.file, origin)
            && file.path == *path
        {
            key.clone_into(&mut file.key);
            used.clone_into(&mut file.used);
        }
    }
}
