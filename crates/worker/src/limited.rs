//! Runs a command under limits, in a child process that is killed at its limits.

use std::ffi::OsString;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::end::{End, Subject};
use super::{GRACE, LIMITED, Limits, Program};
use crate::codes::SYSTEM;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Shortest and longest interval between polls for the child's exit.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(10)];

/// Runs a command line of `program` and returns its exit code.
///
/// `arguments` exclude the program's name; `name` is the activity, for messages. A command that
/// `knows` its time limit stops by itself where it can, and gets a grace period.
///
/// # Errors
/// Fails if the child was killed, exited without a code, or could not be started.
pub fn run(
    program: &Program,
    arguments: &[OsString],
    limits: Limits,
    (name, knows): (&str, bool),
) -> Result<u8, Diagnostic> {
    let failed = |error: std::io::Error| {
        Diagnostic::new(
            &SYSTEM,
            Place::default(),
            format!("cannot start a process for {name}: {error}"),
        )
    };
    let grace = if knows { GRACE } else { Duration::ZERO };
    let started = Instant::now();
    // Same process group: the terminal's signals reach both.
    let mut child = program
        .command(
            [OsString::from(LIMITED)]
                .into_iter()
                .chain(arguments.iter().cloned()),
        )
        .spawn()
        .map_err(failed)?;
    // A limit beyond the range of the clock is none.
    let deadline = limits
        .time
        .and_then(|time| started.checked_add(time.saturating_add(grace)));
    let end = match wait(&mut child, deadline).map_err(failed)? {
        End::Exited(status) => match status.code().and_then(|code| u8::try_from(code).ok()) {
            // Every other code is the command's own.
            Some(code) if i32::from(code) != super::OUT_OF_MEMORY => return Ok(code),
            _ => End::Exited(status),
        },
        end => end,
    };
    Err(end.diagnostic(&Subject {
        name,
        at: "",
        limits,
    }))
}

/// Waits for the child to exit; kills it at the deadline.
fn wait(child: &mut Child, deadline: Option<Instant>) -> std::io::Result<End> {
    let [mut pause, longest] = POLL_INTERVALS;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            child.wait()?;
            return Ok(End::TimedOut);
        }
        // The standard library has no wait with a time limit; short commands get short pauses.
        thread::sleep(pause);
        pause = (2 * pause).min(longest);
    }
}

/// Applies limits to this child process, and ties its life to that of its parent.
pub fn take(program: &Program, limits: Limits) {
    // A parent that is killed can no longer kill its child.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    program.limit_memory(limits.memory);
}
