//! Work on threads: begun, done, and given up where it never comes back.
//!
//! What happens to one piece of work, a panic or an endless loop, happens to the robot that it is
//! for and to nothing else. Conversions, and reading what they wrote, are done by processes that
//! are ended in time. A thread can't be ended from outside: one that waits for a file system
//! without end, or works in a node without such processes, is given up and stays; at too many of
//! them the node ends, to be started again.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Done, Engine, Outcome, Work, codes, interfaces, request, tell};
use crate::fingerprint::Fingerprint;
use crate::jobs::{Attempt, defect, panic_text};
use crate::parts;
use urdf_usd_convert::{Failure, Report};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::msg::Service;
use urdf_usd_ros::{Node, Responder};

/// How much longer than the parameter `time_limit` a thread is waited for: a conversion ends by
/// itself where it can.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 20 });
/// Maximum number of abandoned threads that convert in this process.
pub(super) const MAX_WORKING: usize = 4;
/// Maximum number of abandoned threads that wait for workers.
const MAX_WAITING: usize = 64;

/// The way back to a caller: from the thread that works for it, or from the engine when that is
/// given up.
pub(super) struct Caller<S: Service>(Arc<Mutex<Option<Responder<S>>>>);

impl<S: Service> Clone for Caller<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Service> Caller<S> {
    pub(super) fn new(responder: Responder<S>) -> Self {
        Self(Arc::new(Mutex::new(Some(responder))))
    }

    /// Answers, unless it was answered before.
    pub(super) fn send(&self, response: S::Response) {
        if let Some(responder) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            tell(responder.send(response));
        }
    }
}

/// What is worked on.
pub(super) enum Task {
    /// A source of a robot, under the key that it was scheduled under.
    Source { key: String, work: Work },
    /// A call of `convert`.
    Call {
        key: String,
        caller: Caller<interfaces::Convert>,
    },
    /// The frames of a revision.
    Frames { key: String, report: Arc<Report> },
    /// The interfaces of a revision.
    Interfaces { key: String, revision: u64 },
    /// Which assets there are.
    Assets,
    /// The URDF of a revision.
    Description { path: PathBuf },
    /// A call about how a robot stands. What answers it if there is no outcome.
    Motion {
        given_up: Box<dyn FnOnce(&Diagnostic) + Send>,
    },
}

/// All work on threads.
#[derive(Default)]
pub(super) struct Running {
    pub(super) tasks: JoinSet<(u64, Result<Done, String>)>,
    /// Counts pieces of work, of which the newer ones have the higher numbers.
    count: u64,
    begun: BTreeMap<u64, (Task, Instant)>,
    given_up: BTreeSet<u64>,
}

impl Running {
    /// Puts work on a thread. Its number.
    pub(super) fn begin(&mut self, task: Task, work: impl FnOnce(u64) -> Done + Send + 'static) {
        self.count += 1;
        let number = self.count;
        self.begun.insert(number, (task, Instant::now()));
        self.tasks.spawn_blocking(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(number)));
            (number, done.map_err(|panic| panic_text(&*panic)))
        });
    }

    /// How many calls about how robots stand are worked on.
    pub(super) fn motion_calls(&self) -> usize {
        self.begun
            .values()
            .filter(|(task, _)| matches!(task, Task::Motion { .. }))
            .count()
    }

    /// Waits for what takes no thread.
    pub(super) fn wait(&mut self, future: impl Future<Output = Done> + Send + 'static) {
        self.tasks.spawn(async move { (0, Ok(future.await)) });
    }
}

