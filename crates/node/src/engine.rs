//! The node's one task: what is heard, asked, changed and due meets here, and all state of the node
//! is here.
//!
//! Nothing in it blocks: conversions and whatever looks at the file system run on worker threads
//! and come back as results. What is done for one message or one robot costs the same with one
//! robot and with two hundred.

mod capture;
mod descriptions;
mod finish;
mod graph;
mod motion;
#[cfg(not(feature = "rclrs"))]
mod moveit;
mod published;
mod running;
mod shortages;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::OptionFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

use self::capture::Capture;
use self::descriptions::{Descriptions, SourceFile};
use self::graph::Nodes;
use self::motion::MotionCalls;
use self::published::Published;
use self::running::{Caller, Running, Task};
use super::asset_paths::{self, AssetPaths};
use super::description_publishers::DescriptionPublishers;
use super::description_source::{Origin, RobotNamespace};
use super::jobs::{Attempt, Convert, attempt};
use super::name::robot_name;
use super::namespace_subscriptions::NamespaceSubscriptions;
use super::parameters::Parameters;
use super::parts::{self, Parts};
use super::robots::{self, Robot};
use super::schedule::Schedule;
use super::{codes, jobs, request};
use urdf_usd_convert::{self as convert, Job, Report};
use urdf_usd_diagnostic::{Diagnostic, Place, Severity, groups};
use urdf_usd_messages as interfaces;
use urdf_usd_messages::{Asset, ConvertRequest};
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticArray;
use urdf_usd_ros::parameter::{Change, Changes};
use urdf_usd_ros::{Node, Publisher, PublisherId, Qos, Request, Requests};
use urdf_usd_serve::Site;
use urdf_usd_serve::watch::{Event, Watch};
use urdf_usd_tf_check::{Expected, Limits};
use urdf_usd_usd_read::InterfaceSummary;
use urdf_usd_worker::{Limits as WorkLimits, Workers};

/// How many calls of `convert` may wait.
const MOST_CALLS: usize = 128;
/// How many bytes of descriptions may wait to be converted before no more are taken in.
const MOST_WAITING: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };
/// How many findings of one kind are logged for one conversion; the report has all.
const MOST_LOGGED: usize = 3;
/// How long changes of the graph, and of what is watched, are gathered before they are looked at.
const GATHER: Duration = Duration::from_millis(50);
/// How often to look after what nobody tells: publishers that never showed up, nodes that did not
/// answer.
const ATTEND: Duration = Duration::from_secs(1);

/// A piece of work.
enum Order {
    /// A source to convert, if anything changed.
    Source(Work),
    /// A robot's newest source to convert again, if anything changed. Which one that is shows when
    /// its turn comes: another may be under way now.
    Again,
    /// A call of `convert`, with the last description heard when it came, and the folder for a text
    /// of its own.
    Call {
        request: ConvertRequest,
        caller: Caller<interfaces::Convert>,
        heard: Option<request::Heard>,
        folder: String,
    },
}

impl Order {
    /// How many bytes of descriptions it holds.
    fn weight(&self) -> usize {
        match self {
            Self::Source(Work { job, .. }) => jobs::text_bytes(job),
            Self::Again => 0,
            Self::Call { request, .. } => request.urdf.len() + request.xrdf.len(),
        }
    }
}

/// A source to convert, and whose it is.
#[derive(Clone)]
struct Work {
    job: Arc<Job>,
    robot_namespace: RobotNamespace,
    origin: Origin,
    heard_from: Option<PublisherId>,
}

/// What became of an order.
enum Outcome {
    Unchanged,
    Refused,
    Tried {
        attempt: Box<Attempt>,
        robot_namespace: RobotNamespace,
        origin: Origin,
        heard_from: Option<PublisherId>,
    },
}

/// What a worker brings back.
enum Done {
    /// An order, under the key that it was scheduled under.
    Order {
        key: String,
        number: u64,
        outcome: Outcome,
    },
    /// The assets that are in the output directory.
    Assets(BTreeSet<String>),
    /// The frames of a revision.
    Frames {
        key: String,
        report: Arc<Report>,
        frames: Result<Expected, String>,
    },
    /// The interfaces of a revision.
    Interfaces {
        key: String,
        revision: u64,
        declared: Result<Arc<[InterfaceSummary]>, String>,
    },
    /// The URDF of a revision.
    Description {
        path: PathBuf,
        text: Result<String, String>,
    },
    /// A node was given the description as its parameter.
    Given {
        node: Arc<str>,
        text: Arc<str>,
        taken: Result<(), String>,
    },
    /// A call about how a robot stands was answered. The robot, if it was read for that.
    Posable {
        key: String,
        posable: Option<Arc<robots::Posable>>,
    },
    /// What a node told of its parameter.
    Parameter {
        node: Arc<str>,
        robot_namespace: RobotNamespace,
        value: Result<Option<String>, Diagnostic>,
    },
}

