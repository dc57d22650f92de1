//! The node's one task: what is heard, asked, changed and due meets here, and all state of the node is here.
//!
//! Nothing in it blocks: conversions and whatever looks at the file system run on worker threads and come back as results.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::OptionFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use super::frames::tf::Topic;
use super::frames::{Judgement, Limits, Live, Topics, Verdict, judge};
use super::name::robot_name;
use super::parameters::Parameters;
use super::robots::{self, Frames, Robot, Written};
use super::schedule::Schedule;
use super::watch::{Event, Watch};
use super::work::{Attempt, Convert, attempt};
use super::{codes, request, work};
use crate::convert::{self, Job, Report, Source};
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::ros::msg::diagnostic_msgs::DiagnosticArray;
use crate::ros::msg::sensor_msgs::JointState;
use crate::ros::msg::std_msgs::{self, Header};
use crate::ros::msg::tf2_msgs::TFMessage;
use crate::ros::msg::urdf_usd as interfaces;
use crate::ros::msg::urdf_usd::{Asset, CheckFramesRequest, CheckFramesResponse};
use crate::ros::parameter::{Change, Changes};
use crate::ros::{Node, Publisher, PublisherId, Qos, Request, Requests, Sample, Subscription};
use crate::serve::Site;
use crate::usd::AssetFrame;

/// How many descriptions may wait in the transport: several publishers may speak at once.
const DESCRIPTIONS: usize = 16;
/// How many calls of `convert` may wait.
const MOST_CALLS: usize = 128;
/// How many findings of one kind are logged for one conversion; the report has all.
const MOST_LOGGED: usize = 3;
/// How many transforms may wait to be read.
const TRANSFORMS: usize = 1000;
/// How many joint states may wait to be read: several publishers may each tell a part of the joints.
const JOINT_STATES: usize = 10;
/// After how long without joint states a robot counts as not moving by them any more.
const SILENCE: Duration = Duration::from_secs(2);

/// A piece of work.
enum Order {
    /// A source to convert, if anything changed.
    Source { job: Arc<Job>, heard_from: Option<PublisherId> },
    /// A call of `convert`, with the last description heard when it came.
    Call { request: Request<interfaces::Convert>, heard: Option<Arc<Job>> },
}

/// What became of an order.
enum Outcome {
    Unchanged,
    Refused,
    Tried { attempt: Attempt, heard_from: Option<PublisherId>, called: bool },
}

/// What is new about a robot's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    /// How long ago one was heard, how far it is off.
    Details,
    Verdicts,
}

/// What a worker brings back.
enum Done {
    /// An order, under the key that it was scheduled under.
    Order { key: String, number: u64, outcome: Outcome },
    /// The frames of a revision.
    Frames { key: String, report: Arc<Report>, frames: Result<Arc<[AssetFrame]>, String> },
}

/// The node.
pub(super) struct Engine<N> {
    node: Arc<N>,
    parameters: Parameters,
    convert: Arc<Convert>,
    site: Arc<Site>,
    live: Arc<Mutex<Live>>,
    schedule: Schedule<Order>,
    /// Assets to be read back, one at a time: it may take longer than to write them.
    reading: Schedule<Arc<Report>>,
    running: JoinSet<Done>,
    calls: usize,
    attempts: u64,
    robots: BTreeMap<String, Robot>,
    judgements: BTreeMap<String, Judgement>,
    newest: Option<String>,
    heard: Option<Arc<Job>>,
    /// Calls that wait for frames to be read.
    waiting_checks: Vec<Request<interfaces::CheckFrames>>,
    descriptions: Subscription<std_msgs::String>,
    convert_calls: Requests<interfaces::Convert>,
    check_calls: Requests<interfaces::CheckFrames>,
    /// One per robot, each keeping its last message, so that late subscribers get the last of every robot.
    announcers: HashMap<String, Publisher<Asset>>,
    /// Stands for the topic until the first robot takes it.
    first_announcer: Option<Publisher<Asset>>,
    diagnostics: Publisher<DiagnosticArray>,
    period: Interval,
    changes: Changes,
    watch: Option<Watch>,
    events: UnboundedReceiver<Event>,
    _transforms: JoinSet<()>,
}

