//! What running robots offer to ROS: taken into their assets, and assets held against it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::{Done, Engine, Task};
use crate::capture::{self, Differing, Seen, Who};
use crate::description_source::{Origin, RobotNamespace};
use crate::robots::{self, Robot};
use urdf_usd_convert::Job;
use urdf_usd_robot::Captured;
use urdf_usd_ros::Node;
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticStatus;
use urdf_usd_usd_read::InterfaceSummary;

/// The interfaces of running robots; nothing while they are not wanted.
#[derive(Default)]
pub(super) struct Capture {
    seen: Option<watch::Receiver<Arc<Seen>>>,
}

impl Capture {
    /// Waits until something new was seen; for ever while nothing is wanted. Cancel-safe.
    pub(super) async fn changed(&mut self) -> Option<()> {
        match &mut self.seen {
            Some(seen) => seen.changed().await.ok(),
            None => std::future::pending().await,
        }
    }
}

impl<N: Node> Engine<N> {
    /// Begins to look at running robots, or ends it, as the parameter says.
    pub(super) fn set_capture(&mut self) {
        // Who listens ends when nobody wants to know.
        self.capture = Capture::default();
        for robot in self.robots.values_mut() {
            (robot.declared, robot.differing) = (None, None);
        }
        if self.parameters.capture_interfaces {
            let (sender, seen) = watch::channel(Arc::default());
            // Its end is noticed by that of what it tells.
            tokio::spawn(capture::listen(self.node.clone(), sender));
            self.capture.seen = Some(seen);
        }
        let keys: Vec<String> = self.robots.keys().cloned().collect();
        for key in keys {
            self.read_interfaces(&key);
            self.convert_again(&key);
        }
    }

    /// Something new was seen: assets that it changes are written again.
    pub(super) fn take_capture(&mut self) {
        if let Some(seen) = &mut self.capture.seen {
            seen.mark_unchanged();
        }
        let all = self.namespaces();
        let changed = |robot: &Robot| {
            let seen = self.captured_among(&all, &robot.robot_namespace, &robot.origin);
            robot.gone.is_none() && seen.is_some_and(|seen| robot.job.captured != seen)
        };
        let changed: Vec<String> = self
            .robots
            .iter()
            .filter(|(_, robot)| changed(robot))
            .map(|(key, _)| key.clone())
            .collect();
        for key in changed {
            tracing::debug!("{key:?} offers other interfaces than before");
            self.convert_again(&key);
        }
        let keys: Vec<String> = self.robots.keys().cloned().collect();
        keys.iter().for_each(|key| self.hold_interfaces(key));
    }

    /// What the robot of a namespace is seen to have. `None`: nothing was seen yet, or it need not
    /// be the robot that runs.
    pub(super) fn captured(
        &self,
        robot_namespace: &RobotNamespace,
        origin: &Origin,
    ) -> Option<Vec<Captured>> {
        self.capture.seen.as_ref()?;
        self.captured_among(&self.namespaces(), robot_namespace, origin)
    }

    fn captured_among(
        &self,
        all: &BTreeSet<&str>,
        robot_namespace: &RobotNamespace,
        origin: &Origin,
    ) -> Option<Vec<Captured>> {
        let seen = self.capture.seen.as_ref()?.borrow().clone();
        if *origin == Origin::Call || seen.is_empty() {
            return None;
        }
        let node = self.node.fully_qualified_name();
        Some(capture::interfaces(
            &seen,
            &Who {
                namespace: self.namespace(robot_namespace),
                others: all,
                node: &node,
            },
        ))
    }

    /// The namespaces of the robots that are there.
    fn namespaces(&self) -> BTreeSet<&str> {
        self.robots
            .values()
            .filter(|robot| robot.gone.is_none())
            .map(|robot| self.namespace(&robot.robot_namespace))
            .collect()
    }

    fn namespace<'a>(&'a self, robot_namespace: &'a RobotNamespace) -> &'a str {
        self.subscriptions
            .namespace(robot_namespace)
            .map_or("/", |namespace| namespace)
    }

    /// The job with what the robot is seen to have.
    pub(super) fn with_captured(
        &self,
        job: Arc<Job>,
        robot_namespace: &RobotNamespace,
        origin: &Origin,
    ) -> Arc<Job> {
        let captured = self.captured(robot_namespace, origin).unwrap_or_default();
        if job.captured == captured {
            job
        } else {
            Arc::new(Job {
                captured,
                ..(*job).clone()
            })
        }
    }

    /// Has the interfaces of a robot's asset read back, if they are wanted.
    pub(super) fn read_interfaces(&mut self, key: &str) {
        let Some(robot) = self.robots.get(key).filter(|_| self.capture.seen.is_some()) else {
            return;
        };
        let Some(report) = robot.asset.as_ref().map(|asset| &asset.report) else {
            return;
        };
        let Some(entry) = report.file(robots::ENTRY) else {
            return;
        };
        if robot
            .declared
            .as_ref()
            .is_none_or(|(revision, _)| *revision != report.revision)
        {
            let (key, revision) = (key.to_owned(), report.revision);
            let task = Task::Interfaces {
                key: key.clone(),
                revision,
            };
            let (workers, limits) = (self.workers.clone(), self.work_limits());
            self.running.begin(task, move |_| {
                let declared = workers.interfaces(&entry, limits).map(Into::into);
                Done::Interfaces {
                    key,
                    revision,
                    declared,
                }
            });
        }
    }

    /// The interfaces of a revision were read back.
    pub(super) fn take_interfaces(
        &mut self,
        key: String,
        revision: u64,
        declared: Result<Arc<[InterfaceSummary]>, String>,
    ) {
        match declared {
            Ok(declared) if self.capture.seen.is_some() => {
                // It may have been forgotten meanwhile.
                let Some(robot) = self.robots.get_mut(&key) else {
                    return;
                };
                robot.declared = Some((revision, declared));
                self.hold_interfaces(&key);
            }
            Ok(_) => {}
            Err(reason) => {
                tracing::error!("the interfaces of {key:?} cannot be read back: {reason}")
            }
        }
    }

    /// Holds what a robot's asset declares against what is there, and tells what changed.
    fn hold_interfaces(&mut self, key: &str) {
        let (Some(seen), Some(robot)) = (&self.capture.seen, self.robots.get(key)) else {
            return;
        };
        let seen = seen.borrow().clone();
        let Some((_, declared)) = robot.declared.as_ref().filter(|_| robot.runs()) else {
            return;
        };
        if seen.is_empty() {
            return;
        }
        let node = self.node.fully_qualified_name();
        let differing = capture::compare(
            declared,
            &seen,
            self.namespace(&robot.robot_namespace),
            &node,
        );
        if robot.differing.as_ref() == Some(&differing) {
            return;
        }
        for Differing { what, detail, .. } in &differing {
            tracing::warn!("{key:?}: the asset declares the {what}, but {detail}");
        }
        if let Some(robot) = self.robots.get_mut(key) {
            robot.differing = Some(differing);
        }
        self.publish_status(key);
    }

    /// How a robot's interfaces stand, for `/diagnostics`.
    pub(super) fn interfaces_status(&self, key: &str, robot: &Robot) -> Option<DiagnosticStatus> {
        let differing = robot.differing.as_ref().filter(|_| robot.runs())?;
        let declared = robot
            .declared
            .as_ref()
            .map_or(0, |(_, declared)| declared.len());
        Some(capture::status(
            self.node.name(),
            key,
            robot,
            declared,
            differing,
        ))
    }
}
