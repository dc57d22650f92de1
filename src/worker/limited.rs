//! A command under limits: it runs in a process of its own, which this one watches and, at its limits, ends.

use std::ffi::OsString;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::end::{End, Subject};
use super::{GRACE, LIMITED, Limits, Program};
use crate::diagnostic::{Diagnostic, Place};
use crate::process::codes::SYSTEM;

/// How often it is looked whether the command has ended: at first, and at most.
const POLL: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(10)];

/// Runs the command line `arguments` of `program`, without the program's name, and returns its exit code. `name`: what it does, for people.
/// One that `knows` its time limit ends by itself where it can, and is given some seconds more.
///
/// # Errors
/// If it was ended, ended without an exit code, or could not be started.
pub(crate) fn run(
    program: &Program,
    arguments: &[OsString],
    limits: Limits,
    (name, knows): (&str, bool),
) -> Result<u8, Diagnostic> {
    let failed = |error: std::io::Error| {
        Diagnostic::new(&SYSTEM, Place::default(), format!("no process can be started for {name}: {error}"))
    };
    let grace = if knows { GRACE } else { Duration::ZERO };
    let started = Instant::now();
    // The terminal's signals reach both processes.
    let mut child =
        program.command([OsString::from(LIMITED)].into_iter().chain(arguments.iter().cloned())).spawn().map_err(failed)?;
    let deadline = limits.time.and_then(|time| started.checked_add(time.saturating_add(grace)));
    let end = match wait(&mut child, deadline).map_err(failed)? {
        End::Exited(status) => match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) if i32::from(code) != super::OUT_OF_MEMORY => return Ok(code),
            _ => End::Exited(status),
        },
        end => end,
    };
    Err(end.diagnostic(&Subject { name, at: "", limits }))
}

/// Waits for the end of a process, or ends it.
fn wait(child: &mut Child, deadline: Option<Instant>) -> std::io::Result<End> {
    let [mut pause, longest] = POLL;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            child.wait()?;
            return Ok(End::TimedOut);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(longest);
    }
}

/// Takes the limits of this process, which another one watches: it ends with that one.
pub(crate) fn take(program: &Program, limits: Limits) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    program.limit_memory(limits.memory);
}