impl<N: Node> Engine<N> {
    /// Opens the node's topics and services. Call it in a tokio runtime.
    ///
    /// # Errors
    /// If the transport refuses, or a remapped name is invalid.
    pub(super) fn start(
        node: Arc<N>,
        parameters: Parameters,
        changes: Changes,
        convert: Arc<Convert>,
        site: Arc<Site>,
    ) -> Result<Self, Diagnostic> {
        let (sender, events) = tokio::sync::mpsc::unbounded_channel();
        let watch = if parameters.watch_files {
            let failed =
                |error| Diagnostic::new(&codes::SYSTEM, Place::default(), format!("no thread for watching files: {error}"));
            Some(Watch::start(sender).map_err(failed)?)
        } else {
            None
        };
        let mut transforms = JoinSet::new();
        let moving = node.subscribe::<TFMessage>("/tf", Qos::best_effort(TRANSFORMS))?;
        let fixed = node.subscribe::<TFMessage>("/tf_static", Qos::latched(TRANSFORMS))?;
        let joint_states = node.subscribe::<JointState>("joint_states", Qos::best_effort(JOINT_STATES))?;
        let (tf, tf_static) = (moving.topic().to_owned(), fixed.topic().to_owned());
        let topics = Topics { moving: tf, fixed: tf_static, joints: joint_states.topic().to_owned() };
        let live = Arc::new(Mutex::new(Live::new(topics)));
        transforms.spawn(follow_joints(joint_states, live.clone(), site.clone()));
        site.follow_transforms({
            let live = live.clone();
            move || robots::transforms(lock(&live).tree(), Instant::now())
        });
        transforms.spawn(follow(moving, Topic::Moving, live.clone()));
        transforms.spawn(follow(fixed, Topic::Static, live.clone()));
        Ok(Self {
            descriptions: node.subscribe("robot_description", Qos::latched(DESCRIPTIONS))?,
            convert_calls: node.serve("convert")?,
            check_calls: node.serve("~/check_frames")?,
            announcers: HashMap::new(),
            first_announcer: Some(node.advertise("~/asset", Qos::latched(1))?),
            diagnostics: node.advertise("/diagnostics", Qos::reliable(10))?,
            period: period(parameters.diagnostics_period),
            schedule: Schedule::new(parameters.settle_time, parameters.workers),
            reading: Schedule::new(Duration::ZERO, 1),
            running: JoinSet::new(),
            calls: 0,
            attempts: 0,
            robots: BTreeMap::new(),
            judgements: BTreeMap::new(),
            newest: None,
            heard: None,
            waiting_checks: Vec::new(),
            node,
            parameters,
            changes,
            convert,
            site,
            live,
            watch,
            events,
            _transforms: transforms,
        })
    }

    /// Works until the node leaves the ROS graph.
    pub(super) async fn run(mut self) {
        tracing::info!("listening to {}, writing to {}", self.descriptions.topic(), self.parameters.output_dir.display());
        loop {
            self.start_due();
            // Reading is always due at once, so it needs no waking.
            let due = self.schedule.next_due().map(|due| tokio::time::sleep_until(due.into()));
            tokio::select! {
                heard = self.descriptions.next() => match heard {
                    Some(sample) => self.hear(sample),
                    None => return,
                },
                call = self.convert_calls.next() => match call {
                    Some(call) => self.queue_call(call),
                    None => return,
                },
                call = self.check_calls.next() => match call {
                    Some(call) => self.answer_check(call),
                    None => return,
                },
                Some(done) = self.running.join_next() => match done {
                    Ok(done) => self.finish(done),
                    // Workers catch panics; this is a runtime that ends.
                    Err(error) => tracing::debug!("a conversion was abandoned: {error}"),
                },
                Some(event) = self.events.recv(), if self.watch.is_some() => self.note(event),
                Some(change) = self.changes.next() => self.change(&change),
                _ = self.period.tick() => self.look_at_frames(),
                Some(()) = OptionFuture::from(due) => {}
            }
        }
    }

