//! Compares the frames of assets with TF: periodically, on request, and for `/diagnostics`.

use std::sync::Arc;
use std::time::Instant;

use super::{Engine, MAX_WAITING_CALLS, interfaces, log_unsent};
use crate::robots::{self, Frames, Robot};
use crate::{ros_time, tf_messages};
use urdf_usd_convert::Report;
use urdf_usd_messages::{CheckFramesRequest, CheckFramesResponse};
use urdf_usd_ros::msg::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
use urdf_usd_ros::msg::std_msgs::Header;
use urdf_usd_ros::{Node, Request};
use urdf_usd_tf_check::{Cause, CauseKind, Expected, FrameCheck, FrameStatus, check_frames};

/// Maximum number of robots with details in each periodic message on `/diagnostics`. Beyond it,
/// robots without a fault have a summary only; their details are published with every change.
const MAX_DETAILED: usize = 20;
/// Approximate maximum size of a message, in bytes of statuses: it fits in a UDP datagram.
const MAX_MESSAGE_BYTES: usize = 48 << 10;

/// The change of a robot's frames between two checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// The age or the error of a frame changed, no verdict.
    Details,
    Verdicts,
}

impl<N: Node> Engine<N> {
    /// Takes the frames that were read back from a revision.
    pub(super) fn take_frames(
        &mut self,
        key: &str,
        report: &Report,
        frames: Result<Expected, String>,
    ) {
        let asset = self
            .robots
            .get_mut(key)
            .and_then(|robot| robot.asset.as_mut());
        // A newer revision may exist by now; its frames are read next.
        let Some(asset) = asset.filter(|asset| asset.report.revision == report.revision) else {
            return;
        };
        if let Err(reason) = &frames {
            tracing::error!(
                "the frames of {:?} cannot be read back: {reason}",
                report.robot
            );
        }
        let previous = match &asset.frames {
            Frames::Pending(previous) => previous.clone(),
            Frames::Read(Ok(same)) => Some(same.clone()),
            _ => None,
        };
        asset.frames = Frames::Read(frames.map(|frames| Arc::new(frames.after(previous))));
        self.check_and_report(key);
        // Publish even if nothing was received to compare with.
        self.show(key);
        self.publish_status(key);
        self.answer_waiting_checks();
    }

    pub(super) fn answer_waiting_checks(&mut self) {
        for call in std::mem::take(&mut self.waiting_checks) {
            self.answer_check(call);
        }
    }

    pub(super) fn show(&self, key: &str) {
        if let Some(robot) = self.robots.get(key) {
            let check = robot.frame_check.as_ref();
            let frames = match robot.asset.as_ref().map(|asset| &asset.frames) {
                Some(Frames::Read(Ok(frames))) => {
                    robots::all_frames(frames, check.map(|check| &*check.findings))
                }
                _ => Vec::new(),
            };
            let own = self.node.namespace();
            let view = robot.view(
                key,
                own,
                check.map(robots::frames_view),
                &self.parameters.output_dir,
            );
            self.site.show(view, frames);
        }
    }

    /// Compares a robot's frames with TF, if its asset declares some and the robot is present.
    pub(super) fn check_robot(&mut self, key: &str) -> News {
        let limits = self.limits();
        let time = ros_time::check_time(&*self.node, self.has_clock);
        let is_recovering = self.is_recovering(Instant::now());
        let Some(robot) = self.robots.get_mut(key) else {
            return News::None;
        };
        let frames = robot
            .asset
            .as_ref()
            .map(|asset| &asset.frames)
            .filter(|_| robot.runs());
        let Some(Frames::Read(Ok(frames))) = frames else {
            return if robot.frame_check.take().is_some() {
                News::Verdicts
            } else {
                News::None
            };
        };
        let check = self
            .subscriptions
            .with_sources(&robot.robot_namespace, |heard| {
                // Without any transform, every frame would count as missing before TF has started.
                let is_silent = heard.transforms.tree().is_empty()
                    && heard.elsewhere.iter().all(|live| live.tree().is_empty());
                (!is_silent).then(|| check_frames(frames, &[], heard, &limits, time.now))
            });
        let Some(mut check) = check else {
            return News::None;
        };
        // Messages do not arrive before their publishers are discovered again.
        let is_unheard = |verdict| matches!(verdict, FrameStatus::Missing | FrameStatus::Stale);
        if is_recovering
            && robot.frame_check.is_some()
            && check.findings.iter().any(|f| is_unheard(f.verdict))
        {
            return News::None;
        }
        check.causes.extend(time.cause);
        let verdicts = |check: &FrameCheck| {
            check
                .findings
                .iter()
                .map(|f| (f.frame.clone(), f.verdict))
                .collect::<Vec<_>>()
        };
        let news = match &robot.frame_check {
            Some(before) if *before == check => News::None,
            Some(before) if verdicts(before) == verdicts(&check) => News::Details,
            _ => News::Verdicts,
        };
        robot.frame_check = Some(check);
        news
    }