/// The node.
pub(super) struct Engine<N> {
    node: Arc<N>,
    parameters: Parameters,
    convert: Arc<Convert>,
    /// Worker pool that reads assets back.
    workers: Arc<Workers>,
    site: Arc<Site>,
    subscriptions: NamespaceSubscriptions<N>,
    asset_paths: AssetPaths,
    schedule: Schedule<Order>,
    /// Assets to be read back, one at a time: it may take longer than to write them.
    reading: Schedule<Arc<Report>>,
    running: Running,
    calls: usize,
    /// The robots by key, each with all that is kept for it.
    robots: BTreeMap<String, Robot>,
    /// Robots whose frames are to be held against TF, one after the other.
    to_check: VecDeque<String>,
    newest: Option<String>,
    heard: Option<request::Heard>,
    /// Calls that wait for frames to be read.
    waiting_checks: Vec<Request<interfaces::CheckFrames>>,
    descriptions: Descriptions,
    publishers: DescriptionPublishers,
    /// Nodes whose parameter may be asked for.
    nodes: Nodes,
    file: Option<SourceFile>,
    /// The description that the node itself publishes.
    published: Published,
    /// The interfaces of running robots.
    capture: Capture,
    convert_calls: Requests<interfaces::Convert>,
    check_calls: Requests<interfaces::CheckFrames>,
    motion_calls: MotionCalls,
    /// Stands for the topic until the first robot takes it. Each robot has one, which keeps its
    /// last message, so that late subscribers get the last of every robot.
    first_announcer: Option<Publisher<Asset>>,
    diagnostics: Publisher<DiagnosticArray>,
    period: Interval,
    attend: Interval,
    changes: Changes,
    graph_changes: watch::Receiver<()>,
    /// Nodes whose requests the ROS client can't answer, each with the service it calls.
    unreachable_clients: BTreeSet<(String, String)>,
    /// When was looked which assets there are.
    counted_assets: Option<Instant>,
    /// What ended that the node can't do without.
    ended: UnboundedReceiver<Diagnostic>,
    /// When to look at the graph.
    graph_due: Gathered,
    /// Whether a robot was looked for in other namespaces.
    was_any_lost: bool,
    watch: Option<Watch>,
    /// When to tell the watch which files are used.
    watch_due: Gathered,
    events: UnboundedReceiver<Event>,
}

impl<N: Node> Engine<N> {
    /// Opens the node's topics and services. `places`: where assets lie in the output directory.
    /// Call it in a tokio runtime.
    ///
    /// # Errors
    /// If the transport refuses, or a remapped name is invalid.
    pub(super) fn start(
        node: Arc<N>,
        parameters: Parameters,
        changes: Changes,
        (convert, workers): (Arc<Convert>, Arc<Workers>),
        site: Arc<Site>,
        asset_paths: AssetPaths,
    ) -> Result<Self, Diagnostic> {
        let (parts, ended) = Parts::new();
        let (sender, events) = tokio::sync::mpsc::unbounded_channel();
        let watch = if parameters.watch_files {
            let failed = |error| {
                Diagnostic::new(
                    &codes::SYSTEM,
                    Place::default(),
                    format!("no thread for watching files: {error}"),
                )
            };
            Some(Watch::start(sender).map_err(failed)?)
        } else {
            None
        };
        let descriptions = Descriptions::start(&*node, parts.clone())?;
        let own_namespace = own_namespace(&*node, &descriptions, &parameters);
        let mut engine = Self {
            subscriptions: NamespaceSubscriptions::start(
                node.clone(),
                site.clone(),
                own_namespace,
                parts,
            )?,
            asset_paths,
            descriptions,
            publishers: DescriptionPublishers::default(),
            nodes: Nodes::default(),
            file: None,
            published: Published::default(),
            capture: Capture::default(),
            convert_calls: node.serve("convert")?,
            check_calls: node.serve("~/check_frames")?,
            motion_calls: MotionCalls::start(&*node, parameters.moveit_services)?,
            first_announcer: Some(node.advertise("~/asset", Qos::latched(1))?),
            diagnostics: node.advertise("/diagnostics", Qos::reliable(10))?,
            period: period(parameters.diagnostics_period),
            attend: period(ATTEND),
            schedule: Schedule::new(parameters.settle_time, parameters.workers, Order::weight),
            reading: Schedule::new(Duration::ZERO, 1, |_| 0),
            running: Running::default(),
            calls: 0,
            robots: BTreeMap::new(),
            to_check: VecDeque::new(),
            newest: None,
            heard: None,
            waiting_checks: Vec::new(),
            graph_changes: node.graph_changes(),
            unreachable_clients: BTreeSet::new(),
            counted_assets: None,
            ended,
            graph_due: Gathered::default(),
            was_any_lost: false,
            node,
            parameters,
            changes,
            convert,
            workers,
            site,
            watch,
            watch_due: Gathered::default(),
            events,
        };
        engine.take_file();
        engine.schedule_graph_scan();
        engine.set_capture();
        Ok(engine)
    }

