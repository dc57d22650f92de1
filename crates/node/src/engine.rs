//! The node's main task: owns all state, and reacts to messages, calls, file events and timers.
//!
//! Nothing in it blocks: conversions and file system access run on worker threads, which send back
//! results. The cost of a message, or of work for one robot, does not depend on the number of
//! robots.

mod capture;
mod descriptions;
mod finish;
mod graph;
mod motion;
#[cfg(not(feature = "rcl"))]
mod moveit;
mod published;
mod running;
mod shortages;
mod uploads;
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
use self::uploads::Uploads;
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

/// Maximum number of waiting calls of `convert`.
const MAX_WAITING_CALLS: usize = 128;
/// Maximum bytes of descriptions that wait for conversion; beyond it none are taken from the
/// queues.
const MAX_WAITING_BYTES: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };
/// Maximum number of findings of one kind logged for one conversion; the report lists all.
const MAX_LOGGED: usize = 3;
/// Minimum time between two scans of the graph, and between two updates of the file watch.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Minimum time between two turns of the task that is a standstill of the process.
const MIN_STANDSTILL: Duration = Duration::from_secs(5);
/// Time after a standstill in which the ROS graph may lack nodes that exist: their leases have
/// expired, and they announce themselves again only every few seconds.
const RECOVERY: Duration = Duration::from_secs(30);
/// Poll interval for state without change notification: publishers that never appear, nodes that do
/// not answer.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A unit of work for the schedule.
enum Order {
    /// Convert a source, if anything changed.
    Source(Work),
    /// Convert a robot's latest source again, if anything changed. The source is looked up only
    /// when the order is due, since a newer one may be in progress now.
    Reconvert,
    /// A call of `convert`, with the latest description at the time of the call, and the folder for
    /// a text in the call itself.
    Call {
        request: ConvertRequest,
        caller: Caller<interfaces::Convert>,
        heard: Option<request::LastDescription>,
        folder: String,
    },
}

impl Order {
    /// Returns the bytes of descriptions that it holds.
    fn weight(&self) -> usize {
        match self {
            Self::Source(Work { job, .. }) => jobs::text_bytes(job),
            Self::Reconvert => 0,
            Self::Call { request, .. } => request.urdf.len() + request.xrdf.len(),
        }
    }
}

/// A source to convert, with its origin.
#[derive(Clone)]
struct Work {
    job: Arc<Job>,
    robot_namespace: RobotNamespace,
    origin: Origin,
    heard_from: Option<PublisherId>,
}

/// The result of an order.
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

/// The result of work on a thread or of a call to another node.
enum Done {
    /// The result of an order, with the key that it was scheduled under.
    Order {
        key: String,
        number: u64,
        outcome: Outcome,
    },
    /// The keys of the assets in the output directory.
    Assets(BTreeSet<String>),
    /// The frames that a revision declares.
    Frames {
        key: String,
        report: Arc<Report>,
        frames: Result<Expected, String>,
    },
    /// The interfaces that a revision declares.
    Interfaces {
        key: String,
        revision: u64,
        declared: Result<Arc<[InterfaceSummary]>, String>,
    },
    /// The URDF text of a revision.
    Description {
        path: PathBuf,
        text: Result<String, String>,
    },
    /// Another node's answer to setting its parameter to the description.
    Given {
        node: Arc<str>,
        text: Arc<str>,
        taken: Result<(), String>,
    },
    /// The data read or reused to answer a motion call.
    Motion { key: String, motion: robots::Motion },
    /// The result of publishing a revision in the object store.
    Uploaded {
        key: String,
        report: Arc<Report>,
        result: Result<(), Diagnostic>,
    },
    /// Another node's answer to reading its parameter.
    Parameter {
        node: Arc<str>,
        robot_namespace: RobotNamespace,
        value: Result<Option<String>, Diagnostic>,
    },
}

