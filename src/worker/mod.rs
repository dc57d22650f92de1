//! Work in processes of its own, which can be ended at any instant: at a time limit, at a memory limit, or when nobody waits any more.
//!
//! A program lends itself ([`Program`]): started with the argument [`WORKER`], it works for a [`Workers`] pool over its standard input and
//! output; started with [`LIMITED`] and a command line, it is that command under limits. Without a program, work is done in this process, and
//! only ends at a time limit where it looks at it.
//!
//! This module knows what can be asked of a worker, not what it is for.

mod child;
mod end;
pub(crate) mod limited;
mod memory;
mod pool;
mod protocol;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) use self::child::main;
pub use self::pool::Workers;

/// The first argument of a program that works for a pool.
pub const WORKER: &str = "worker";
/// The first argument of a program that runs the rest of its command line under the limits in it.
pub const LIMITED: &str = "limited";
/// How much longer than its time limit a conversion is waited for: it ends by itself where it can, and says more than its parent knows.
const GRACE: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 2000 });
/// The exit code of a process that ran out of memory: EX_OSERR of sysexits.h, which no command has for anything else.
const OUT_OF_MEMORY: i32 = 71;

/// What a piece of work may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take; `None`: as long as it needs.
    pub time: Option<Duration>,
    /// How many MiB of memory its process may take; `None`: as much as it needs.
    pub memory: Option<u64>,
}

impl Limits {
    /// Whether there is any.
    pub(crate) fn is_any(self) -> bool {
        self.time.is_some() || self.memory.is_some()
    }
}

/// A program that hands its arguments to [`cli::main`](crate::cli::main), to be started again for work in a process of its own.
#[derive(Clone, Debug)]
pub struct Program {
    executable: PathBuf,
    exit_when_exhausted: Option<fn(i32)>,
    release_memory: fn(),
}

impl Program {
    /// The program that `executable` is.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self { executable: executable.into(), exit_when_exhausted: None, release_memory: || () }
    }

    /// The program that this process runs; `None` where the system does not say which one that is.
    pub fn this() -> Option<Self> {
        // On Linux this file is the running program even when another one was installed in its place: both ends of a pipe are of one build.
        let running = Path::new("/proc/self/exe");
        if running.exists() { Some(Self::new(running)) } else { std::env::current_exe().ok().map(Self::new) }
    }

    /// The same with a function that has the process end with the exit code that it is given when an allocation fails. Without it, a process
    /// that runs out of memory looks like one that crashed.
    #[must_use]
    pub fn exiting_with(self, exit_when_exhausted: fn(i32)) -> Self {
        Self { exit_when_exhausted: Some(exit_when_exhausted), ..self }
    }

    /// The same with a function that returns freed memory to the system, called by a process that rests after work.
    #[must_use]
    pub fn releasing_with(self, release_memory: fn()) -> Self {
        Self { release_memory, ..self }
    }

    /// A command that starts it.
    fn command(&self, arguments: impl IntoIterator<Item = OsString>) -> Command {
        let mut command = Command::new(&self.executable);
        command.arg0("urdf_usd").args(arguments);
        command
    }

    /// Limits the memory of this process, which runs the program.
    fn limit_memory(&self, mebibytes: Option<u64>) {
        memory::limit(mebibytes);
        if mebibytes.is_some() {
            self.exit_when_exhausted.iter().for_each(|exit| exit(OUT_OF_MEMORY));
        }
    }
}
