//! Where descriptions come in: topics, a node's parameter, a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::{Done, Engine, Order, Task, Work, codes, jobs, request, robot_name};
use crate::asset_paths;
use crate::description_source::{DESCRIPTION, Origin, RobotNamespace};
use crate::parts::Parts;
use crate::robots::Robot;
use urdf_usd_convert::{Job, Source};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::msg::std_msgs;
use urdf_usd_ros::{Node, PublisherId, Qos, Sample, Subscription};

/// How many descriptions may wait in the transport: several publishers may speak at once.
const DESCRIPTIONS: usize = 16;
/// How long it counts which assets were there.
const COUNTED: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });
/// How many ways in which a robot is contested are told.
const MOST_TOLD: usize = 8;
/// How many topics are followed beside the node's own.
const MOST_TOPICS: usize = 1000;

/// A description as it was heard.
pub(super) struct Described {
    pub robot_namespace: RobotNamespace,
    pub origin: Origin,
    pub publisher: Option<PublisherId>,
    pub text: String,
}

/// The topics that descriptions are heard on.
pub(super) struct Descriptions {
    own: Subscription<std_msgs::String>,
    own_topic: Arc<str>,
    discovered: BTreeMap<String, AbortHandle>,
    listeners: JoinSet<()>,
    sender: mpsc::Sender<Described>,
    heard: mpsc::Receiver<Described>,
    parts: Parts,
    complained: bool,
}

