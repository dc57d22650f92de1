//! Runs work in child processes, which can be killed at any time: at a time limit, at a memory
//! limit, or on cancellation.
//!
//! A [`Program`] is started again by itself: with the argument [`WORKER`] it serves a [`Workers`]
//! pool over standard input and output; with [`LIMITED`] and a command line it runs that command
//! under limits. Without a program, work runs in this process, and a time limit holds only where
//! the work checks it.
//!
//! [`main`], the program of a worker, and [`limited::take`] act on the whole process: only a
//! program's `main` calls them.
//!
//! This crate knows the tasks of workers; it does not depend on the node, the web server or the
//! command line.

mod child;
pub mod codes;
mod end;
pub mod limited;
mod memory;
mod pool;
mod protocol;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use self::child::main;
pub use self::pool::Workers;

/// First argument of a worker process.
pub const WORKER: &str = "worker";
/// First argument of a process that runs the rest of its command line under limits.
pub const LIMITED: &str = "limited";
/// Grace period after a conversion's time limit: one that stops by itself reports more than its
/// parent knows.
const GRACE: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 2000 });
/// Exit code of a process that ran out of memory: EX_OSERR of sysexits.h, otherwise unused.
const OUT_OF_MEMORY: i32 = 71;

/// Default time limit of a conversion for programs that run for long: one robot must not block them.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(300);
/// Default memory limit of a conversion for these programs, in MiB.
pub const DEFAULT_MEMORY_LIMIT: u64 = 4096;

/// Time and memory limits of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Time limit; `None`: unlimited.
    pub time: Option<Duration>,
    /// Memory limit of its process, in MiB; `None`: unlimited.
    pub memory: Option<u64>,
}

impl Limits {
    /// Returns whether any limit is set.
    pub fn is_any(self) -> bool {
        self.time.is_some() || self.memory.is_some()
    }
}

/// A program that passes its arguments to `urdf_usd_cli::main`, and so can be started as
/// a worker.
#[derive(Clone, Debug)]
pub struct Program {
    executable: PathBuf,
    /// Arguments that come before those for `urdf_usd_cli::main`.
    arguments: Vec<OsString>,
    exit_when_exhausted: Option<fn(i32)>,
    release_memory: fn(),
}

impl Program {
    /// Uses the program `executable`.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
            arguments: Vec::new(),
            exit_when_exhausted: None,
            release_memory: || (),
        }
    }

    /// Sets arguments that come before all others: those with which an interpreter runs the program.
    #[must_use]
    pub fn with_arguments(self, arguments: Vec<OsString>) -> Self {
        Self { arguments, ..self }
    }

    /// Returns the running program; `None` if the system does not reveal it.
    pub fn this() -> Option<Self> {
        // On Linux this link names the running executable even after an upgrade replaced it: both
        // ends of the pipe are of one build.
        let running = Path::new("/proc/self/exe");
        if running.exists() {
            Some(Self::new(running))
        } else {
            std::env::current_exe().ok().map(Self::new)
        }
    }

    /// Sets a function that makes failed allocations exit the process with the given code. Without
    /// it, running out of memory looks like a crash.
    #[must_use]
    pub fn exiting_with(self, exit_when_exhausted: fn(i32)) -> Self {
        Self {
            exit_when_exhausted: Some(exit_when_exhausted),
            ..self
        }
    }

    /// Sets a function that returns freed memory to the system; workers call it when idle.
    #[must_use]
    pub fn releasing_with(self, release_memory: fn()) -> Self {
        Self {
            release_memory,
            ..self
        }
    }

    /// Returns the command that starts it.
    fn command(&self, arguments: impl IntoIterator<Item = OsString>) -> Command {
        let mut command = Command::new(&self.executable);
        // Python finds its installation, or its environment, by the name that it is called by.
        if self.arguments.is_empty() {
            command.arg0("urdf_usd");
        }
        command.args(&self.arguments).args(arguments);
        command
    }

    /// Limits the memory of this process, which must run this program.
    fn limit_memory(&self, mebibytes: Option<u64>) {
        memory::limit(mebibytes);
        if mebibytes.is_some() {
            self.exit_when_exhausted
                .iter()
                .for_each(|exit| exit(OUT_OF_MEMORY));
        }
    }
}
