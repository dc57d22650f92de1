//! A pool of worker processes, reused between tasks.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::DeserializeOwned;

use super::child::poses;
use super::end::{End, Subject};
use super::protocol::{Kind, Progress, Request, Task, message, receive};
use super::{GRACE, Limits, Program, WORKER};
use crate::codes::SYSTEM;
use urdf_usd_convert::{self as convert, Context, Failure, Job, Outcome, Report, Source};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_usd_read as usd_read;
use urdf_usd_usd_read::AssetFrames;
use urdf_usd_usd_read::{InterfaceSummary, TierSet};

/// Approximate number of threads of all workers together; each has at least two.
const MAX_THREADS: usize = 256;
/// Interval between checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time to wait for the exit status of a worker that closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of robots remembered per worker.
const MAX_KNOWN_ROBOTS: usize = 1024;
/// Number of workers for reading and rendering, in addition to those that convert.
const EXTRA_WORKERS: usize = 2;
/// Length of the prefix that identifies a description, in bytes: it holds the robot's name and
/// xacro's source comment.
const KEY_PREFIX_BYTES: usize = 512;
/// Maximum number of workers started in advance.
const MAX_STARTED_EARLY: usize = 4;

/// A pool of worker processes for tasks that may hang, exhaust memory or crash.
///
/// Tasks of one robot go to the same worker if it is idle, since its cache holds the robot's
/// meshes.
#[derive(Debug)]
pub struct Workers {
    /// The worker program; `None`: tasks run in this process.
    program: Option<Program>,
    /// Called after a conversion in this process.
    release_memory: fn(),
    /// Arguments of a worker: threads, and cache size in MiB.
    arguments: Vec<OsString>,
    /// Maximum number of idle workers.
    max_idle: usize,
    idle: Mutex<Vec<Worker>>,
    /// Codes and places of warnings that were printed: all workers have the same ones.
    warned: Mutex<BTreeSet<String>>,
}

impl Workers {
    /// Creates a pool without processes: tasks run in this one, which a crash takes down.
    pub fn here() -> Self {
        Self {
            program: None,
            release_memory: || (),
            arguments: Vec::new(),
            max_idle: 0,
            idle: Mutex::default(),
            warned: Mutex::default(),
        }
    }

    /// Like [`Workers::here`], but returns memory to the system after each conversion, by the
    /// function of `program`.
    pub fn in_process_of(program: Option<&Program>) -> Self {
        Self {
            release_memory: program.map_or(|| (), |program| program.release_memory),
            ..Self::here()
        }
    }

    /// Creates a pool for `count` concurrent conversions and for reading assets meanwhile, with a
    /// cache of `cache` MiB in total. Workers are started on demand.
    pub fn new(program: Program, count: usize, cache: u64) -> Self {
        let (count, max_idle) = (count.max(1), count.max(1) + EXTRA_WORKERS);
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (MAX_THREADS / count).min(processors).max(2);
        let cache = usize::try_from(cache)
            .unwrap_or(usize::MAX)
            // Each worker has a cache of its own, so the idle ones together stay within `cache`.
            .div_ceil(max_idle);
        Self {
            program: Some(program),
            arguments: [threads, cache]
                .map(|number| number.to_string().into())
                .into(),
            max_idle,
            ..Self::here()
        }
    }

    /// Starts some workers in advance.
    #[must_use]
    pub fn warmed_up(self) -> Self {
        // A failure here is retried, and reported, by the first task.
        let early = (0..self.max_idle.min(MAX_STARTED_EARLY))
            // No further attempt after a failure: most likely, all would fail.
            .map_while(|_| self.start().ok())
            .collect();
        Self {
            idle: Mutex::new(early),
            ..self
        }
    }

    /// Returns whether tasks run in worker processes.
    pub fn are_processes(&self) -> bool {
        self.program.is_some()
    }