    /// Puts all work that is due on worker threads.
    fn start_due(&mut self) {
        while let Some((key, order)) = self.schedule.next(Instant::now()) {
            self.attempts += 1;
            let number = self.attempts;
            let convert = self.convert.clone();
            match order {
                Order::Source { job, heard_from } => {
                    let last = self.robots.get(&key).and_then(|robot| robot.fingerprint.clone());
                    self.running.spawn_blocking(move || {
                        let outcome = match attempt(job, last.as_ref(), &*convert) {
                            Some(attempt) => Outcome::Tried { attempt, heard_from, called: false },
                            None => Outcome::Unchanged,
                        };
                        Done::Order { key, number, outcome }
                    });
                }
                Order::Call { request, heard } => {
                    self.calls -= 1;
                    let (parameters, topic) = (self.parameters.clone(), self.descriptions.topic().to_owned());
                    self.running.spawn_blocking(move || {
                        let outcome = answer(request, heard, &parameters, &topic, &convert);
                        Done::Order { key, number, outcome }
                    });
                }
            }
        }
        while let Some((key, report)) = self.reading.next(Instant::now()) {
            self.running.spawn_blocking(move || {
                let entry = robots::entry(&report).unwrap_or_default();
                Done::Frames { key, frames: work::read_frames(&entry), report }
            });
        }
    }

    /// A description was published.
    fn hear(&mut self, sample: Sample<std_msgs::String>) {
        // What was changed before the description came holds for it.
        while let Some(change) = self.changes.try_next() {
            self.change(&change);
        }
        let text = sample.message.data;
        let key = self.key_of(&text, sample.publisher);
        tracing::debug!("heard a description of {key:?} ({})", request::size(text.len() as u64));
        let most = self.parameters.max_description_bytes;
        if text.len() > most {
            let message = format!("the description has {} bytes, more than {most}", text.len());
            let diagnostic = Diagnostic::new(&codes::DESCRIPTION_TOO_LARGE, Place::default(), message)
                .help("refer to meshes by package:// or file://, or raise the parameter max_description_bytes");
            self.refuse(key, sample.publisher, diagnostic);
            return;
        }
        let job = Arc::new(work::job(&self.parameters, Source::Text { text, file: None }));
        self.heard = Some(job.clone());
        let order = Order::Source { job, heard_from: Some(sample.publisher) };
        if self.schedule.replace(key.clone(), order, Instant::now()).is_some() {
            tracing::debug!("a newer description of {key:?} takes the place of one that waited");
        }
    }

    /// The key that a description's asset will have, as far as can be told before it is read.
    fn key_of(&self, text: &str, publisher: PublisherId) -> String {
        if let Some(name) = robot_name(text) {
            return convert::file_name(&name);
        }
        let before = self.robots.iter().find(|(_, robot)| robot.heard_from == Some(publisher));
        before.map_or_else(|| "robot".to_owned(), |(key, _)| key.clone())
    }

    /// A call of `convert` came.
    fn queue_call(&mut self, call: Request<interfaces::Convert>) {
        if self.calls >= MOST_CALLS {
            let diagnostic =
                Diagnostic::new(&codes::REQUEST, Place::default(), format!("{MOST_CALLS} calls are waiting already"))
                    .help("call again later");
            tell(call.responder.send(request::refusal(&diagnostic)));
            return;
        }
        // Conversions of one robot follow each other in the order in which they were asked for.
        let asked = &call.request;
        let name = match (&asked.urdf, &asked.uri) {
            (urdf, _) if !urdf.trim().is_empty() => {
                robot_name(urdf).map_or_else(|| "robot".to_owned(), |name| convert::file_name(&name))
            }
            (_, uri) if !uri.trim().is_empty() => format!("uri {uri}"),
            _ => match self.heard.as_ref().map(|job| &job.source) {
                Some(Source::Text { text, .. }) => self.key_of(text, PublisherId::default()),
                _ => "robot".to_owned(),
            },
        };
        let key = if asked.output_dir.trim().is_empty() { name } else { format!("{}/{name}", asked.output_dir) };
        self.calls += 1;
        self.schedule.push(key, Order::Call { request: call, heard: self.heard.clone() }, Instant::now());
    }