impl<N: Node> Engine<N> {
    /// Work came back. `Err`: why the node has to end.
    pub(super) fn take_back(
        &mut self,
        back: Result<(u64, Result<Done, String>), tokio::task::JoinError>,
    ) -> Result<(), Diagnostic> {
        let (number, done) = match back {
            Ok(back) => back,
            Err(error) if error.is_panic() => {
                return Err(parts::defect("asking other nodes", &*error.into_panic()));
            }
            // A runtime that ends.
            Err(_) => return Ok(()),
        };
        let task = self.running.begun.remove(&number).map(|(task, _)| task);
        if self.running.given_up.remove(&number) {
            tracing::info!("what was given up came back after all");
        }
        match &task {
            Some(Task::Source { key, .. } | Task::Call { key, .. }) => self.schedule.finished(key),
            Some(Task::Frames { key, .. }) => self.reading.finished(key),
            _ => {}
        }
        match (done, task) {
            (Ok(done), _) => self.finish(done),
            (Err(text), Some(task)) => self.part_from(number, task, &defect(&text), Duration::ZERO),
            (Err(text), None) => tracing::error!("{}", defect(&text)),
        }
        Ok(())
    }

    /// Gives up what has been worked on for too long. `Err`: why the node has to end.
    pub(super) fn give_up(&mut self) -> Result<(), Diagnostic> {
        let Some(most) = self
            .parameters
            .conversion
            .time_limit
            .map(|limit| limit + GRACE)
        else {
            return Ok(());
        };
        let late = |(number, (_, since)): (&u64, &(Task, Instant))| {
            (since.elapsed() > most).then_some(*number)
        };
        let late: Vec<u64> = self.running.begun.iter().filter_map(late).collect();
        for number in late {
            let Some((task, since)) = self.running.begun.remove(&number) else {
                continue;
            };
            self.running.given_up.insert(number);
            match &task {
                Task::Source { key, .. } | Task::Call { key, .. } => self.schedule.finished(key),
                Task::Frames { key, .. } => self.reading.finished(key),
                Task::Interfaces { .. }
                | Task::Assets
                | Task::Description { .. }
                | Task::Motion { .. } => {}
            }
            let message = format!(
                "it did not end within {:.0} s and is given up",
                since.elapsed().as_secs_f64()
            );
            let diagnostic = Diagnostic::new(&codes::TIME_LIMIT, Place::default(), message)
                .help("raise the parameter time_limit if the robot is that large; else it is a defect: report it with the description");
            self.part_from(number, task, &diagnostic, since.elapsed());
        }
        let count = self.running.given_up.len();
        let most = if self.workers.are_processes() {
            MAX_WAITING
        } else {
            MAX_WORKING
        };
        if count > most {
            let message = format!("{count} threads were given up that never came back");
            let help = "start the node again; the log above says which robots they were for";
            return Err(Diagnostic::new(&codes::ENDED, Place::default(), message).help(help));
        }
        Ok(())
    }

    /// Work has ended without an outcome.
    fn part_from(&mut self, number: u64, task: Task, why: &Diagnostic, took: Duration) {
        match task {
            Task::Source {
                key,
                work:
                    Work {
                        job,
                        robot_namespace,
                        origin,
                        heard_from,
                    },
            } => {
                let used = self
                    .robots
                    .get(&key)
                    .map_or_else(Vec::new, |robot| robot.used.clone());
                let fingerprint = Fingerprint::of_job(job.clone());
                let result = Err(Failure {
                    diagnostics: vec![why.clone()],
                    used,
                });
                let attempt = Box::new(Attempt {
                    job,
                    result,
                    fingerprint,
                    took,
                });
                self.finish_order(
                    key,
                    number,
                    Outcome::Tried {
                        attempt,
                        robot_namespace,
                        origin,
                        heard_from,
                    },
                );
            }
            Task::Call { caller, .. } => {
                tracing::error!("a call of convert: {why}");
                caller.send(request::refusal(why));
            }
            Task::Frames { key, report } => {
                self.take_frames(&key, &report, Err(why.message.clone()));
                self.read_interfaces(&key);
            }
            Task::Interfaces { key, revision } => {
                self.take_interfaces(key, revision, Err(why.message.clone()))
            }
            Task::Description { path } => self.publish_description(&path, Err(why.message.clone())),
            Task::Motion { given_up } => {
                tracing::error!("a call about how a robot stands: {why}");
                given_up(why);
            }
            Task::Assets => tracing::warn!("output_dir cannot be looked at: {why}"),
        }
    }
}
