//! Adds the observed interfaces of running robots to their assets, and compares assets with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::{Done, Engine, Task};
use crate::capture::{self, Differing, Scope, Snapshot};
use crate::description_source::{Origin, RobotNamespace};
use crate::robots::{self, Robot};
use urdf_usd_convert::Job;
use urdf_usd_robot::Captured;
use urdf_usd_ros::Node;
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticStatus;
use urdf_usd_usd_read::InterfaceSummary;

/// The latest snapshot of running robots; empty unless the parameter asks for it.
#[derive(Default)]
pub(super) struct Capture {
    seen: Option<watch::Receiver<Arc<Snapshot>>>,
}

impl Capture {
    /// Waits for a new snapshot; pending forever if capturing is off. Cancel-safe.
    pub(super) async fn changed(&mut self) -> Option<()> {
        match &mut self.seen {
            Some(seen) => seen.changed().await.ok(),
            None => std::future::pending().await,
        }
    }
}

impl<N: Node> Engine<N> {
    /// Starts or stops the observation of running robots, as the parameter says.
    pub(super) fn set_capture(&mut self) {
        // Dropping the receiver ends the listener.
        self.capture = Capture::default();
        for robot in self.robots.values_mut() {
            (robot.declared, robot.differing) = (None, None);
        }
        if self.parameters.capture_interfaces {
            let (sender, seen) = watch::channel(Arc::default());
            // The engine notices its end by the closed channel.
            tokio::spawn(capture::listen(self.node.clone(), sender));
            self.capture.seen = Some(seen);
        }
        // The assets gain or lose their observed interfaces.
        let keys: Vec<String> = self.robots.keys().cloned().collect();
        for key in keys {
            self.read_interfaces(&key);
            self.convert_again(&key);
        }
    }

    /// Takes a new snapshot: converts the robots whose interfaces changed.
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
            tracing::debug!("the interfaces of {key:?} have changed");
            self.convert_again(&key);
        }
        let keys: Vec<String> = self.robots.keys().cloned().collect();
        keys.iter().for_each(|key| self.compare_interfaces(key));
    }

    /// Returns the observed interfaces of a robot; `None` if no snapshot exists, or the description
    /// came by a call: it may then not be the running robot's.
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
            &Scope {
                namespace: self.namespace(robot_namespace),
                others: all,
                node: &node,
            },
        ))
    }

    /// Returns the namespaces of the robots that are present.
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

    /// Returns the job with the robot's observed interfaces.
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

    /// Starts to read the interfaces of a robot's asset back, if capturing is on.
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

    /// Takes the interfaces of a revision.
    pub(super) fn take_interfaces(
        &mut self,
        key: String,
        revision: u64,
        declared: Result<Arc<[InterfaceSummary]>, String>,
    ) {
        match declared {
            Ok(declared) if self.capture.seen.is_some() => {
                // The robot may have been forgotten meanwhile.
                let Some(robot) = self.robots.get_mut(&key) else {
                    return;
                };
                robot.declared = Some((revision, declared));
                self.compare_interfaces(&key);
            }
            Ok(_) => {}
            Err(reason) => {
                tracing::error!("the interfaces of {key:?} cannot be read back: {reason}")
            }
        }
    }

    /// Compares the interfaces of a robot's asset with the snapshot, and reports what changed.
    fn compare_interfaces(&mut self, key: &str) {
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

    /// Returns the status of a robot's interfaces for `/diagnostics`.
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