/// The node's state and everything it listens to.
pub(super) struct Engine<N> {
    node: Arc<N>,
    parameters: Parameters,
    convert: Arc<Convert>,
    /// Workers that read assets back.
    workers: Arc<Workers>,
    site: Arc<Site>,
    subscriptions: NamespaceSubscriptions<N>,
    asset_paths: AssetPaths,
    schedule: Schedule<Order>,
    /// Assets to read back, one at a time: reading may take longer than writing.
    reading: Schedule<Arc<Report>>,
    uploads: Uploads,
    running: Running,
    calls: usize,
    /// The robots with all their state, by key.
    robots: BTreeMap<String, Robot>,
    /// Robots whose frames are to be compared with TF, checked one after the other.
    to_check: VecDeque<String>,
    heard: Option<request::LastDescription>,
    /// Calls that wait until frames were read back.
    waiting_checks: Vec<Request<interfaces::CheckFrames>>,
    descriptions: Descriptions,
    publishers: DescriptionPublishers,
    /// Nodes whose parameter may be read.
    nodes: Nodes,
    file: Option<SourceFile>,
    /// The description that this node publishes.
    published: Published,
    /// The observed interfaces of running robots.
    capture: Capture,
    convert_calls: Requests<interfaces::Convert>,
    check_calls: Requests<interfaces::CheckFrames>,
    motion_calls: MotionCalls,
    /// Publisher of the topic until the first robot takes it over. Each robot has its own
    /// publisher, whose latched message gives late subscribers the last asset of every robot.
    first_announcer: Option<Publisher<Asset>>,
    diagnostics: Publisher<DiagnosticArray>,
    period: Interval,
    poll: Interval,
    changes: Changes,
    graph_changes: watch::Receiver<()>,
    /// Nodes whose requests the ROS client can't answer, each with the service it calls.
    unreachable_clients: BTreeSet<(String, String)>,
    /// Time of the last scan for assets.
    last_asset_scan: Option<Instant>,
    /// Reports the end of parts that the node can't work without.
    ended: UnboundedReceiver<Diagnostic>,
    /// Schedules the next scan of the graph.
    graph_due: Debounced,
    /// `/clock` has a publisher, according to the latest snapshot of the graph.
    has_clock: bool,
    /// Time of the last turn of the task.
    turned: Instant,
    /// The last standstill of the process, until the graph is complete again.
    standstill: Option<Standstill>,
    /// Whether a robot was looked for in other namespaces at the last poll.
    was_any_lost: bool,
    watch: Option<Watch>,
    /// Schedules the next update of the watched files.
    watch_due: Debounced,
    events: UnboundedReceiver<Event>,
}