impl Descriptions {
    /// Listens to the node's own topic.
    pub(super) fn start(node: &impl Node, parts: Parts) -> Result<Self, Diagnostic> {
        let own = node.subscribe(DESCRIPTION, Qos::latched(DESCRIPTIONS))?;
        // One at a time: they may be large, and what waits, waits in the subscriptions.
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
            complained: false,
        })
    }

    /// The node's own topic.
    pub(super) fn topic(&self) -> &Arc<str> {
        &self.own_topic
    }

    /// Waits for the next description; `None` when the node has shut down. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Described> {
        tokio::select! {
            sample = self.own.next() => sample.map(|sample| described(RobotNamespace::Own, self.own_topic.clone(), sample)),
            Some(described) = self.heard.recv() => Some(described),
        }
    }

    /// Follows these topics beside the node's own, and no others. Returns those that are followed
    /// no more.
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
        while self.listeners.try_join_next().is_some() {}
        for topic in topics.iter().filter(|topic| ***topic != *self.own_topic) {
            let Some(robot_namespace) =
                RobotNamespace::of_topic(topic).filter(|_| !self.discovered.contains_key(*topic))
            else {
                continue;
            };
            // A remap, which is meant for the node's own names, leads elsewhere: what is there is
            // followed under its own.
            if node
                .resolve_topic(topic)
                .is_ok_and(|resolved| resolved != **topic)
            {
                continue;
            }
            if self.discovered.len() >= MOST_TOPICS {
                if !std::mem::replace(&mut self.complained, true) {
                    tracing::warn!(
                        "no more than {MOST_TOPICS} topics of descriptions are followed; {topic} is not"
                    );
                }
                break;
            }
            match node.subscribe::<std_msgs::String>(topic, Qos::latched(DESCRIPTIONS)) {
                Ok(subscription) => {
                    tracing::info!("listening to {topic} too");
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
                Err(error) => tracing::warn!("{topic} is not followed: {error}"),
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

/// The file that a parameter names, `asset_file` or `urdf_file`.
pub(super) struct SourceFile {
    path: PathBuf,
    /// The key of its robot, or one like its name as long as that is not known.
    pub key: String,
    /// What its newest conversion used: watched even while another description has taken the
    /// robot's place.
    pub used: Vec<PathBuf>,
}

impl<N: Node> Engine<N> {
    /// A description was published, or read.
    pub(super) fn hear(&mut self, described: Described) {
        // What was changed before the description came holds for it.
        while let Some(change) = self.changes.try_next() {
            self.change(&change);
        }
        let Described {
            robot_namespace,
            origin,
            publisher,
            text,
        } = described;
        // What the node published comes back to it, by way of robot_state_publisher too.
        if self.published.is(&text) || self.hears_itself(&origin) {
            return;
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
        self.mark_returned(&key);
        let most = self.parameters.max_description_bytes;
        if text.len() > most {
            let message = format!("the description has {} bytes, more than {most}", text.len());
            let diagnostic = Diagnostic::new(&codes::DESCRIPTION_TOO_LARGE, Place::default(), message)
                .help("refer to meshes by package:// or file://, or raise the parameter max_description_bytes");
            self.refuse(key, robot_namespace, origin, publisher, diagnostic);
            return;
        }
        if self.has_no_place(&key) {
            let most = self.parameters.max_assets;
            let message = format!(
                "the output directory holds {} assets, and may hold {most}",
                self.asset_paths.written()
            );
            let diagnostic = Diagnostic::new(&codes::TOO_MANY_ASSETS, Place::default(), message)
                .help("remove folders of robots that are no more, or raise the parameter max_assets, and publish it again");
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
        self.heard = Some(request::Heard {
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
            tracing::debug!("a newer description of {key:?} takes the place of one that waited");
        }
    }

    /// Whether a robot is new and there may be no more assets. Then it is looked whether people
    /// have removed some.
    pub(super) fn has_no_place(&mut self, key: &str) -> bool {
        let is_full = !self.asset_paths.is_written(key)
            && self.asset_paths.written() >= self.parameters.max_assets;
        if is_full && self.counted_assets.is_none_or(|at| at.elapsed() >= COUNTED) {
            self.counted_assets = Some(Instant::now());
            let folder = self.parameters.output_dir.clone();
            self.running.begin(Task::Assets, move |_| {
                Done::Assets(asset_paths::scan(&folder))
            });
        }
        is_full
    }

    /// The job that converts a source to the asset with this key.
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

    /// The key that a description's asset will have, as far as can be told before it is read.
    fn key_of(
        &mut self,
        robot_namespace: &RobotNamespace,
        text: &str,
        publisher: Option<PublisherId>,
    ) -> String {
        if self.asset_paths.are_many() {
            let Self {
                asset_paths,
                robots,
                file,
                ..
            } = self;
            asset_paths.keep(|key| {
                robots.contains_key(key) || file.as_ref().is_some_and(|file| file.key == key)
            });
        }
        if let Some(name) = robot_name(text) {
            return self.asset_paths.of(robot_namespace, &name);
        }
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
        before.unwrap_or_else(|| self.asset_paths.of(robot_namespace, "robot"))
    }

    /// Two who describe one robot differently take its asset from each other.
    fn warn_of_rivals(&mut self, key: &str, origin: &Origin, text: &str) {
        let Some(robot) = self
            .robots
            .get_mut(key)
            .filter(|robot| robot.gone.is_none())
        else {
            return;
        };
        let is_same =
            matches!(&robot.job.source, Source::Text { text: other, .. } if **other == *text);
        let rivals = match (&robot.origin, origin) {
            (Origin::Call, _) => return,
            (Origin::Topic(before), Origin::Topic(now)) if before == now => {
                let count = self.publishers.count(key);
                if count < 2 {
                    return;
                }
                format!("{count} publishers of {now} describe")
            }
            // In one order, whoever spoke last.
            (before, now) => {
                let mut both = [before.to_string(), now.to_string()];
                both.sort();
                format!("{} both describe", both.join(" and "))
            }
        };
        if is_same {
            return;
        }
        // Each in its own right: a third one who joins is news, the same two again are none.
        if robot.contested.len() < MOST_TOLD && robot.contested.insert(rivals.clone()) {
            tracing::warn!(
                "{rivals} a robot {:?}, and differently: the last one heard counts; give them different names or namespaces",
                robot.name
            );
        }
    }

    /// Takes the file that the parameter names now in the place of the last one.
    pub(super) fn take_file(&mut self) {
        if let (Some(asset), Some(urdf)) = (&self.parameters.asset_file, &self.parameters.urdf_file)
        {
            let (asset, urdf) = (asset.display(), urdf.display());
            tracing::warn!(
                "asset_file and urdf_file are both given: {asset} is converted, and {urdf} is not"
            );
        }
        self.file = self.parameters.file().cloned().map(|path| {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            SourceFile {
                key: self.asset_paths.of(&RobotNamespace::Own, &stem),
                used: vec![path.clone()],
                path,
            }
        });
        self.convert_file();
        self.watch_soon();
    }

    /// Converts the file, if it or anything that it uses changed.
    pub(super) fn convert_file(&mut self) {
        let Some(SourceFile { path, key, .. }) = &self.file else {
            return;
        };
        let (source, robot_namespace, origin) = (
            jobs::file(path, &self.parameters),
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

    /// The file was converted, or tried.
    pub(super) fn tried_file(&mut self, origin: &Origin, key: &str, used: &[PathBuf]) {
        if let (Some(file), Origin::File(path)) = (&mut self.file, origin)
            && file.path == *path
        {
            key.clone_into(&mut file.key);
            used.clone_into(&mut file.used);
        }
    }
}
