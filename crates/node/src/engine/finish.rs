//! Completion of conversions: updates the robot's state, publishes it, and handles robots that
//! leave and return.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::{Engine, Outcome, asset_key, jobs, log, log_unsent, request};
use crate::description_source::{Origin, RobotNamespace};
use crate::jobs::Attempt;
use crate::robots::{self, Frames, Gone, Robot, Written};
use urdf_usd_convert::{Report, Source};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_messages::Asset;
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::{Node, Publisher, PublisherId, Qos};
use urdf_usd_serve::redact;

/// Maximum number of remembered robots that have left or were described only by a call.
const MAX_IDLE_ROBOTS: usize = 256;
/// Maximum bytes of the descriptions of these robots.
const MAX_IDLE_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

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
                            self.publishers.record_key(publisher, &expected, &key);
                        }
                        self.record_file_attempt(&origin, &key, &report.used);
                        let found = report.clone();
                        self.finish_written(
                            key.clone(),
                            number,
                            *attempt,
                            robot_namespace,
                            origin,
                            heard_from,
                        );
                        // Last, because it clears the fingerprint that `finish_written` has set.
                        self.record_starvation(&key, &found.diagnostics);
                    }
                    // The caller has the response; the node itself has not failed.
                    Err(_) if called => {}
                    Err(failure) => {
                        self.record_file_attempt(&origin, &key, &failure.used);
                        let found = failure.diagnostics.clone();
                        self.finish_failed(
                            key.clone(),
                            number,
                            *attempt,
                            robot_namespace,
                            origin,
                            heard_from,
                        );
                        self.record_starvation(&key, &found);
                    }
                }
            }
        }
    }

    /// Takes a successful conversion: an asset that was written or found current.
    fn finish_written(
        &mut self,
        key: String,
        number: u64,
        attempt: Attempt,
        robot_namespace: RobotNamespace,
        origin: Origin,
        heard_from: Option<PublisherId>,
    ) {
        let Ok(report) = attempt.result else { return };
        self.asset_paths.record_written(&key);
        if origin == Origin::Call && self.is_running_from_another(&key, &attempt.job.source) {
            tracing::warn!(
                "a call of convert has overwritten the asset of the running robot {key:?}, whose own description is converted again: \
                 pass an output_dir to keep both"
            );
            if let Some(robot) = self.robots.get_mut(&key) {
                robot.fingerprint = None;
            }
            self.convert_again(&key);
            return;
        }
        let before = self.robots.remove(&key);
        if let Some(other) = before
            .as_ref()
            .filter(|robot| robot.name != report.robot && robot.asset.is_some())
        {
            let directory = report.directory.display();
            tracing::warn!(
                "{:?} replaces {:?} in {directory}: give the robots different names",
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
                // The conversion found this revision current: it is announced and read already.
                tracing::debug!("{}", request::summary(&report));
                asset.frames.clone()
            }
            None => {
                // The conversion has put all files into place at once, so subscribers can open
                // them.
                self.announce(&key, &mut robot, &report);
                self.uploads.push(&key, &report);
                self.begin_reading(&key, robot.asset.as_ref(), &report)
            }
        };
        robot.asset = Some(Written {
            report: report.clone(),
            frames,
        });
        if robot.attempt > number {
            // This conversion started before the one that finished first, yet it was written last:
            // convert the newer source again.
            robot.fingerprint = None;
            self.insert(key.clone(), robot);
            self.convert_again(&key);
            return;
        }
        // A call does not change where the robot is described. A robot that left during its
        // conversion stays gone: only another message brings it back.
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
        // Calls convert without captured interfaces, and the snapshot may have changed meanwhile.
        let is_behind = robot.gone.is_none()
            && self
                .captured(&robot.robot_namespace, &robot.origin)
                .is_some_and(|captured| captured != robot.job.captured);
        let called = robot.origin == Origin::Call;
        self.insert(key.clone(), robot);
        self.begin_publishing(&origin, &report);
        if called {
            self.evict_idle();
        }
        if is_behind {
            self.convert_again(&key);
        }
    }

    /// Returns whether a robot runs that has another source.
    fn is_running_from_another(&self, key: &str, source: &Source) -> bool {
        self.robots
            .get(key)
            .is_some_and(|robot| robot.runs() && robot.job.source != *source)
    }

    /// Takes a failed conversion. The last good asset stays.
    fn finish_failed(
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
            // A newer source has been converted meanwhile, so this failure is outdated.
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
            format!("; revision {} is kept", asset.report.revision)
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
        // A killed conversion reports no inputs: keep the previous ones, whose changes trigger the
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

    /// Records a description that is refused without a conversion.
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
        // Without a fingerprint, the last good description is converted again when it is published
        // again.
        (robot.fingerprint, robot.outcome, robot.time) =
            (None, Err(vec![diagnostic]), self.node.now());
        self.insert(key, robot);
    }

    /// Forgets robots without an asset that the same publisher described under other names.
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

    /// Stores a robot's new state and publishes it.
    fn insert(&mut self, key: String, robot: Robot) {
        self.robots.insert(key.clone(), robot);
        self.schedule_graph_scan();
        // Before the state is published, which includes the verdicts.
        self.check_robot(&key);
        self.publish_state(&key);
        self.answer_waiting_checks();
        self.watch_soon();
    }

    /// Publishes a robot's state to the viewer and on `/diagnostics`.
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
            "message": redact(&self.parameters.output_dir, robots::OUTPUT, &robot.message()),
        });
        self.show(key);
        self.site.publish("diagnostics", &event);
        self.publish_status(key);
    }

    /// Marks a robot as gone: its asset stays, but its frames are no longer compared with TF.
    /// [`Engine::mark_returned`] is the inverse.
    pub(super) fn mark_gone(&mut self, key: &str, why: String) {
        let since = self.node.now();
        let Some(robot) = self.robots.get_mut(key) else {
            return;
        };
        robot.gone = Some(Gone { since, why });
        tracing::info!("{key:?} is gone: {}", robot.why_gone());
        // After a return, its conflicts are news again.
        robot.contested.clear();
        if robot.frame_check.take().is_some() {
            self.site.publish(
                "frames",
                &serde_json::json!({ "key": key, "ok": 0, "total": 0 }),
            );
        }
        self.site.forget_joints(key);
        self.publish_state(key);
        self.evict_idle();
        self.schedule_graph_scan();
    }

    /// Forgets the longest idle robots beyond the limits: an endless stream of names, or of calls,
    /// must not exhaust memory. O(n log n) in the number of idle robots.
    fn evict_idle(&mut self) {
        let idle = self.robots.iter().filter(|(_, robot)| !robot.runs());
        let mut idle: Vec<(Time, &String, usize)> = idle
            .map(|(key, robot)| {
                (
                    robot.gone.as_ref().map_or(robot.time, |gone| gone.since),
                    key,
                    jobs::text_bytes(&robot.job),
                )
            })
            .collect();
        // Longest idle first; the key breaks ties, so that the order is deterministic.
        idle.sort_unstable();
        let (mut count, mut bytes) = (
            idle.len(),
            idle.iter().map(|(_, _, bytes)| bytes).sum::<usize>(),
        );
        let mut forgotten = Vec::new();
        for (_, key, size) in idle {
            if count <= MAX_IDLE_ROBOTS && bytes <= MAX_IDLE_BYTES {
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

    /// Forgets a robot with all its state. Its place becomes free unless an asset is there.
    fn forget(&mut self, key: &str) {
        self.robots.remove(key);
        // The robot of the file keeps its place as long as the parameter names the file.
        if self.file.as_ref().is_none_or(|file| file.key != key) {
            self.asset_paths.release(key);
        }
        self.site.forget_joints(key);
        self.site.hide(key);
        self.uploads.forget(key);
    }

    /// Marks a robot as present, if it was gone.
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
            // Its publisher was dropped to make room.
            publish_asset(&*self.node, &mut self.first_announcer, robot, &report);
        }
        self.check_robot(key);
        self.publish_state(key);
        self.schedule_graph_scan();
    }

    /// Schedules reading back the frames of a new revision.
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
        // By the previous frames, a robot that still runs with the older description is recognised.
        Frames::Pending(match before.map(|asset| &asset.frames) {
            Some(Frames::Read(Ok(frames))) => Some(frames.clone()),
            Some(Frames::Pending(previous)) => previous.clone(),
            _ => None,
        })
    }

    /// Announces a new revision to ROS and to the viewer.
    fn announce(&mut self, key: &str, robot: &mut Robot, report: &Report) {
        tracing::info!("{}", request::summary(report));
        log(&report.diagnostics);
        publish_asset(&*self.node, &mut self.first_announcer, robot, report);
        let event =
            serde_json::json!({ "robot": report.robot, "key": key, "revision": report.revision });
        self.site.publish("revision", &event);
    }
}

/// Publishes a robot's asset. `first` is the publisher that the first robot takes over.
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
    log_unsent(announcer.publish(robots::announcement(report, node.now())));
    // Late subscribers receive the latched message only while its publisher exists.
    robot.announcer = Some(announcer);
}