    /// Works until something ends that it can't do without, the node's part in the ROS graph first
    /// of all. Returns what.
    pub(super) async fn run(mut self) -> Diagnostic {
        let source = match self
            .parameters
            .file()
            .filter(|_| self.parameters.publish_description)
        {
            Some(file) => format!("converting {}", file.display()),
            None => format!("listening to {}", self.descriptions.topic()),
        };
        tracing::info!(
            "{source}, writing to {}",
            self.parameters.output_dir.display()
        );
        let left = || parts::ended("the node's part in the ROS graph");
        loop {
            self.start_due();
            // Reading is always due at once, so it needs no waking.
            let next = [
                self.schedule.next_due(),
                self.graph_due.due,
                self.watch_due.due,
            ]
            .into_iter()
            .flatten()
            .min();
            let due = next.map(|due| tokio::time::sleep_until(due.into()));
            // What waits is in the transport's queues, which are bounded.
            let has_room = self.schedule.weight() < MOST_WAITING;
            tokio::select! {
                heard = self.descriptions.next(), if has_room => match heard {
                    Some(described) => self.hear(described),
                    None => return left(),
                },
                call = self.convert_calls.next() => match call {
                    Some(call) => self.queue_call(call),
                    None => return left(),
                },
                call = self.check_calls.next() => match call {
                    Some(call) => self.answer_check(call),
                    None => return left(),
                },
                call = self.motion_calls.next() => match call {
                    Some(call) => self.take_motion_call(call),
                    None => return left(),
                },
                Some(back) = self.running.tasks.join_next() => if let Err(ended) = self.take_back(back) {
                    return ended;
                },
                event = self.events.recv(), if self.watch.is_some() => match event {
                    Some(event) => self.note(event),
                    None => return parts::ended("watching files"),
                },
                change = self.changes.next() => match change {
                    Some(change) => self.change(&change),
                    None => return left(),
                },
                seen = self.capture.changed() => match seen {
                    Some(()) => self.take_capture(),
                    None => return parts::ended("looking at running robots"),
                },
                changed = self.graph_changes.changed() => match changed {
                    Ok(()) => self.schedule_graph_scan(),
                    Err(_) => return left(),
                },
                Some(ended) = self.ended.recv() => return ended,
                _ = self.period.tick() => self.begin_checks(),
                // One robot at a time, so that nothing else waits for two hundred.
                () = tokio::task::yield_now(), if !self.to_check.is_empty() => self.check_next(),
                _ = self.attend.tick() => if let Err(ended) = self.attend() {
                    return ended;
                },
                Some(()) = OptionFuture::from(due) => {}
            }
        }
    }

    /// Puts all work that is due on worker threads, and does what was gathered.
    fn start_due(&mut self) {
        let now = Instant::now();
        if self.graph_due.take(now) {
            self.look_at_graph();
        }
        if self.watch_due.take(now) {
            self.watch_used();
        }
        while let Some((key, order)) = self.schedule.next(now) {
            let convert = self.convert.clone();
            match order {
                Order::Source(work) => self.begin_source(key, work),
                Order::Again => match self.robots.get(&key).map(Robot::work) {
                    Some(work) => self.begin_source(key, work),
                    None => self.schedule.finished(&key),
                },
                Order::Call {
                    request,
                    caller,
                    heard,
                    folder,
                } => {
                    self.calls -= 1;
                    let (parameters, topic) = (
                        self.parameters.clone(),
                        self.descriptions.topic().to_owned(),
                    );
                    let task = Task::Call {
                        key: key.clone(),
                        caller: caller.clone(),
                    };
                    self.running.begin(task, move |number| {
                        let outcome = answer(
                            request,
                            &caller,
                            heard,
                            &folder,
                            &parameters,
                            &topic,
                            &convert,
                        );
                        Done::Order {
                            key,
                            number,
                            outcome,
                        }
                    });
                }
            }
        }
        while let Some((key, report)) = self.reading.next(now) {
            let task = Task::Frames {
                key: key.clone(),
                report: report.clone(),
            };
            let (workers, limits) = (self.workers.clone(), self.work_limits());
            self.running.begin(task, move |_| {
                let entry = report.file(robots::ENTRY).unwrap_or_default();
                Done::Frames {
                    key,
                    frames: jobs::read_frames(&entry, &workers, limits),
                    report,
                }
            });
        }
    }