    /// A worker is done.
    fn finish(&mut self, done: Done) {
        match done {
            Done::Order { key, number, outcome } => {
                self.schedule.finished(&key);
                self.finish_order(key, number, outcome);
            }
            Done::Frames { key, report, frames } => {
                self.reading.finished(&key);
                self.take_frames(&key, &report, frames);
            }
        }
    }

    fn finish_order(&mut self, key: String, number: u64, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged => tracing::debug!("{key:?}: neither the description nor a file changed"),
            Outcome::Refused => {}
            Outcome::Tried { attempt, heard_from, called } => match &attempt.result {
                Ok(report) => {
                    let key = asset_key(&self.parameters.output_dir, &report.directory);
                    self.wrote(key, number, attempt, heard_from);
                }
                // The caller was told; nothing of the node's own has failed.
                Err(_) if called => {}
                Err(_) => self.failed(key, number, attempt, heard_from),
            },
        }
    }

    /// The frames of an asset were read back.
    fn take_frames(&mut self, key: &str, report: &Report, frames: Result<Arc<[AssetFrame]>, String>) {
        let asset = self.robots.get_mut(key).and_then(|robot| robot.asset.as_mut());
        // Another revision may have come meanwhile: its frames are read next.
        let Some(asset) = asset.filter(|asset| asset.report.revision == report.revision) else { return };
        if let Err(reason) = &frames {
            tracing::error!("the frames of {:?} cannot be read back: {reason}", report.robot);
        }
        asset.frames = Frames::Read(frames);
        self.judge_and_tell(key);
        // Even if nothing was heard yet that they could be judged by.
        self.show(key);
        self.publish_diagnostics();
        self.answer_waiting_checks();
    }

    fn answer_waiting_checks(&mut self) {
        for call in std::mem::take(&mut self.waiting_checks) {
            self.answer_check(call);
        }
    }

    /// An asset was written, or found current.
    fn wrote(&mut self, key: String, number: u64, attempt: Attempt, heard_from: Option<PublisherId>) {
        let Ok(report) = attempt.result else { return };
        let before = self.robots.get(&key);
        if let Some(other) = before.filter(|robot| robot.name != report.robot && robot.asset.is_some()) {
            let directory = report.directory.display();
            tracing::warn!(
                "{:?} takes the place of {:?} in {directory}: give robots different names",
                report.robot,
                other.name
            );
        }
        let known = before.and_then(|robot| robot.asset.as_ref()).filter(|asset| asset.report.revision == report.revision);
        let frames = match known {
            Some(asset) => {
                tracing::debug!("{}", request::summary(&report));
                asset.frames.clone()
            }
            None => {
                self.announce(&key, &report);
                self.begin_reading(&key, &report)
            }
        };
        if let Some(mut robot) = self.robots.remove(&key)
            && robot.attempt > number
        {
            // A newer source was there first, and now this older one is on disk.
            (robot.asset, robot.fingerprint) = (Some(Written { report, frames }), None);
            self.settle(key.clone(), robot);
            self.convert_again(&key);
            return;
        }
        self.forget_renamed(&key, heard_from);
        let robot = Robot {
            name: report.robot.clone(),
            job: attempt.job,
            attempt: number,
            fingerprint: Some(attempt.fingerprint),
            outcome: Ok(()),
            time: self.node.now(),
            took: attempt.took,
            heard_from,
            used: report.used.clone(),
            asset: Some(Written { report, frames }),
        };
        self.newest = Some(key.clone());
        self.settle(key, robot);
    }

    /// A source could not be converted. The last good asset stays.
    fn failed(&mut self, key: String, number: u64, attempt: Attempt, heard_from: Option<PublisherId>) {
        let Err(failure) = attempt.result else { return };
        let before = self.robots.remove(&key);
        if before.as_ref().is_some_and(|robot| robot.attempt > number) {
            self.robots.extend(before.map(|robot| (key, robot)));
            return;
        }
        let (name, asset) = before.map_or_else(|| (key.clone(), None), |robot| (robot.name, robot.asset));
        let stays = asset.as_ref().map_or(String::new(), |asset| format!("; revision {} stays", asset.report.revision));
        tracing::error!("{name:?} was not converted{stays}");
        log(&failure.diagnostics);
        self.forget_renamed(&key, heard_from);
        let robot = Robot {
            name,
            job: attempt.job,
            attempt: number,
            fingerprint: Some(attempt.fingerprint),
            outcome: Err(failure.diagnostics),
            time: self.node.now(),
            took: attempt.took,
            heard_from,
            used: failure.used,
            asset,
        };
        self.settle(key, robot);
    }

    /// A description is refused before it is tried.
    fn refuse(&mut self, key: String, publisher: PublisherId, diagnostic: Diagnostic) {
        tracing::error!("{key:?}: {diagnostic}");
        let mut robot = self.robots.remove(&key).unwrap_or_else(|| Robot {
            name: key.clone(),
            job: Arc::new(work::job(&self.parameters, Source::Text { text: String::new(), file: None })),
            attempt: 0,
            fingerprint: None,
            outcome: Ok(()),
            time: self.node.now(),
            took: Duration::ZERO,
            heard_from: Some(publisher),
            used: Vec::new(),
            asset: None,
        });
        // The last good description is taken again if it is published again.
        (robot.fingerprint, robot.outcome, robot.time) = (None, Err(vec![diagnostic]), self.node.now());
        self.settle(key, robot);
    }

    /// A publisher whose description failed under one name and goes on under another leaves no robot behind.
    fn forget_renamed(&mut self, key: &str, heard_from: Option<PublisherId>) {
        if heard_from.is_none() {
            return;
        }
        let gone: Vec<String> = self
            .robots
            .iter()
            .filter(|(other, robot)| *other != key && robot.asset.is_none() && robot.heard_from == heard_from)
            .map(|(other, _)| other.clone())
            .collect();
        for other in gone {
            self.robots.remove(&other);
            self.judgements.remove(&other);
            self.site.hide(&other);
        }
    }

    /// Takes a robot's new state, and tells everyone.
    fn settle(&mut self, key: String, robot: Robot) {
        let event = serde_json::json!({
            "robot": robot.name,
            "key": key,
            "revision": robot.asset.as_ref().map(|asset| asset.report.revision),
            "state": robot.state(),
            "message": robot.message(),
        });
        self.robots.insert(key.clone(), robot);
        self.judge(&key);
        self.show(&key);
        self.site.tell("diagnostics", &event);
        self.publish_diagnostics();
        self.answer_waiting_checks();
        if let Some(watch) = &self.watch {
            watch.set(self.robots.values().flat_map(|robot| &robot.used).cloned().collect());
        }
    }

    fn show(&self, key: &str) {
        if let Some(robot) = self.robots.get(key) {
            let findings = self.judgements.get(key).map(|judgement| judgement.findings.as_slice());
            let frames = match robot.asset.as_ref().map(|asset| &asset.frames) {
                Some(Frames::Read(Ok(frames))) => robots::all_frames(frames, findings),
                _ => Vec::new(),
            };
            self.site.show(robot.view(key, findings.map(robots::frames_view)), frames);
        }
    }

    /// Has the frames of a new revision read back.
    fn begin_reading(&mut self, key: &str, report: &Arc<Report>) -> Frames {
        if robots::entry(report).is_none() {
            return Frames::None;
        }
        self.reading.replace(key.to_owned(), report.clone(), Instant::now());
        Frames::Pending
    }

    /// Publishes a new revision.
    fn announce(&mut self, key: &str, report: &Report) {
        tracing::info!("{}", request::summary(report));
        log(&report.diagnostics);
        let announcer = match self.announcers.get(key) {
            Some(announcer) => announcer.clone(),
            None => {
                let first = self.first_announcer.take().map_or_else(|| self.node.advertise("~/asset", Qos::latched(1)), Ok);
                match first {
                    Ok(announcer) => self.announcers.entry(key.to_owned()).or_insert(announcer).clone(),
                    Err(error) => return tracing::error!("{error}"),
                }
            }
        };
        tell(announcer.publish(robots::announcement(report, self.node.now())));
        let event = serde_json::json!({ "robot": report.robot, "key": key, "revision": report.revision });
        self.site.tell("revision", &event);
    }

    /// A parameter was changed: it holds from the next conversion, check or message on.
    fn change(&mut self, change: &Change) {
        tracing::debug!("{} is now {}", change.name, change.value);
        let before = self.parameters.diagnostics_period;
        self.parameters.apply(change);
        self.schedule.set_settle(self.parameters.settle_time);
        if self.parameters.diagnostics_period != before {
            self.period = period(self.parameters.diagnostics_period);
        }
    }

    fn limits(&self) -> Limits {
        let Parameters { position_tolerance: position, angle_tolerance: angle, frame_timeout: timeout, .. } = self.parameters;
        Limits { position, angle, timeout }
    }

    /// Something happened to files.
    fn note(&mut self, event: Event) {
        match event {
            Event::Trouble(diagnostic) => tracing::warn!("{diagnostic}"),
            Event::Changed(paths) => {
                let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
                let uses = |robot: &Robot| robot.used.iter().any(|path| paths.contains(path));
                let keys: Vec<String> =
                    self.robots.iter().filter(|(_, robot)| uses(robot)).map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.convert_again(&key);
                }
            }
        }
    }

    /// Converts a robot's newest source again, if anything changed.
    fn convert_again(&mut self, key: &str) {
        if let Some(robot) = self.robots.get(key) {
            let order = || Order::Source { job: robot.job.clone(), heard_from: robot.heard_from };
            self.schedule.ensure(key, order, Instant::now());
        }
    }

    /// Holds a robot's frames against TF, if its asset has any.
    fn judge(&mut self, key: &str) -> News {
        let gone = |before: Option<Judgement>| if before.is_some() { News::Verdicts } else { News::None };
        let frames = self.robots.get(key).and_then(|robot| robot.asset.as_ref()).map(|asset| &asset.frames);
        let Some(Frames::Read(Ok(frames))) = frames else { return gone(self.judgements.remove(key)) };
        let live = lock(&self.live);
        if live.tree().is_empty() {
            return News::None;
        }
        let judgement = judge(frames, &[], &live, &[], &self.limits(), Instant::now());
        drop(live);
        let verdicts = |j: &Judgement| j.findings.iter().map(|f| (f.frame.clone(), f.verdict)).collect::<Vec<_>>();
        let news = match self.judgements.get(key) {
            Some(before) if *before == judgement => News::None,
            Some(before) if verdicts(before) == verdicts(&judgement) => News::Details,
            _ => News::Verdicts,
        };
        self.judgements.insert(key.to_owned(), judgement);
        news
    }

    /// Holds a robot's frames against TF, shows what was found, and tells if a verdict changed.
    fn judge_and_tell(&mut self, key: &str) {
        let news = self.judge(key);
        if news != News::None {
            self.show(key);
        }
        if news == News::Verdicts {
            let findings = self.judgements.get(key).map_or(&[][..], |judgement| &judgement.findings);
            let ok = findings.iter().filter(|f| f.verdict == Verdict::Ok).count();
            self.site.tell("frames", &serde_json::json!({ "key": key, "ok": ok, "total": findings.len() }));
        }
    }

    /// The regular look at all frames.
    fn look_at_frames(&mut self) {
        let keys: Vec<String> = self.robots.keys().cloned().collect();
        for key in keys {
            self.judge_and_tell(&key);
        }
        self.publish_diagnostics();
    }

    fn publish_diagnostics(&self) {
        let node = self.node.name();
        let mut status = Vec::with_capacity(2 * self.robots.len().max(1));
        if self.robots.is_empty() {
            let message = format!("no robot description heard on {} yet", self.descriptions.topic());
            status.push(robots::unheard(node, "conversion", message));
        }
        for (key, robot) in &self.robots {
            status.push(robot.conversion_status(node, key));
            let frames = robot.asset.as_ref().map(|asset| &asset.frames);
            match (frames, self.judgements.get(key)) {
                (Some(Frames::Read(Ok(_))), Some(judgement)) => {
                    status.push(robots::frames_status(node, key, robot, judgement));
                }
                (Some(Frames::Read(Ok(_))), None) => {
                    let message = "nothing heard on /tf and /tf_static yet".to_owned();
                    status.push(robots::unheard(node, &format!("frames of {key}"), message));
                }
                (Some(Frames::Read(Err(reason))), _) => status.push(robots::unreadable_frames(node, key, robot, reason)),
                _ => {}
            }
        }
        tell(
            self.diagnostics
                .publish(DiagnosticArray { header: Header { stamp: self.node.now(), ..Header::default() }, status }),
        );
    }

    /// Answers a call of `~/check_frames`, or keeps it until the frames are read.
    fn answer_check(&mut self, call: Request<interfaces::CheckFrames>) {
        match self.check_frames(&call.request) {
            Some(response) => tell(call.responder.send(response)),
            None if self.waiting_checks.len() < MOST_CALLS => self.waiting_checks.push(call),
            None => {
                let message = format!("{MOST_CALLS} calls are waiting already; call again later");
                tell(call.responder.send(CheckFramesResponse { message, ..CheckFramesResponse::default() }));
            }
        }
    }

    /// The answer to `~/check_frames`; `None` while the asset is still being read back.
    fn check_frames(&self, request: &CheckFramesRequest) -> Option<CheckFramesResponse> {
        let refuse = |message: String| Some(CheckFramesResponse { message, ..CheckFramesResponse::default() });
        let asked = request.robot.trim();
        let key = if asked.is_empty() {
            self.newest.as_ref()
        } else {
            let by_name = || self.robots.iter().find(|(_, robot)| robot.name == asked).map(|(key, _)| key);
            self.robots.get_key_value(asked).map(|(key, _)| key).or_else(by_name)
        };
        let Some(robot) = key.and_then(|key| self.robots.get(key)) else {
            let known: Vec<&str> = self.robots.keys().map(String::as_str).collect();
            return refuse(match (asked, known.is_empty()) {
                (_, true) => {
                    format!("no robot was converted yet; is a description published on {}?", self.descriptions.topic())
                }
                (asked, false) => format!("no robot {asked:?}; robots are {}", known.join(", ")),
            });
        };
        let Some(asset) = &robot.asset else {
            return refuse(format!("{:?} has no asset: {}", robot.name, robot.message()));
        };
        let frames = match &asset.frames {
            Frames::Pending => return None,
            Frames::None => return refuse(format!("the asset of {:?} has no USD, so it declares no frames", robot.name)),
            Frames::Read(Ok(frames)) => frames,
            Frames::Read(Err(reason)) => return refuse(format!("the frames of {:?} cannot be read: {reason}", robot.name)),
        };
        let Judgement { findings, causes } =
            judge(frames, &request.frames, &lock(&self.live), &[], &self.limits(), Instant::now());
        let wrong = findings.iter().filter(|finding| finding.verdict != Verdict::Ok).count();
        let cause: String = causes.iter().map(|cause| format!("; {cause}")).collect();
        Some(CheckFramesResponse {
            success: true,
            message: match wrong {
                0 => format!("all {} frames are as the asset says", findings.len()),
                _ => format!("{wrong} of {} frames are not as the asset says{cause}", findings.len()),
            },
            all_ok: wrong == 0,
            robot: robot.name.clone(),
            revision: asset.report.revision,
            frames: findings.into_iter().map(Into::into).collect(),
        })
    }
}