impl<N: Node> Engine<N> {
    /// Opens the node's topics and services. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Fails if the transport refuses, or a remapped name is invalid.
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
                    format!("cannot start the thread that watches files: {error}"),
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
            poll: period(POLL_INTERVAL),
            schedule: Schedule::new(parameters.settle_time, parameters.workers, Order::weight),
            reading: Schedule::new(Duration::ZERO, 1, |_| 0),
            uploads: Uploads::new(parameters.output_url.clone()),
            running: Running::default(),
            calls: 0,
            robots: BTreeMap::new(),
            to_check: VecDeque::new(),
            heard: None,
            waiting_checks: Vec::new(),
            graph_changes: node.graph_changes(),
            unreachable_clients: BTreeSet::new(),
            last_asset_scan: None,
            ended,
            graph_due: Debounced::default(),
            has_clock: true,
            turned: Instant::now(),
            standstill: None,
            was_any_lost: false,
            node,
            parameters,
            changes,
            convert,
            workers,
            site,
            watch,
            watch_due: Debounced::default(),
            events,
        };
        engine.take_file();
        engine.schedule_graph_scan();
        engine.set_capture();
        Ok(engine)
    }

    /// Runs until a part that the node can't work without ends, first of all its part in the ROS
    /// graph; returns which one as a diagnostic.
    pub(super) async fn run(mut self) -> Diagnostic {
        let source = match self.parameters.file() {
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
            // Reading is always due at once, so it needs no timer.
            let next = [
                self.schedule.next_due(),
                self.graph_due.due,
                self.watch_due.due,
            ]
            .into_iter()
            .flatten()
            .min();
            let due = next.map(|due| tokio::time::sleep_until(due.into()));
            // Back-pressure: descriptions wait in the transport's queues, which are bounded.
            let has_room = self.schedule.weight() < MAX_WAITING_BYTES;
            // The branches are polled in random order, so that none can starve the others.
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
                // An empty `JoinSet` yields `None`, which disables this branch for one turn.
                Some(back) = self.running.tasks.join_next() => if let Err(ended) = self.finish_task(back) {
                    return ended;
                },
                event = self.events.recv(), if self.watch.is_some() => match event {
                    Some(event) => self.handle_file_event(event),
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
                // Check one robot per turn, so that messages and calls don't wait for all of them.
                () = tokio::task::yield_now(), if !self.to_check.is_empty() => self.check_next(),
                _ = self.poll.tick() => if let Err(ended) = self.poll() {
                    return ended;
                },
                // This only wakes the loop: `start_due` does what is due.
                Some(()) = OptionFuture::from(due) => {}
            }
        }
    }

    /// Starts all work that is due.
    fn start_due(&mut self) {
        let now = Instant::now();
        self.note_standstill(now);
        if self.graph_due.take(now) {
            self.scan_graph();
        }
        if self.watch_due.take(now) {
            self.watch_used();
        }
        while let Some((key, order)) = self.schedule.next(now) {
            let convert = self.convert.clone();
            match order {
                Order::Source(work) => self.begin_source(key, work),
                Order::Reconvert => match self.robots.get(&key).map(Robot::work) {
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
        self.start_uploads(now);
        // Reading back has a schedule of its own, so that it takes no turn from conversions.
        while let Some((key, report)) = self.reading.next(now) {
            let task = Task::Frames {
                key: key.clone(),
                report: report.clone(),
            };
            let (workers, limits) = (self.workers.clone(), self.work_limits());
            let node = self.node.clone();
            self.running.begin(task, move |_| {
                let entry = report.file(robots::ENTRY).unwrap_or_default();
                let now = || node.timeline().at;
                Done::Frames {
                    key,
                    frames: jobs::read_frames(&entry, &workers, limits, now),
                    report,
                }
            });
        }
    }

    /// Starts to convert a source, unless nothing has changed since its last conversion.
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
        // Added only now, so that an order that waited gets the latest snapshot.
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

    /// Takes the result of work on a thread.
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
            Done::Uploaded {
                key,
                report,
                result,
            } => self.take_upload(key, report, result),
            Done::Description { path, text } => self.publish_description(&path, text),
            Done::Given { node, text, taken } => self.finish_set_parameter(node, &text, taken),
            Done::Parameter {
                node,
                robot_namespace,
                value,
            } => self.take_parameter(node, robot_namespace, value),
            Done::Motion { key, motion } => self.cache_motion(&key, motion),
            Done::Assets(there) => self.asset_paths.update_written(&there),
        }
    }

    /// Schedules a call of `convert`, or refuses it.
    fn queue_call(&mut self, call: Request<interfaces::Convert>) {
        if self.calls >= MAX_WAITING_CALLS || self.schedule.weight() >= MAX_WAITING_BYTES {
            let message = format!("{} calls are waiting already", self.calls);
            let diagnostic = Diagnostic::new(&codes::REQUEST, Place::default(), message)
                .help("call again later");
            log_unsent(call.responder.send(request::refusal(&diagnostic)));
            return;
        }
        // Calls under the same key are converted in their order of arrival.
        let (asked, heard) = (&call.request, self.last_description());
        let name = match (&asked.urdf, &asked.uri) {
            (urdf, _) if !urdf.trim().is_empty() => robot_name(urdf)
                .map_or_else(|| "robot".to_owned(), |name| convert::file_name(&name)),
            // The robot's name is known once the file is read; until then its URI orders the calls.
            (_, uri) if !uri.trim().is_empty() => format!("uri {uri}"),
            _ => heard
                .as_ref()
                .map_or_else(|| "robot".to_owned(), |heard| heard.key.clone()),
        };
        let key = match asked.output_dir.trim() {
            // The same key as for the node's own robot of that name, which may differ from the name
            // if a folder has it.
            "" if !asked.urdf.trim().is_empty() => {
                self.asset_paths.assign(&RobotNamespace::Own, &name)
            }
            "" => name,
            folder => format!("{folder}/{}", name.rsplit('/').next().unwrap_or_default()),
        };
        if asked.output_dir.trim().is_empty()
            && !asked.urdf.trim().is_empty()
            && self.is_full_for(&key)
        {
            let message = format!(
                "the output directory holds {} assets already",
                self.asset_paths.written()
            );
            let diagnostic = Diagnostic::new(&codes::TOO_MANY_ASSETS, Place::default(), message)
                .help(
                    "remove the folders of robots that no longer exist, or raise the parameter max_assets",
                );
            log_unsent(call.responder.send(request::refusal(&diagnostic)));
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
                heard,
                folder,
            },
            Instant::now(),
        );
    }

    /// Applies a changed parameter: it takes effect from the next conversion, check or message on.
    fn change(&mut self, change: &Change) {
        tracing::debug!("{} is now {}", change.name, change.value);
        let before = self.parameters.clone();
        if let Err(why) = self.parameters.apply(change) {
            tracing::error!(
                "the parameter {} cannot be set to {}: {why}",
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
            // Answers to an earlier pattern say nothing about this one.
            self.nodes = Nodes::default();
        }
        self.schedule_graph_scan();
    }

    /// Returns the limits for reading an asset back; they equal those of a conversion.
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

    /// Handles an event of the file watch.
    fn handle_file_event(&mut self, event: Event) {
        match event {
            Event::Failed(diagnostic) => tracing::warn!("{diagnostic}"),
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
                    // A conversion that was stopped reported no inputs, so this file may be one of
                    // them.
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

    /// Schedules the conversion of a robot's latest source, which ends early if nothing changed.
    fn convert_again(&mut self, key: &str) {
        if self.robots.contains_key(key) {
            self.schedule
                .ensure(key, || Order::Reconvert, Instant::now());
        }
    }

    /// Schedules an update of the watched files.
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

    /// Schedules a scan of the graph.
    fn schedule_graph_scan(&mut self) {
        self.graph_due.soon(Instant::now());
    }

    /// Polls state without change notification.
    ///
    /// # Errors
    /// The node has to end.
    fn poll(&mut self) -> Result<(), Diagnostic> {
        let now = Instant::now();
        if self.standstill.is_some() && !self.is_recovering(now) {
            self.standstill = None;
            self.schedule_graph_scan();
        }
        let is_any_lost = self.is_any_lost();
        // The scan opens or closes the namespaces in which a lost robot is looked for.
        let is_news = std::mem::replace(&mut self.was_any_lost, is_any_lost) != is_any_lost;
        if is_news
            || self.publishers.is_waiting()
            || self.nodes.are_waiting()
            || self.published.is_waiting()
        {
            self.schedule_graph_scan();
        }
        self.try_starved_again();
        self.uploads.retry_failed(Instant::now());
        self.abandon_overdue()
    }
}

impl<N> Engine<N> {
    /// Notes a standstill of the process since the last turn, which [`POLL_INTERVAL`] bounds
    /// otherwise.
    fn note_standstill(&mut self, now: Instant) {
        let lasted = now.saturating_duration_since(self.turned);
        self.turned = now;
        if lasted >= MIN_STANDSTILL {
            tracing::info!(
                "the process stood still for {} s: whether other nodes have left is decided in {} s",
                lasted.as_secs(),
                RECOVERY.as_secs()
            );
            self.standstill = Some(Standstill { ended: now, lasted });
        }
    }

    /// Returns whether the graph may be incomplete after a standstill.
    fn is_recovering(&self, now: Instant) -> bool {
        self.standstill
            .is_some_and(|standstill| now.saturating_duration_since(standstill.ended) < RECOVERY)
    }
}

/// A standstill of the process: it was stopped, or the machine was suspended.
#[derive(Clone, Copy)]
struct Standstill {
    ended: Instant,
    lasted: Duration,
}

/// A debounced task: runs at once when requested, but not again within [`DEBOUNCE`].
///
/// The first request after a quiet time has no delay; requests in a burst are merged into one run
/// at the end of the interval.
#[derive(Default)]
struct Debounced {
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Debounced {
    /// Requests a run.
    fn soon(&mut self, now: Instant) {
        let last = self.last;
        self.due
            .get_or_insert_with(|| last.map_or(now, |last| now.max(last + DEBOUNCE)));
    }

    /// Returns whether a run is due, and if so starts a new interval.
    fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            (self.due, self.last) = (None, Some(now));
        }
        is_due
    }
}

impl Robot {
    /// Returns its latest source, to convert it again.
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

/// Converts for a caller and sends the response.
fn answer(
    request: ConvertRequest,
    caller: &Caller<interfaces::Convert>,
    heard: Option<request::LastDescription>,
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
    // The job has its own copy of the description: free this one before the conversion.
    drop(request);
    // A call always converts: there is no earlier fingerprint to compare with.
    let Some(attempt) = attempt(job, None, &**convert) else {
        return Outcome::Refused;
    };
    let response = match &attempt.result {
        Ok(report) => request::answer(Ok(report)),
        Err(failure) => {
            tracing::warn!(
                "a call of convert failed: {}",
                request::first_error(&failure.diagnostics)
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

/// Returns the key of an asset: its path below the output directory.
fn asset_key(output_dir: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(output_dir).unwrap_or(directory);
    below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns the namespace in which the node's own robots publish, unless it is the root: that of
/// the description topic, else the one that their assets declare.
fn own_namespace<N: Node>(
    node: &N,
    descriptions: &Descriptions,
    parameters: &Parameters,
) -> Option<Arc<str>> {
    let described: Arc<str> = match RobotNamespace::from_topic(descriptions.topic()) {
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
    // After a stall, the default would make up for all missed ticks at once.
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    period
}

/// Logs a message that could not be sent: the node is shutting down.
fn log_unsent(sent: Result<(), Diagnostic>) {
    if let Err(error) = sent {
        tracing::debug!("{error}");
    }
}

/// Logs findings, the worst first: a few of each code, and only one of each cause, since one
/// missing package yields a finding per mesh.
fn log(diagnostics: &[Diagnostic]) {
    for group in groups(diagnostics.iter().filter(|d| d.severity > Severity::Info)) {
        let most = if group.first.cause.is_empty() {
            MAX_LOGGED
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
                "{} more of {}{cause}: the report lists all",
                group.count() - most,
                group.code()
            );
        }
    }
}

#[cfg(test)]
mod tests;