    /// Begins to convert a source, unless nothing changed since it was converted last.
    fn begin_source(
        &mut self,
        key: String,
        Work {
            job,
            robot_namespace,
            origin,
            heard_from,
        }: Work,
    ) {
        let job = self.with_captured(job, &robot_namespace, &origin);
        let (last, convert) = (
            self.robots
                .get(&key)
                .and_then(|robot| robot.fingerprint.clone()),
            self.convert.clone(),
        );
        let work = Work {
            job,
            robot_namespace,
            origin,
            heard_from,
        };
        let task = Task::Source {
            key: key.clone(),
            work: work.clone(),
        };
        let Work {
            job,
            robot_namespace,
            origin,
            heard_from,
        } = work;
        self.running.begin(task, move |number| {
            let outcome = match attempt(job, last.as_ref(), &*convert) {
                Some(attempt) => Outcome::Tried {
                    attempt: Box::new(attempt),
                    robot_namespace,
                    origin,
                    heard_from,
                },
                None => Outcome::Unchanged,
            };
            Done::Order {
                key,
                number,
                outcome,
            }
        });
    }

    /// A worker is done.
    fn finish(&mut self, done: Done) {
        match done {
            Done::Order {
                key,
                number,
                outcome,
            } => self.finish_order(key, number, outcome),
            Done::Frames {
                key,
                report,
                frames,
            } => {
                self.take_frames(&key, &report, frames);
                self.read_interfaces(&key);
            }
            Done::Interfaces {
                key,
                revision,
                declared,
            } => self.take_interfaces(key, revision, declared),
            Done::Description { path, text } => self.publish_description(&path, text),
            Done::Given { node, text, taken } => self.note_given(node, &text, taken),
            Done::Parameter {
                node,
                robot_namespace,
                value,
            } => self.take_parameter(node, robot_namespace, value),
            Done::Posable { key, posable } => self.keep_posable(&key, posable),
            Done::Assets(there) => self.asset_paths.look_again(&there),
        }
    }

    /// A call of `convert` came.
    fn queue_call(&mut self, call: Request<interfaces::Convert>) {
        if self.calls >= MOST_CALLS || self.schedule.weight() >= MOST_WAITING {
            let message = format!("{} calls are waiting already", self.calls);
            let diagnostic = Diagnostic::new(&codes::REQUEST, Place::default(), message)
                .help("call again later");
            tell(call.responder.send(request::refusal(&diagnostic)));
            return;
        }
        // Conversions of one robot follow each other in the order in which they were asked for.
        let asked = &call.request;
        let name = match (&asked.urdf, &asked.uri) {
            (urdf, _) if !urdf.trim().is_empty() => robot_name(urdf)
                .map_or_else(|| "robot".to_owned(), |name| convert::file_name(&name)),
            (_, uri) if !uri.trim().is_empty() => format!("uri {uri}"),
            _ => self
                .heard
                .as_ref()
                .map_or_else(|| "robot".to_owned(), |heard| heard.key.clone()),
        };
        let key = match asked.output_dir.trim() {
            // As the node's own robot of that name, which may have to make way for a folder of
            // others.
            "" if !asked.urdf.trim().is_empty() => self.asset_paths.of(&RobotNamespace::Own, &name),
            "" => name,
            folder => format!("{folder}/{}", name.rsplit('/').next().unwrap_or_default()),
        };
        if asked.output_dir.trim().is_empty()
            && !asked.urdf.trim().is_empty()
            && self.has_no_place(&key)
        {
            let message = format!(
                "the output directory holds {} assets already",
                self.asset_paths.written()
            );
            let diagnostic = Diagnostic::new(&codes::TOO_MANY_ASSETS, Place::default(), message)
                .help(
                    "remove folders of robots that are no more, or raise the parameter max_assets",
                );
            tell(call.responder.send(request::refusal(&diagnostic)));
            return;
        }
        self.calls += 1;
        let folder = asset_paths::parent(&key).to_owned();
        let (request, caller) = (call.request, Caller::new(call.responder));
        self.schedule.push(
            key,
            Order::Call {
                request,
                caller,
                heard: self.heard.clone(),
                folder,
            },
            Instant::now(),
        );
    }