    /// Compares a robot's frames with TF, publishes the result, and announces changed verdicts.
    pub(super) fn check_and_report(&mut self, key: &str) {
        let news = self.check_robot(key);
        if news != News::None {
            self.show(key);
        }
        if news == News::Verdicts {
            let check = self
                .robots
                .get(key)
                .and_then(|robot| robot.frame_check.as_ref());
            let findings = check.map_or(&[][..], |check| &check.findings);
            let ok = findings
                .iter()
                .filter(|f| f.verdict == FrameStatus::Ok)
                .count();
            self.site.publish(
                "frames",
                &serde_json::json!({ "key": key, "ok": ok, "total": findings.len() }),
            );
            self.publish_status(key);
        }
    }

    /// Starts the periodic check of all robots, unless the last one is still in progress.
    pub(super) fn begin_checks(&mut self) {
        if self.to_check.is_empty() {
            self.to_check.extend(
                self.robots
                    .iter()
                    .filter(|(_, robot)| robot.runs())
                    .map(|(key, _)| key.clone()),
            );
        }
        // No robot runs, so no check will publish the statuses.
        if self.to_check.is_empty() {
            self.publish_diagnostics();
        }
    }

    /// Checks the next robot of the periodic check.
    pub(super) fn check_next(&mut self) {
        if let Some(key) = self.to_check.pop_front() {
            self.check_and_report(&key);
        }
        if self.to_check.is_empty() {
            self.publish_diagnostics();
        }
    }

    /// Publishes the statuses of all robots.
    fn publish_diagnostics(&self) {
        let mut statuses = Vec::with_capacity(2 * self.robots.len().max(1));
        if self.robots.is_empty() {
            let message = format!(
                "no robot description heard on {} yet",
                self.descriptions.topic()
            );
            statuses.push(robots::silent_status(
                self.node.name(),
                "conversion",
                message,
            ));
        }
        statuses.extend(self.services_status());
        statuses.extend(self.uploads.status(self.node.name()));
        let mut in_full = 0;
        for (key, robot) in &self.robots {
            for mut status in self.statuses(key, robot) {
                let is_in_full = self.robots.len() <= MAX_DETAILED
                    || (status.level > DiagnosticStatus::OK
                        && robot.gone.is_none()
                        && in_full < MAX_DETAILED);
                if is_in_full {
                    in_full += 1;
                } else {
                    status.values.clear();
                }
                statuses.push(status);
            }
        }
        let (mut part, mut bytes) = (Vec::new(), 0);
        for status in statuses {
            let size = robots::size(&status);
            if bytes + size > MAX_MESSAGE_BYTES && !part.is_empty() {
                self.publish_statuses(std::mem::take(&mut part));
                bytes = 0;
            }
            bytes += size;
            part.push(status);
        }
        self.publish_statuses(part);
    }

    /// Publishes the status of a robot that changed.
    pub(super) fn publish_status(&self, key: &str) {
        if let Some(robot) = self.robots.get(key) {
            self.publish_statuses(self.statuses(key, robot));
        }
    }

    fn statuses(&self, key: &str, robot: &Robot) -> Vec<DiagnosticStatus> {
        let node = self.node.name();
        let mut statuses = vec![robot.conversion_status(node, key)];
        let frames = robot
            .asset
            .as_ref()
            .map(|asset| &asset.frames)
            .filter(|_| robot.runs());
        statuses.extend(match (frames, &robot.frame_check) {
            (Some(Frames::Read(Ok(_))), Some(check)) => {
                Some(robots::frames_status(node, key, robot, check))
            }
            (Some(Frames::Read(Ok(_))), None) => {
                let clock = ros_time::check_time(&*self.node, self.has_clock).cause;
                let message = format!(
                    "nothing heard on {} yet{}",
                    self.subscriptions.topics(&robot.robot_namespace),
                    clock.map_or_else(String::new, |cause| format!("; {cause}"))
                );
                Some(robots::silent_status(
                    node,
                    &format!("frames of {key}"),
                    message,
                ))
            }
            (Some(Frames::Read(Err(reason))), _) => {
                Some(robots::unreadable_frames(node, key, robot, reason))
            }
            _ => None,
        });
        statuses.extend(self.interfaces_status(key, robot));
        statuses
    }

    fn publish_statuses(&self, status: Vec<DiagnosticStatus>) {
        let header = Header {
            stamp: self.node.now(),
            ..Header::default()
        };
        log_unsent(self.diagnostics.publish(DiagnosticArray { header, status }));
    }

    /// Answers a call of `~/check_frames`, or defers it until the frames are read back.
    pub(super) fn answer_check(&mut self, call: Request<interfaces::CheckFrames>) {
        match self.check_frames(&call.request) {
            Some(response) => log_unsent(call.responder.send(response)),
            None if self.waiting_checks.len() < MAX_WAITING_CALLS => self.waiting_checks.push(call),
            None => {
                let message =
                    format!("{MAX_WAITING_CALLS} calls are waiting already; call again later");
                log_unsent(call.responder.send(CheckFramesResponse {
                    message,
                    ..CheckFramesResponse::default()
                }));
            }
        }
    }