/// Converts for a caller and answers.
fn answer(
    call: Request<interfaces::Convert>,
    heard: Option<Arc<Job>>,
    parameters: &Parameters,
    topic: &str,
    convert: &Arc<Convert>,
) -> Outcome {
    let Request { request, responder } = call;
    let job = match request::job(&request, parameters, heard.as_ref(), topic) {
        Ok(job) => job,
        Err(diagnostic) => {
            tracing::warn!("a call of convert is refused: {}", diagnostic.message);
            tell(responder.send(request::refusal(&diagnostic)));
            return Outcome::Refused;
        }
    };
    drop(request);
    // A call asks for a conversion, so there is no last one to compare with.
    let Some(attempt) = attempt(job, None, &**convert) else { return Outcome::Refused };
    let response = match &attempt.result {
        Ok(report) => request::answer(Ok(report)),
        Err(failure) => {
            tracing::warn!("a call of convert failed: {}", request::first(&failure.diagnostics));
            request::answer(Err(failure))
        }
    };
    tell(responder.send(response));
    Outcome::Tried { attempt, heard_from: None, called: true }
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    // What is heard is whole at every step.
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes transforms in as they come.
async fn follow(mut transforms: Subscription<TFMessage>, topic: Topic, live: Arc<Mutex<Live>>) {
    while let Some(sample) = transforms.next().await {
        let now = Instant::now();
        lock(&live).hear_transforms(topic, &sample.message.transforms, sample.publisher, now);
    }
}

/// Shows joint states as they come, and that they do not come any more.
async fn follow_joints(mut states: Subscription<JointState>, live: Arc<Mutex<Live>>, site: Arc<Site>) {
    // Until when positions count as live; `None` while there are none.
    let mut until = None;
    loop {
        let silence = OptionFuture::from(until.map(tokio::time::sleep_until));
        tokio::select! {
            next = states.next() => {
                let Some(next) = next else { return };
                lock(&live).hear_joints(&next.message, next.publisher, Instant::now());
                let JointState { header, name, position, .. } = next.message;
                // A publisher of velocities alone gives no positions; of arrays of different lengths the common part counts.
                if site.hear_joints(header.stamp.seconds(), name.iter().map(String::as_str).zip(position)) {
                    until = Some(tokio::time::Instant::now() + SILENCE);
                }
            }
            Some(()) = silence => {
                until = None;
                site.end_joints();
            }
        }
    }
}

/// Where an asset is below the output directory: its key.
fn asset_key(output_dir: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(output_dir).unwrap_or(directory);
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
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

/// Logs findings, the worst first: of each kind a few, since a missing package makes one per mesh.
fn log(diagnostics: &[Diagnostic]) {
    let mut shown: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.severity > Severity::Info).collect();
    shown.sort_by_key(|d| std::cmp::Reverse(d.severity));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for diagnostic in shown {
        let count = counts.entry(diagnostic.code).or_default();
        *count += 1;
        if *count > MOST_LOGGED {
            continue;
        }
        match diagnostic.severity {
            Severity::Error => tracing::error!("{diagnostic}"),
            _ => tracing::warn!("{diagnostic}"),
        }
    }
    for (code, count) in counts.iter().filter(|(_, count)| **count > MOST_LOGGED) {
        tracing::warn!("and {} more of {code}: the report has all", count - MOST_LOGGED);
    }
}

#[cfg(test)]
mod tests;
