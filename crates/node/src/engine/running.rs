//! Supervision of work on threads: start, completion, and abandonment of threads that never finish.
//!
//! A panic or an endless loop affects only the robot that the work is for. Conversions and
//! read-backs run in child processes, which are killed at their time limit. A thread can't be
//! killed from outside: one that is blocked in a file system, or that converts in a node without
//! worker processes, is abandoned and leaks. After too many of them the node ends, so that a
//! supervisor can restart it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Done, Engine, Outcome, Work, codes, interfaces, log_unsent, request};
use crate::fingerprint::Fingerprint;
use crate::jobs::{Attempt, defect, panic_text};
use crate::parts;
use urdf_usd_convert::{Failure, Report};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::msg::Service;
use urdf_usd_ros::{Node, Responder};

/// Grace period of a thread beyond the parameter `time_limit`: a conversion ends by itself where it
/// can.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 20 });
/// Maximum number of abandoned threads that convert in this process.
pub(super) const MAX_WORKING: usize = 4;
/// Maximum number of abandoned threads that wait for workers.
const MAX_WAITING: usize = 64;

/// A pending response, which either the working thread or, once that is abandoned, the engine
/// sends.
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

    /// Sends the response, unless one was sent before.
    pub(super) fn send(&self, response: S::Response) {
        if let Some(responder) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            log_unsent(responder.send(response));
        }
    }
}

/// The purpose of a piece of work, kept to report its failure.
pub(super) enum Task {
    /// The source of a robot, with the key that it was scheduled under.
    Source { key: String, work: Work },
    /// A call of `convert`.
    Call {
        key: String,
        caller: Caller<interfaces::Convert>,
    },
    /// Reading the frames of a revision.
    Frames { key: String, report: Arc<Report> },
    /// Reading the interfaces of a revision.
    Interfaces { key: String, revision: u64 },
    /// Scanning the output directory.
    Assets,
    /// Reading the URDF of a revision.
    Description { path: PathBuf },
    /// A motion call, with the function that answers it if the work fails.
    Motion {
        on_abandoned: Box<dyn FnOnce(&Diagnostic) + Send>,
    },
}

/// All work in progress.
#[derive(Default)]
pub(super) struct Running {
    pub(super) tasks: JoinSet<(u64, Result<Done, String>)>,
    /// Number of pieces of work so far; newer ones have higher numbers.
    count: u64,
    begun: BTreeMap<u64, (Task, Instant)>,
    abandoned: BTreeSet<u64>,
}

impl Running {
    /// Runs work on a thread and passes it its number.
    pub(super) fn begin(&mut self, task: Task, work: impl FnOnce(u64) -> Done + Send + 'static) {
        self.count += 1;
        let number = self.count;
        self.begun.insert(number, (task, Instant::now()));
        self.tasks.spawn_blocking(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(number)));
            (number, done.map_err(|panic| panic_text(&*panic)))
        });
    }

    /// Returns the number of motion calls in progress.
    pub(super) fn motion_calls(&self) -> usize {
        self.begun
            .values()
            .filter(|(task, _)| matches!(task, Task::Motion { .. }))
            .count()
    }

    /// Runs a future that needs no thread of its own.
    pub(super) fn wait(&mut self, future: impl Future<Output = Done> + Send + 'static) {
        // No piece of work has the number 0: it is not supervised, since calls have time limits.
        self.tasks.spawn(async move { (0, Ok(future.await)) });
    }
}

impl<N: Node> Engine<N> {
    /// Takes the result of finished work.
    ///
    /// # Errors
    /// The node has to end.
    pub(super) fn finish_task(
        &mut self,
        back: Result<(u64, Result<Done, String>), tokio::task::JoinError>,
    ) -> Result<(), Diagnostic> {
        let (number, done) = match back {
            Ok(back) => back,
            // Work on threads catches its own panics, so this is a future of `wait`.
            Err(error) if error.is_panic() => {
                return Err(parts::defect("asking other nodes", &*error.into_panic()));
            }
            // The runtime is shutting down.
            Err(_) => return Ok(()),
        };
        let task = self.running.begun.remove(&number).map(|(task, _)| task);
        if self.running.abandoned.remove(&number) {
            tracing::info!("an abandoned piece of work has finished after all");
        }
        match &task {
            Some(Task::Source { key, .. } | Task::Call { key, .. }) => self.schedule.finished(key),
            Some(Task::Frames { key, .. }) => self.reading.finished(key),
            _ => {}
        }
        match (done, task) {
            // The result of abandoned work counts too: `finish_order` compares the numbers of
            // attempts, and converts again if a newer one exists.
            (Ok(done), _) => self.finish(done),
            (Err(text), Some(task)) => self.fail_task(number, task, &defect(&text), Duration::ZERO),
            (Err(text), None) => tracing::error!("{}", defect(&text)),
        }
        Ok(())
    }

    /// Abandons work that is overdue.
    ///
    /// # Errors
    /// The node has to end: too many threads are abandoned.
    pub(super) fn abandon_overdue(&mut self) -> Result<(), Diagnostic> {
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
            // Free the key, so that the robot's next source can be converted; the thread itself
            // leaks.
            self.running.abandoned.insert(number);
            match &task {
                Task::Source { key, .. } | Task::Call { key, .. } => self.schedule.finished(key),
                Task::Frames { key, .. } => self.reading.finished(key),
                Task::Interfaces { .. }
                | Task::Assets
                | Task::Description { .. }
                | Task::Motion { .. } => {}
            }
            let message = format!(
                "the work did not end within {:.0} s and was abandoned",
                since.elapsed().as_secs_f64()
            );
            let diagnostic = Diagnostic::new(&codes::TIME_LIMIT, Place::default(), message)
                .help("raise the parameter time_limit if the robot is that large; otherwise this is a bug: please report it with the description");
            self.fail_task(number, task, &diagnostic, since.elapsed());
        }
        let count = self.running.abandoned.len();
        let most = if self.workers.are_processes() {
            MAX_WAITING
        } else {
            MAX_WORKING
        };
        if count > most {
            let message = format!("{count} abandoned threads have not finished");
            let help = "restart the node; the log above names their robots";
            return Err(Diagnostic::new(&codes::ENDED, Place::default(), message).help(help));
        }
        Ok(())
    }

    /// Handles work that failed without an outcome.
    fn fail_task(&mut self, number: u64, task: Task, why: &Diagnostic, took: Duration) {
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
                    // Its inputs are unknown, so those of the previous attempt stay watched.
                    .map_or_else(Vec::new, |robot| robot.used.clone());
                let fingerprint = Fingerprint::for_job(job.clone());
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
            Task::Motion { on_abandoned } => {
                tracing::error!("a motion call: {why}");
                on_abandoned(why);
            }
            Task::Assets => tracing::warn!("cannot scan output_dir: {why}"),
        }
    }
}