    /// Returns the key of the robot that a call names, by key or by a unique name; the one that runs
    /// if it names none.
    pub(super) fn resolve_robot(&self, asked: &str) -> Result<&str, String> {
        let known = |keys: Vec<&str>| {
            let more = keys.len().saturating_sub(robots::MAX_NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!(
                "{}{more}",
                keys.into_iter()
                    .take(robots::MAX_NAMED)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        let remedy = || match self.parameters.file() {
            Some(file) => format!("check {}", file.display()),
            None => format!(
                "check that a description is published on {}",
                self.descriptions.topic()
            ),
        };
        let none = || format!("no robot was converted yet; {}", remedy());
        if asked.is_empty() {
            let running = self.robots.iter().filter(|(_, robot)| robot.runs());
            let running: Vec<&str> = running.map(|(key, _)| key.as_str()).collect();
            return match running[..] {
                [key] => Ok(key),
                [] if self.robots.is_empty() => Err(none()),
                [] => Err(format!(
                    "no robot is running; {}, or pass one of {}",
                    remedy(),
                    known(self.robots.keys().map(String::as_str).collect())
                )),
                _ => Err(format!(
                    "several robots are running: pass one of {}",
                    known(running)
                )),
            };
        }
        if let Some((key, _)) = self.robots.get_key_value(asked) {
            return Ok(key);
        }
        let mut named = self
            .robots
            .iter()
            .filter(|(_, robot)| robot.name == asked)
            .map(|(key, _)| key.as_str());
        match (named.next(), named.next()) {
            (Some(key), None) => Ok(key),
            (Some(first), Some(second)) => {
                let keys = [first, second].into_iter().chain(named).collect();
                Err(format!(
                    "several robots are named {asked:?}: pass one of {}",
                    known(keys)
                ))
            }
            _ if self.robots.is_empty() => Err(none()),
            _ => {
                let keys = self.robots.keys().map(String::as_str).collect();
                Err(format!("no robot {asked:?}; robots are {}", known(keys)))
            }
        }
    }

    /// Returns the answer to `~/check_frames`; `None` while the asset is being read back.
    fn check_frames(&self, request: &CheckFramesRequest) -> Option<CheckFramesResponse> {
        let refuse = |message: String| {
            Some(CheckFramesResponse {
                message,
                ..CheckFramesResponse::default()
            })
        };
        let robot = match self.resolve_robot(request.robot.trim()) {
            Ok(key) => self.robots.get(key)?,
            Err(message) => return refuse(message),
        };
        let Some(asset) = &robot.asset else {
            return refuse(format!(
                "{:?} has no asset: {}",
                robot.name,
                robot.message()
            ));
        };
        if robot.gone.is_some() {
            return refuse(format!(
                "{:?} is gone, so there is no TF to compare its frames with: {}",
                robot.name,
                robot.why_gone()
            ));
        }
        let frames = match &asset.frames {
            Frames::Pending(_) => return None,
            Frames::None => {
                return refuse(format!(
                    "the asset of {:?} has no USD, so it declares no frames",
                    robot.name
                ));
            }
            Frames::Read(Ok(frames)) => frames,
            Frames::Read(Err(reason)) => {
                return refuse(format!(
                    "the frames of {:?} cannot be read: {reason}",
                    robot.name
                ));
            }
        };
        let limits = self.limits();
        let time = ros_time::check_time(&*self.node, self.has_clock);
        let FrameCheck {
            findings,
            mut causes,
        } = self
            .subscriptions
            .with_sources(&robot.robot_namespace, |heard| {
                check_frames(frames, &request.frames, heard, &limits, time.now)
            });
        causes.extend(time.cause);
        causes.extend(self.standstill.map(|standstill| Cause {
            kind: CauseKind::Standstill,
            sentence: format!(
                "this node stood still for {} s until {} s ago, and may not have discovered all publishers again",
                standstill.lasted.as_secs(),
                standstill.ended.elapsed().as_secs()
            ),
        }));
        let wrong = findings
            .iter()
            .filter(|finding| finding.verdict.is_fault())
            .count();
        let all = findings
            .iter()
            .filter(|finding| finding.verdict != FrameStatus::Extra)
            .count();
        let cause: String = causes.iter().map(|cause| format!("; {cause}")).collect();
        Some(CheckFramesResponse {
            success: true,
            message: match wrong {
                0 => format!("all {all} frames match the asset{cause}"),
                _ => format!("{wrong} of {all} frames do not match the asset{cause}"),
            },
            all_ok: wrong == 0,
            robot: robot.name.clone(),
            revision: asset.report.revision,
            frames: findings.into_iter().map(tf_messages::verdict).collect(),
        })
    }
}