    /// A parameter was changed: it holds from the next conversion, check or message on.
    fn change(&mut self, change: &Change) {
        tracing::debug!("{} is now {}", change.name, change.value);
        let before = self.parameters.clone();
        if let Err(why) = self.parameters.apply(change) {
            tracing::error!(
                "the parameter {} can't be {}: {why}",
                change.name,
                change.value
            );
        }
        self.schedule.set_settle(self.parameters.settle_time);
        if self.parameters.diagnostics_period != before.diagnostics_period {
            self.period = period(self.parameters.diagnostics_period);
        }
        let of_file = |parameters: &Parameters| {
            (
                parameters.file().cloned(),
                parameters.xacro_args.clone(),
                parameters.publish_description,
            )
        };
        if of_file(&self.parameters) != of_file(&before) {
            if self.parameters.file().is_none() || !self.parameters.publish_description {
                self.end_publishing();
            }
            self.take_file();
        }
        if self.parameters.capture_interfaces != before.capture_interfaces {
            self.set_capture();
        }
        if self.parameters.conversion.namespace != before.conversion.namespace {
            self.subscriptions.set_own_namespace(own_namespace(
                &*self.node,
                &self.descriptions,
                &self.parameters,
            ));
        }
        if self.parameters.description_from != before.description_from {
            self.nodes = Nodes::default();
        }
        self.schedule_graph_scan();
    }

    /// Limits for reading an asset back; the same as for converting it.
    fn work_limits(&self) -> WorkLimits {
        let convert::Options {
            time_limit: time,
            memory_limit: memory,
            ..
        } = self.parameters.conversion;
        WorkLimits { time, memory }
    }

    fn limits(&self) -> Limits {
        let Parameters {
            position_tolerance: position,
            angle_tolerance: angle,
            frame_timeout: timeout,
            ..
        } = self.parameters;
        Limits {
            position,
            angle,
            timeout,
            ignore: self.parameters.ignored_frames.clone(),
        }
    }

    /// Something happened to files.
    fn note(&mut self, event: Event) {
        match event {
            Event::Trouble(diagnostic) => tracing::warn!("{diagnostic}"),
            Event::Changed(paths) => {
                let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
                let uses = |used: &[PathBuf]| used.iter().any(|path| paths.contains(path));
                let keys: Vec<String> = self
                    .robots
                    .iter()
                    .filter(|(_, robot)| uses(&robot.used))
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in keys {
                    // One that never said what it used may have used this.
                    if let Some(robot) = self
                        .robots
                        .get_mut(&key)
                        .filter(|robot| robot.is_set_aside())
                    {
                        robot.fingerprint = None;
                    }
                    self.convert_again(&key);
                }
                if self.file.as_ref().is_some_and(|file| uses(&file.used)) {
                    self.convert_file();
                }
            }
        }
    }

    /// Converts a robot's newest source again, if anything changed.
    fn convert_again(&mut self, key: &str) {
        if self.robots.contains_key(key) {
            self.schedule.ensure(key, || Order::Again, Instant::now());
        }
    }

    /// Has the files that assets were made from watched.
    fn watch_soon(&mut self) {
        self.watch_due.soon(Instant::now());
    }

    fn watch_used(&self) {
        if let Some(watch) = &self.watch {
            let of_file = self.file.iter().flat_map(|file| &file.used);
            watch.set(
                self.robots
                    .values()
                    .flat_map(|robot| &robot.used)
                    .chain(of_file)
                    .cloned()
                    .collect(),
            );
        }
    }

    /// Looks at the graph.
    fn schedule_graph_scan(&mut self) {
        self.graph_due.soon(Instant::now());
    }

    /// Looks after what nobody tells. `Err`: why the node has to end.
    fn attend(&mut self) -> Result<(), Diagnostic> {
        let is_any_lost = self.is_any_lost();
        let is_news = std::mem::replace(&mut self.was_any_lost, is_any_lost) != is_any_lost;
        if is_news
            || self.publishers.is_waiting()
            || self.nodes.are_waiting()
            || self.subscriptions.are_waiting()
            || self.published.is_waiting()
        {
            self.schedule_graph_scan();
        }
        self.try_starved_again();
        self.give_up()
    }
}