    /// Converts under the limits in the job's options. The store of `context` is ignored: each
    /// worker has its own.
    ///
    /// # Errors
    /// Returns the errors of [`convert::convert`], and one if the worker was killed or crashed.
    pub fn convert(&self, job: &Job, context: &Context) -> Result<Report, Failure> {
        if !self.are_processes() {
            let result = convert::convert(job, context);
            (self.release_memory)();
            return result;
        }
        let (time, memory) = (job.options.time_limit, job.options.memory_limit);
        let limits = Limits {
            time: time.map(|time| time.saturating_add(GRACE)),
            memory,
        };
        let file = match &job.source {
            Source::File(file) | Source::Xacro { file, .. } => Some(file),
            Source::Text { .. } | Source::Bytes { .. } => None,
        };
        // Other inputs are known to the worker alone.
        let failed = |mut diagnostic: Diagnostic| {
            diagnostic.place = file.map_or_else(Place::default, Place::file);
            Failure {
                diagnostics: vec![diagnostic],
                used: file.cloned().into_iter().collect(),
            }
        };
        let task = Task::Convert(Cow::Borrowed(job).into());
        let outcome: Result<Result<Outcome, Failure>, Stopped> = self.ask(
            task,
            Some(key(job)),
            limits,
            (&context.cancelled, Some(context)),
        );
        match outcome {
            Ok(outcome) => outcome.map(Report::from),
            Err(Stopped { end, at }) => {
                // The killed worker has left its staging folder behind.
                convert::clear_away(&job.output_dir);
                Err(failed(end.diagnostic(&Subject {
                    name: "the conversion",
                    at: &at,
                    limits: Limits { time, memory },
                })))
            }
        }
    }

    /// Reads the frames of the asset with this entry layer.
    ///
    /// # Errors
    /// Returns why they can't be read, as a sentence.
    pub fn frames(&self, entry: &Path, limits: Limits) -> Result<AssetFrames, String> {
        let here = || usd_read::read_frames(entry).map_err(|error| error.to_string());
        self.read(Task::Frames(entry.to_owned()), limits, here)
    }

    /// Reads the interfaces that an asset declares.
    ///
    /// # Errors
    /// Returns why they can't be read, as a sentence.
    pub fn interfaces(
        &self,
        entry: &Path,
        limits: Limits,
    ) -> Result<Vec<InterfaceSummary>, String> {
        let here = || usd_read::read_interfaces(entry).map_err(|error| error.to_string());
        self.read(Task::Interfaces(entry.to_owned()), limits, here)
    }

    /// Reads the mesh tiers of an asset.
    ///
    /// # Errors
    /// Returns why they can't be read, as a sentence.
    pub fn tiers(&self, entry: &Path, limits: Limits) -> Result<Vec<TierSet>, String> {
        let here = || usd_read::read_tiers(entry).map_err(|error| error.to_string());
        self.read(Task::Tiers(entry.to_owned()), limits, here)
    }

    /// Checks that an asset opens, and that its poses can be read, within the limits, so that this
    /// process may open it.
    ///
    /// # Errors
    /// Returns why not, as a sentence.
    pub fn try_poses(&self, entry: &Path, limits: Limits) -> Result<(), String> {
        if !self.are_processes() {
            return Ok(());
        }
        self.read(Task::Poses(entry.to_owned()), limits, || poses(entry))
    }

    /// Runs a reading task in a worker, or `here`.
    fn read<T: DeserializeOwned>(
        &self,
        task: Task<'_>,
        limits: Limits,
        here: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        if !self.are_processes() {
            return here();
        }
        let read: Result<Result<T, String>, Stopped> =
            self.ask(task, None, limits, (&AtomicBool::new(false), None));
        read.unwrap_or_else(|Stopped { end, at }| {
            let subject = Subject {
                name: "reading the asset",
                at: &at,
                limits,
            };
            Err(end.diagnostic(&subject).message)
        })
    }

