//! What becomes of a conversion: a robot's new state, told to everyone; and robots that leave and
//! come back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::{Engine, Outcome, asset_key, jobs, log, request, tell};
use crate::description_source::{Origin, RobotNamespace};
use crate::jobs::Attempt;
use crate::robots::{self, Frames, Robot, Written};
use urdf_usd_convert::{Report, Source};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_messages::Asset;
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::{Node, Publisher, PublisherId, Qos};

/// How many robots that are gone, or that nobody but a call described, are remembered …
const MOST_GONE: usize = 256;
/// … and how many bytes their descriptions may have together.
const MOST_GONE_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

impl<N: Node> Engine<N> {
    pub(super) fn finish_order(&mut self, mut key: String, number: u64, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged => {
                tracing::debug!("{key:?}: neither the description nor a file changed")
            }
            Outcome::Refused => {}
            Outcome::Tried {
                attempt,
                robot_namespace,
                origin,
                heard_from,
            } => {
                let called = origin == Origin::Call;
                match &attempt.result {
                    Ok(report) => {
                        let expected = std::mem::replace(
                            &mut key,
                            asset_key(&self.parameters.output_dir, &report.directory),
                        );
                        if let Some(publisher) = heard_from {
                            self.publishers.meant(publisher, &expected, &key);
                        }
                        self.tried_file(&origin, &key, &report.used);
                        let found = report.clone();
                        self.wrote(
                            key.clone(),
                            number,
                            *attempt,
                            robot_namespace,
                            origin,
                            heard_from,
                        );
                        self.note_starved(&key, &found.diagnostics);
                    }
                    // The caller was told; nothing of the node's own has failed.
                    Err(_) if called => {}
                    Err(failure) => {
                        self.tried_file(&origin, &key, &failure.used);
                        let found = failure.diagnostics.clone();
                        self.failed(
                            key.clone(),
                            number,
                            *attempt,
                            robot_namespace,
                            origin,
                            heard_from,
                        );
                        self.note_starved(&key, &found);
                    }
                }
            }
        }
    }

    /// An asset was written, or found current.
    fn wrote(
        &mut self,
        key: String,
        number: u64,
        attempt: Attempt,
        robot_namespace: RobotNamespace,
        origin: Origin,
        heard_from: Option<PublisherId>,
    ) {
        let Ok(report) = attempt.result else { return };
        self.asset_paths.note(&key);
        let before = self.robots.remove(&key);
        if let Some(other) = before
            .as_ref()
            .filter(|robot| robot.name != report.robot && robot.asset.is_some())
        {
            let directory = report.directory.display();
            tracing::warn!(
                "{:?} takes the place of {:?} in {directory}: give robots different names",
                report.robot,
                other.name
            );
        }
        let new = || {
            Robot::new(
                report.robot.clone(),
                attempt.job.clone(),
                robot_namespace.clone(),
                origin.clone(),
                heard_from,
            )
        };
        let mut robot = before.unwrap_or_else(new);
        let known = robot
            .asset
            .as_ref()
            .filter(|asset| asset.report.revision == report.revision);
        let frames = match known {
            Some(asset) => {
                tracing::debug!("{}", request::summary(&report));
                asset.frames.clone()
            }
            None => {
                self.announce(&key, &mut robot, &report);
                self.begin_reading(&key, robot.asset.as_ref(), &report)
            }
        };
        robot.asset = Some(Written {
            report: report.clone(),
            frames,
        });
        if robot.attempt > number {
            // A newer source was there first, and now this older one is on disk.
            robot.fingerprint = None;
            self.insert(key.clone(), robot);
            self.convert_again(&key);
            return;
        }
        // Whoever asks for the asset of a robot that is described elsewhere changes nothing about
        // where that is. One that left while it was converted is still gone: hearing of it again is
        // what brings it back.
        if origin != Origin::Call {
            (robot.robot_namespace, robot.origin, robot.heard_from) =
                (robot_namespace, origin.clone(), heard_from);
        }
        self.forget_renamed(&key, &robot.origin, robot.heard_from);
        report.robot.clone_into(&mut robot.name);
        report.used.clone_into(&mut robot.used);
        (robot.job, robot.attempt, robot.fingerprint) =
            (attempt.job, number, Some(attempt.fingerprint));
        (robot.outcome, robot.time, robot.took) = (Ok(()), self.node.now(), attempt.took);
        // A call converts without what was captured, and more may have been seen meanwhile.
        let is_behind = robot.gone.is_none()
            && self
                .captured(&robot.robot_namespace, &robot.origin)
                .is_some_and(|captured| captured != robot.job.captured);
        self.newest = Some(key.clone());
        let called = robot.origin == Origin::Call;
        self.insert(key.clone(), robot);
        self.begin_publishing(&origin, &report);
        if called {
            self.forget_longest_gone();
        }
        if is_behind {
            self.convert_again(&key);
        }
    }

    /// A source could not be converted. The last good asset stays.
    fn failed(
        &mut self,
        key: String,
        number: u64,
        attempt: Attempt,
        robot_namespace: RobotNamespace,
        origin: Origin,
        heard_from: Option<PublisherId>,
    ) {
        let Err(failure) = attempt.result else { return };
        let before = self.robots.remove(&key);
        if before.as_ref().is_some_and(|robot| robot.attempt > number) {
            self.robots.extend(before.map(|robot| (key, robot)));
            return;
        }
        let new = || {
            Robot::new(
                key.clone(),
                attempt.job.clone(),
                robot_namespace.clone(),
                origin.clone(),
                heard_from,
            )
        };
        let mut robot = before.unwrap_or_else(new);
        let stays = robot.asset.as_ref().map_or(String::new(), |asset| {
            format!("; revision {} stays", asset.report.revision)
        });
        tracing::error!("{:?} was not converted{stays}", robot.name);
        log(&failure.diagnostics);
        self.forget_renamed(&key, &origin, heard_from);
        (robot.robot_namespace, robot.origin, robot.heard_from) =
            (robot_namespace, origin, heard_from);
        (robot.job, robot.attempt, robot.fingerprint) =
            (attempt.job, number, Some(attempt.fingerprint));
        (robot.outcome, robot.time, robot.took) =
            (Err(failure.diagnostics), self.node.now(), attempt.took);
        // A killed conversion reports no inputs; keep the previous ones, whose changes trigger the
        // next attempt.
        let before = std::mem::replace(&mut robot.used, failure.used);
        if robot.is_set_aside() {
            let known: BTreeSet<&PathBuf> = robot.used.iter().collect();
            let more: Vec<PathBuf> = before
                .iter()
                .filter(|path| !known.contains(path))
                .cloned()
                .collect();
            robot.used.extend(more);
        }
        self.insert(key, robot);
    }

    /// A description is refused before it is tried.
    pub(super) fn refuse(
        &mut self,
        key: String,
        robot_namespace: RobotNamespace,
        origin: Origin,
        publisher: Option<PublisherId>,
        diagnostic: Diagnostic,
    ) {
        tracing::error!("{key:?}: {diagnostic}");
        let mut robot = self.robots.remove(&key).unwrap_or_else(|| {
            let job = self.job(
                Source::Text {
                    text: "".into(),
                    file: None,
                },
                &robot_namespace,
                &key,
            );
            Robot::new(key.clone(), job, robot_namespace, origin, publisher)
        });
        // The last good description is taken again if it is published again.
        (robot.fingerprint, robot.outcome, robot.time) =
            (None, Err(vec![diagnostic]), self.node.now());
        self.insert(key, robot);
    }

    /// A publisher whose description failed under one name and goes on under another leaves no
    /// robot behind.
    fn forget_renamed(&mut self, key: &str, origin: &Origin, heard_from: Option<PublisherId>) {
        if *origin == Origin::Call {
            return;
        }
        let is_same = |robot: &Robot| {
            robot.asset.is_none() && robot.origin == *origin && robot.heard_from == heard_from
        };
        let gone = self
            .robots
            .iter()
            .filter(|(other, robot)| *other != key && is_same(robot));
        let gone: Vec<String> = gone.map(|(other, _)| other.clone()).collect();
        for other in gone {
            self.forget(&other);
        }
    }

    /// Takes a robot's new state, and tells everyone.
    fn insert(&mut self, key: String, robot: Robot) {
        self.robots.insert(key.clone(), robot);
        self.schedule_graph_scan();
        self.check_robot(&key);
        self.publish_state(&key);
        self.answer_waiting_checks();
        self.watch_soon();
    }

    /// Shows a robot's state to everyone.
    fn publish_state(&self, key: &str) {
        let Some(robot) = self.robots.get(key) else {
            return;
        };
        let event = serde_json::json!({
            "robot": robot.name,
            "key": key,
            "revision": robot.asset.as_ref().map(|asset| asset.report.revision),
            "state": robot.state(),
            "presence": robot.presence(),
            "message": robots::without(&self.parameters.output_dir, robot.message()),
        });
        self.show(key);
        self.site.tell("diagnostics", &event);
        self.publish_status(key);
    }

    /// A robot left: its asset stays, and it is no longer held against TF. Whatever is done for a
    /// robot while it is there ends here …
    pub(super) fn mark_gone(&mut self, key: &str) {
        let now = self.node.now();
        let Some(robot) = self.robots.get_mut(key) else {
            return;
        };
        robot.gone = Some(now);
        tracing::info!("{key:?} is gone: {}", robot.why_gone());
        robot.contested.clear();
        if robot.frame_check.take().is_some() {
            self.site.tell(
                "frames",
                &serde_json::json!({ "key": key, "ok": 0, "total": 0 }),
            );
        }
        self.site.forget_joints(key);
        self.publish_state(key);
        self.forget_longest_gone();
        self.schedule_graph_scan();
    }

    /// Robots that come under new names all the time, and those that calls made, must not fill the
    /// memory.
    fn forget_longest_gone(&mut self) {
        let idle = self.robots.iter().filter(|(_, robot)| !robot.runs());
        let mut idle: Vec<(Time, &String, usize)> = idle
            .map(|(key, robot)| {
                (
                    robot.gone.unwrap_or(robot.time),
                    key,
                    jobs::text_bytes(&robot.job),
                )
            })
            .collect();
        idle.sort_unstable();
        let (mut count, mut bytes) = (
            idle.len(),
            idle.iter().map(|(_, _, bytes)| bytes).sum::<usize>(),
        );
        let mut forgotten = Vec::new();
        for (_, key, size) in idle {
            if count <= MOST_GONE && bytes <= MOST_GONE_BYTES {
                break;
            }
            (count, bytes) = (count - 1, bytes - size);
            forgotten.push(key.clone());
        }
        for key in forgotten {
            tracing::debug!("{key:?} is forgotten; its asset stays");
            self.forget(&key);
        }
    }

    /// Forgets a robot: all that is kept for it goes with it, and its place is free unless an asset
    /// lies there.
    fn forget(&mut self, key: &str) {
        self.robots.remove(key);
        if self.file.as_ref().is_none_or(|file| file.key != key) {
            self.asset_paths.release(key);
        }
        if self.newest.as_deref() == Some(key) {
            self.newest = None;
        }
        self.site.forget_joints(key);
        self.site.hide(key);
    }

    /// … and begins again here, if it was gone.
    pub(super) fn mark_returned(&mut self, key: &str) {
        let Some(robot) = self
            .robots
            .get_mut(key)
            .filter(|robot| robot.gone.is_some())
        else {
            return;
        };
        robot.gone = None;
        tracing::info!("{key:?} is back");
        let report = robot.asset.as_ref().map(|asset| asset.report.clone());
        if let Some(report) = report.filter(|_| robot.announcer.is_none()) {
            // It was withdrawn to make room.
            publish_asset(&*self.node, &mut self.first_announcer, robot, &report);
        }
        self.check_robot(key);
        self.publish_state(key);
        self.schedule_graph_scan();
    }

    /// Has the frames of a new revision read back.
    fn begin_reading(
        &mut self,
        key: &str,
        before: Option<&Written>,
        report: &Arc<Report>,
    ) -> Frames {
        if report.file(robots::ENTRY).is_none() {
            return Frames::None;
        }
        self.reading
            .replace(key.to_owned(), report.clone(), Instant::now());
        Frames::Pending(match before.map(|asset| &asset.frames) {
            Some(Frames::Read(Ok(frames))) => Some(frames.clone()),
            Some(Frames::Pending(previous)) => previous.clone(),
            _ => None,
        })
    }

    /// Publishes a new revision.
    fn announce(&mut self, key: &str, robot: &mut Robot, report: &Report) {
        tracing::info!("{}", request::summary(report));
        log(&report.diagnostics);
        publish_asset(&*self.node, &mut self.first_announcer, robot, report);
        let event =
            serde_json::json!({ "robot": report.robot, "key": key, "revision": report.revision });
        self.site.tell("revision", &event);
    }
}

/// Publishes a robot's asset. `first`: what stands for the topic until the first robot takes it.
fn publish_asset(
    node: &impl Node,
    first: &mut Option<Publisher<Asset>>,
    robot: &mut Robot,
    report: &Report,
) {
    let announcer = match robot.announcer.take() {
        Some(announcer) => announcer,
        None => match first
            .take()
            .map_or_else(|| node.advertise("~/asset", Qos::latched(1)), Ok)
        {
            Ok(announcer) => announcer,
            Err(error) => return tracing::error!("{error}"),
        },
    };
    tell(announcer.publish(robots::announcement(report, node.now())));
    robot.announcer = Some(announcer);
}