/// When to do something that many events ask for: at once, but not again within [`GATHER`].
#[derive(Default)]
struct Gathered {
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Gathered {
    /// An event asks for it.
    fn soon(&mut self, now: Instant) {
        let last = self.last;
        self.due
            .get_or_insert_with(|| last.map_or(now, |last| now.max(last + GATHER)));
    }

    /// Whether it is to be done now, and then not soon again.
    fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            (self.due, self.last) = (None, Some(now));
        }
        is_due
    }
}

impl Robot {
    /// Its newest source, to be converted again.
    fn work(&self) -> Work {
        let Self {
            job,
            robot_namespace,
            origin,
            heard_from,
            ..
        } = self;
        Work {
            job: job.clone(),
            robot_namespace: robot_namespace.clone(),
            origin: origin.clone(),
            heard_from: *heard_from,
        }
    }
}

/// Converts for a caller and answers.
fn answer(
    request: ConvertRequest,
    caller: &Caller<interfaces::Convert>,
    heard: Option<request::Heard>,
    folder: &str,
    parameters: &Parameters,
    topic: &str,
    convert: &Arc<Convert>,
) -> Outcome {
    let job = match request::job(&request, parameters, heard.as_ref(), folder, topic) {
        Ok(job) => job,
        Err(diagnostic) => {
            tracing::warn!("a call of convert is refused: {}", diagnostic.message);
            caller.send(request::refusal(&diagnostic));
            return Outcome::Refused;
        }
    };
    drop(request);
    // A call asks for a conversion, so there is no last one to compare with.
    let Some(attempt) = attempt(job, None, &**convert) else {
        return Outcome::Refused;
    };
    let response = match &attempt.result {
        Ok(report) => request::answer(Ok(report)),
        Err(failure) => {
            tracing::warn!(
                "a call of convert failed: {}",
                request::first(&failure.diagnostics)
            );
            request::answer(Err(failure))
        }
    };
    caller.send(response);
    Outcome::Tried {
        attempt: Box::new(attempt),
        robot_namespace: RobotNamespace::Own,
        origin: Origin::Call,
        heard_from: None,
    }
}

/// Where an asset is below the output directory: its key.
fn asset_key(output_dir: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(output_dir).unwrap_or(directory);
    below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

/// The namespace that the node's own robots are heard in, unless it is the root: where they are
/// described, else what their assets are told to declare.
fn own_namespace<N: Node>(
    node: &N,
    descriptions: &Descriptions,
    parameters: &Parameters,
) -> Option<Arc<str>> {
    let described: Arc<str> = match RobotNamespace::of_topic(descriptions.topic()) {
        Some(RobotNamespace::Named(namespace)) => namespace,
        _ => node.namespace().into(),
    };
    let declared = || {
        Some(
            format!(
                "/{}",
                parameters
                    .conversion
                    .namespace
                    .as_deref()?
                    .trim_matches('/')
            )
            .into(),
        )
    };
    Some(described)
        .filter(|namespace| **namespace != *"/")
        .or_else(declared)
}

fn period(length: Duration) -> Interval {
    let mut period = tokio::time::interval(length);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    period
}

/// What can't be sent is lost because the node is ending.
fn tell(sent: Result<(), Diagnostic>) {
    if let Err(error) = sent {
        tracing::debug!("{error}");
    }
}

/// Logs findings, the worst first: of each kind a few, of each cause one, since a missing package
/// makes one per mesh.
fn log(diagnostics: &[Diagnostic]) {
    for group in groups(diagnostics.iter().filter(|d| d.severity > Severity::Info)) {
        let most = if group.first.cause.is_empty() {
            MOST_LOGGED
        } else {
            1
        };
        for diagnostic in std::iter::once(&group.first)
            .chain(&group.others)
            .take(most)
        {
            match diagnostic.severity {
                Severity::Error => tracing::error!("{diagnostic}"),
                _ => tracing::warn!("{diagnostic}"),
            }
        }
        if group.count() > most {
            let cause = if group.first.cause.is_empty() {
                String::new()
            } else {
                format!(" ({})", group.first.cause)
            };
            tracing::warn!(
                "and {} more of {}{cause}: the report has all",
                group.count() - most,
                group.code()
            );
        }
    }
}

#[cfg(test)]
mod tests;
