//! How a process ended that was to do something and did not, and what people are told of it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::{Limits, OUT_OF_MEMORY};
use crate::convert::codes;
use crate::diagnostic::{Diagnostic, Place};

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It took too long.
    TimedOut,
    /// Nobody waits for it any more.
    Cancelled,
    /// It ended by itself, or was ended by the system.
    Exited(ExitStatus),
    /// What it said can't be understood.
    Garbled(String),
    /// It was not begun.
    NotBegun(Box<Diagnostic>),
}

/// What was worked on.
pub(super) struct Subject<'a> {
    /// What it is called: `the conversion`.
    pub name: &'a str,
    /// How far it was, in words; empty if it never said.
    pub at: &'a str,
    /// What it was allowed.
    pub limits: Limits,
}

impl End {
    /// The finding.
    pub(super) fn diagnostic(&self, Subject { name, at, limits }: &Subject<'_>) -> Diagnostic {
        let at = if at.is_empty() { String::new() } else { format!(", at {at}") };
        let (code, message, help) = match self {
            Self::TimedOut => {
                let allowed = limits.time.unwrap_or_default().as_secs_f64();
                let message = format!("{name} took longer than {allowed} s{at}, and its process was ended");
                let help = "allow more time (--time-limit, time_limit), or give it less to do: simpler meshes, --tiers high, fewer formats";
                (&codes::TIMED_OUT, message, help)
            }
            Self::Cancelled => {
                (&codes::CANCELLED, format!("{name} was called off{at}"), "convert it again if it is still wanted")
            }
            Self::Exited(status) if status.code() == Some(OUT_OF_MEMORY) => {
                let limit =
                    limits.memory.map_or_else(|| "the system has".to_owned(), |limit| format!("its limit of {limit} MiB"));
                let help = "allow more memory (--memory-limit, memory_limit), or give it less to do: smaller meshes and images, --tiers high";
                (&codes::OUT_OF_MEMORY, format!("{name} needed more memory than {limit}{at}"), help)
            }
            // Nothing but the kernel sends it unasked, where memory is short.
            Self::Exited(status) if status.signal() == Some(Signal::KILL.as_raw()) => {
                let message = format!("the system ended the process of {name}{at}: most likely the machine ran out of memory");
                let help = "set a memory limit (--memory-limit, memory_limit), convert fewer robots at once (workers), or use a machine with more memory";
                (&codes::OUT_OF_MEMORY, message, help)
            }
            Self::Exited(status) => {
                let help =
                    "this is a defect of urdf_usd: report it with the description; standard error, or the log, may say more";
                (&codes::CRASHED, format!("the process of {name} ended without an answer{at}: {status}"), help)
            }
            Self::NotBegun(diagnostic) => return (**diagnostic).clone(),
            Self::Garbled(why) => {
                let help = "this is a defect of urdf_usd: report it with the description";
                (&codes::CRASHED, format!("the process of {name} gave no answer that can be read{at}: {why}"), help)
            }
        };
        Diagnostic::new(code, Place::default(), message).help(help)
    }
}
