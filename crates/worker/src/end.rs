//! Why a worker gave no outcome, and the diagnostic for it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::{Limits, OUT_OF_MEMORY};
use urdf_usd_convert::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The reason for a missing outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The time limit passed.
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// The process exited, or a signal killed it.
    Exited(ExitStatus),
    /// The reply cannot be decoded.
    Garbled(String),
    /// No worker took it.
    NotBegun(Box<Diagnostic>),
}

/// The work that failed, for messages.
pub(super) struct Subject<'a> {
    /// A noun phrase: `the conversion`.
    pub name: &'a str,
    /// The last reported step; empty if none.
    pub at: &'a str,
    /// The limits it ran under.
    pub limits: Limits,
}

impl End {
    /// Builds the diagnostic.
    pub(super) fn diagnostic(&self, Subject { name, at, limits }: &Subject<'_>) -> Diagnostic {
        let at = if at.is_empty() {
            String::new()
        } else {
            format!(", at {at}")
        };
        let (code, message, help) = match self {
            Self::TimedOut => {
                let allowed = limits.time.unwrap_or_default().as_secs_f64();
                let message =
                    format!("{name} took longer than {allowed} s{at}, and its process was killed");
                let help = "allow more time (--time-limit, time_limit), or reduce the work: simpler meshes, --tiers high, fewer formats";
                (&codes::TIMED_OUT, message, help)
            }
            Self::Cancelled => (
                &codes::CANCELLED,
                format!("{name} was cancelled{at}"),
                "convert it again if the result is still needed",
            ),
            Self::Exited(status) if status.code() == Some(OUT_OF_MEMORY) => {
                let limit = limits.memory.map_or_else(
                    || "the system has".to_owned(),
                    |limit| format!("its limit of {limit} MiB"),
                );
                let help = "allow more memory (--memory-limit, memory_limit), or reduce the work: smaller meshes and images, --tiers high";
                (
                    &codes::OUT_OF_MEMORY,
                    format!("{name} needed more memory than {limit}{at}"),
                    help,
                )
            }
            // Sent by the kernel's OOM killer, unless a user sent it.
            Self::Exited(status) if status.signal() == Some(Signal::KILL.as_raw()) => {
                let message = format!(
                    "the system killed the process of {name}{at}: most likely the machine ran out of memory"
                );
                let help = "set a memory limit (--memory-limit, memory_limit), convert fewer robots at once (workers), or use a machine with more memory";
                (&codes::OUT_OF_MEMORY, message, help)
            }
            Self::Exited(status) => {
                let help = "this is a bug in urdf_usd: please report it with the description; standard error or the log may have details";
                (
                    &codes::CRASHED,
                    format!("the process of {name} ended without a result{at}: {status}"),
                    help,
                )
            }
            Self::NotBegun(diagnostic) => return (**diagnostic).clone(),
            Self::Garbled(why) => {
                let help = "this is a bug in urdf_usd: please report it with the description";
                (
                    &codes::CRASHED,
                    format!(
                        "the process of {name} sent a result that cannot be decoded{at}: {why}"
                    ),
                    help,
                )
            }
        };
        Diagnostic::new(code, Place::default(), message).help(help)
    }
}