    /// Runs a task, preferably in a worker that has seen `key` before.
    fn ask<T: DeserializeOwned>(
        &self,
        task: Task<'_>,
        key: Option<u64>,
        limits: Limits,
        (cancelled, context): (&AtomicBool, Option<&Context>),
    ) -> Result<T, Stopped> {
        let unable = |diagnostic| Stopped {
            end: End::NotBegun(Box::new(diagnostic)),
            at: String::new(),
        };
        let request = Request {
            task,
            memory_limit: limits.memory,
        };
        // Encode before a worker is taken, so that a failure costs none.
        let request = message(Kind::Request, &request).map_err(|error| {
            let message = format!("cannot send the task to a worker process: {error}");
            unable(Diagnostic::new(&SYSTEM, Place::default(), message).help("use paths in UTF-8"))
        })?;
        let mut worker = self.take(key).map_err(unable)?;
        let mut at = String::new();
        let outcome = worker.work(request, limits, cancelled, |kind, content| {
            match (kind, context) {
                (Kind::Warning, _) => self.warn(content),
                (Kind::Progress, context) => {
                    let Ok(Progress {
                        step,
                        name,
                        done,
                        all,
                    }) = serde_json::from_slice(content)
                    else {
                        return;
                    };
                    at = if name.is_empty() {
                        step.as_str().to_owned()
                    } else {
                        format!("{} ({name})", step.as_str())
                    };
                    let now = convert::Progress {
                        step,
                        name: &name,
                        done,
                        all,
                    };
                    context
                        .and_then(|context| context.progress.as_ref())
                        .iter()
                        .for_each(|tell| tell(now));
                }
                (
                    Kind::Expanded,
                    Some(Context {
                        expanded: Some(show),
                        ..
                    }),
                ) => {
                    if let Ok(text) = serde_json::from_slice::<String>(content) {
                        show(&text);
                    }
                }
                _ => {}
            }
        });
        let outcome = outcome.and_then(|content| {
            serde_json::from_slice(&content).map_err(|why| End::Garbled(why.to_string()))
        });
        match outcome {
            Ok(outcome) => {
                self.put_back(worker);
                Ok(outcome)
            }
            // Dropping the worker kills it.
            Err(end) => Err(Stopped { end, at }),
        }
    }

    /// Takes an idle worker: one that has seen `key`, else the one that has seen the fewest robots,
    /// else a new one.
    fn take(&self, key: Option<u64>) -> Result<Worker, Diagnostic> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Discard workers that died while idle.
        idle.retain_mut(|worker| matches!(worker.child.try_wait(), Ok(None)));
        let best = (0..idle.len()).min_by_key(|index| {
            let known = idle.get(*index).map(|worker| &worker.known);
            known.map_or(usize::MAX, |known| {
                if key.is_some_and(|key| known.contains(&key)) {
                    0
                } else {
                    1 + known.len()
                }
            })
        });
        let found = best.map(|index| idle.swap_remove(index));
        // Released first: starting a process takes far longer than the search.
        drop(idle);
        let mut worker = found.map_or_else(|| self.start(), Ok)?;
        if let Some(key) = key.filter(|key| !worker.known.contains(key)) {
            worker.known.push_back(key);
            if worker.known.len() > MAX_KNOWN_ROBOTS {
                worker.known.pop_front();
            }
        }
        Ok(worker)
    }

    /// Prints the first warning with its code and place.
    fn warn(&self, content: &[u8]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(warning) = serde_json::from_slice::<Diagnostic>(content)
            && warned.insert(format!("{} {:?}", warning.code, warning.place))
        {
            eprintln!("{warning}");
        }
    }

    fn put_back(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.max_idle {
            idle.push(worker);
        }
    }

    fn start(&self) -> Result<Worker, Diagnostic> {
        let failed = |error: std::io::Error| {
            Diagnostic::new(
                &SYSTEM,
                Place::default(),
                format!("cannot start a worker process: {error}"),
            )
        };
        let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let program = self.program.as_ref().ok_or_else(none).map_err(failed)?;
        Worker::start(program, &self.arguments).map_err(failed)
    }
}

/// Returns a key that identifies a robot across revisions: its output directory, and its file or
/// the beginning of its description.
fn key(job: &Job) -> u64 {
    let mut hasher = DefaultHasher::new();
    job.output_dir.hash(&mut hasher);
    match &job.source {
        Source::File(file) | Source::Xacro { file, .. } => file.hash(&mut hasher),
        Source::Text { text, .. } => text
            .as_bytes()
            .get(..KEY_PREFIX_BYTES)
            .unwrap_or(text.as_bytes())
            .hash(&mut hasher),
        Source::Bytes { bytes, .. } => bytes
            .get(..KEY_PREFIX_BYTES)
            .unwrap_or(bytes)
            .hash(&mut hasher),
    }
    hasher.finish()
}

/// A task without outcome, and its last reported step.
struct Stopped {
    end: End,
    at: String,
}

/// A worker process, killed on drop.
#[derive(Debug)]
struct Worker {
    child: Child,
    /// Queue of the writing thread: writing to a process that does not read would block the caller.
    requests: Sender<Vec<u8>>,
    /// Queue of the reading thread.
    replies: Receiver<(Kind, Vec<u8>)>,
    /// Keys of the robots it has seen, oldest first.
    known: VecDeque<u64>,
}

impl Worker {
    fn start(program: &Program, arguments: &[OsString]) -> std::io::Result<Self> {
        let arguments = std::iter::once(WORKER.into()).chain(arguments.iter().cloned());
        // A process group of its own, so that its children are killed with it.
        let mut command = program.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (requests, to_write) = channel::<Vec<u8>>();
        let (sender, replies) = channel();
        let mut worker = Self {
            child,
            requests,
            replies,
            known: VecDeque::new(),
        };
        let Some((mut input, output)) = ends else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let write = move || {
            to_write
                .iter()
                .all(|request| input.write_all(&request).is_ok())
        };
        let read = move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(reply)) = receive(&mut output) {
                if sender.send(reply).is_err() {
                    break;
                }
            }
        };
        let threads = thread::Builder::new()
            .name("to worker".to_owned())
            .spawn(write)
            .and_then(|_| {
                let reader = thread::Builder::new().name("from worker".to_owned());
                reader.spawn(read)
            });
        if let Err(error) = threads {
            worker.end();
            return Err(error);
        }
        Ok(worker)
    }

    /// Sends a request and waits for its outcome; `hear` receives the messages before it.
    fn work(
        &mut self,
        request: Vec<u8>,
        limits: Limits,
        cancelled: &AtomicBool,
        mut hear: impl FnMut(Kind, &[u8]),
    ) -> Result<Vec<u8>, End> {
        let deadline = limits
            .time
            .and_then(|time| Instant::now().checked_add(time));
        // A failure to send shows as a closed output below.
        let _ = self.requests.send(request);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if cancelled.load(Ordering::Relaxed) {
                return Err(End::Cancelled);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Err(End::TimedOut);
            }
            match self
                .replies
                .recv_timeout(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL))
            {
                Ok((Kind::Done, content)) => return Ok(content),
                Ok((kind, content)) => hear(kind, &content),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.exited()),
            }
        }
    }

    /// Returns how the worker exited after it closed its output.
    fn exited(&mut self) -> End {
        // A process closes its output a moment before it can be reaped.
        let since = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return End::Exited(status),
                Ok(None) if since.elapsed() < EXIT_TIMEOUT => {
                    thread::sleep(Duration::from_millis(1))
                }
                Ok(None) => return End::Garbled("it closed its output".to_owned()),
                Err(error) => return End::Garbled(error.to_string()),
            }
        }
    }

    /// Kills the worker and its children.
    fn end(&mut self) {
        // The process id of a reaped child may belong to another process.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;
    use urdf_usd_usd_read::AssetFrame;

    /// Creates a pool whose workers run this shell script.
    fn workers(folder: &Path, script: &str) -> Workers {
        let program = folder.join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Workers::new(Program::new(program), 2, 0)
    }

    fn job(folder: &Path, time_limit: Option<Duration>) -> Job {
        let options = convert::Options {
            time_limit,
            memory_limit: Some(100),
            ..convert::Options::default()
        };
        // Exceeds the buffer of a pipe.
        let text = format!("<robot name='r'><!--{}--></robot>", "x".repeat(1 << 20));
        Job {
            options,
            ..Job::new(
                Source::Text {
                    text: text.into(),
                    file: None,
                },
                folder.join("out"),
            )
        }
    }

    fn failure(workers: &Workers, job: &Job, context: &Context) -> Diagnostic {
        workers
            .convert(job, context)
            .unwrap_err()
            .diagnostics
            .remove(0)
    }

    #[test]
    fn every_end_of_a_process_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        for (script, limit, code, part) in [
            (
                "exec sleep 1000",
                Some(100),
                "convert-timed-out",
                "longer than 0.1 s",
            ),
            // Reads nothing, ignores signals, and has a child.
            (
                "trap '' TERM INT HUP; sleep 1000 & while :; do sleep 1; done",
                Some(100),
                "convert-timed-out",
                "longer than 0.1 s",
            ),
            (
                "exit 71",
                None,
                "convert-out-of-memory",
                "its limit of 100 MiB",
            ),
            (
                "kill -KILL $$",
                None,
                "convert-out-of-memory",
                "the machine ran out of memory",
            ),
            ("kill -SEGV $$", None, "convert-crashed", "signal: 11"),
            ("exit 0", None, "convert-crashed", "exit status: 0"),
            (
                "echo this is no message",
                None,
                "convert-crashed",
                "without a result",
            ),
        ] {
            let workers = workers(folder.path(), script);
            let found = failure(
                &workers,
                &job(folder.path(), limit.map(Duration::from_millis)),
                &Context::default(),
            );
            assert!(
                found.code == code && found.message.contains(part) && !found.help.is_empty(),
                "{script}: {found}"
            );
            assert!(workers.idle.lock().unwrap().is_empty(), "{script}");
        }
        let none = Workers::new(Program::new(folder.path().join("nothing")), 1, 0).warmed_up();
        let found = failure(&none, &job(folder.path(), None), &Context::default());
        assert!(
            found.code == "system" || found.message.contains("cannot start a worker process"),
            "{found}"
        );
    }

    #[test]
    fn cancelled_work_is_killed_and_cleaned_up() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir_all(out.join(".r.staging/sub")).unwrap();
        fs::create_dir(out.join(".other.staging")).unwrap();
        let locks =
            [".r.lock", ".other.lock"].map(|lock| fs::File::create(out.join(lock)).unwrap());
        // Locked as by another process.
        locks[1].lock().unwrap();
        let workers = workers(folder.path(), "exec sleep 1000");
        let context = Context {
            cancelled: Arc::new(true.into()),
            ..Context::default()
        };
        assert_eq!(
            failure(&workers, &job(folder.path(), None), &context).code,
            "convert-cancelled"
        );
        assert!(!out.join(".r.staging").exists() && out.join(".other.staging").exists());
    }

    #[test]
    fn a_worker_that_answers_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let frame = AssetFrame {
            id: "base".to_owned(),
            display_name: None,
            parent: None,
            is_static: true,
            pose: urdf_usd_robot::Pose::translation(0.1, 1e-300, -7.0),
            kind: usd_read::FrameKind::Body,
            from_sensor: false,
            is_root: true,
            is_apart: false,
            joint: None,
        };
        let frames = AssetFrames {
            frames: vec![frame],
            ..AssetFrames::default()
        };
        let answer = message(Kind::Done, &Ok::<_, String>(&frames)).unwrap();
        fs::write(folder.path().join("answer"), answer).unwrap();
        let answer = folder.path().join("answer").display().to_string();
        // Answers the first request only.
        let workers = workers(folder.path(), &format!("cat {answer}; exec sleep 1000"));
        let entry = folder.path().join("out/r/r.usda");
        let read = workers.frames(&entry, Limits::default()).unwrap();
        assert_eq!(
            (read.frames.len(), read.frames[0].pose),
            (1, frames.frames[0].pose)
        );
        assert_eq!(workers.idle.lock().unwrap().len(), 1);
        let limits = Limits {
            time: Some(Duration::from_millis(50)),
            memory: None,
        };
        let why = workers.frames(&entry, limits).unwrap_err();
        assert!(
            why.contains("reading the asset took longer than 0.05 s"),
            "{why}"
        );
        assert!(workers.idle.lock().unwrap().is_empty());
    }
}
