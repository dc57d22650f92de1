//! The process that a program runs in: its runtime, signals, limit of open files, log lines and
//! exit code. The node, the viewer and `check --live` set these up once, when they start.
//!
//! It must not know the node, robots or HTTP.

pub(crate) mod logging;
pub mod signals;

use std::io::Write;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use urdf_usd_diagnostic::{Diagnostic, Place, escape_controls, escape_controls_in_list};
use urdf_usd_ros as ros;

use crate::codes::SYSTEM;

/// The exit code where the command line, the parameters or the environment were wrong.
pub(crate) const USAGE: u8 = 2;
/// No process needs to have more files open; some hard limits are without end.
const ENOUGH: u64 = 1 << 20;

/// Shows why the process ends, and tells the exit code.
pub fn fail(diagnostic: &Diagnostic) -> ExitCode {
    // A path that the message names is not told twice.
    let is_told = |file: &std::path::Path| {
        diagnostic.place.line == 0 && diagnostic.message.contains(&*file.to_string_lossy())
    };
    let place = match &diagnostic.place.file {
        Some(file) if !is_told(file) => format!("{}: ", diagnostic.place),
        _ => String::new(),
    };
    let message = format!("{place}{}", diagnostic.message);
    let _ = writeln!(
        std::io::stderr(),
        "error: {}",
        escape_controls_in_list(&message)
    );
    // Examples of parameter files have lines.
    for (number, line) in diagnostic.help.lines().enumerate() {
        let begin = if number == 0 { "  help: " } else { "" };
        let _ = writeln!(std::io::stderr(), "{begin}{}", escape_controls(line));
    }
    let is_usage = [
        &ros::codes::ARGUMENT,
        &ros::codes::INVALID_NAME,
        &ros::codes::PARAMETER_FILE,
        &ros::codes::PARAMETER_TYPE,
        &ros::codes::PARAMETER_VALUE,
        &ros::codes::ENVIRONMENT,
    ];
    if is_usage.iter().any(|code| code.id == diagnostic.code) {
        ExitCode::from(USAGE)
    } else {
        ExitCode::FAILURE
    }
}

/// The threads of the process.
///
/// # Errors
/// If the system gives none.
pub fn runtime() -> Result<Runtime, Diagnostic> {
    let builder = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("bridge")
        .enable_all()
        .build();
    builder.map_err(|error| {
        Diagnostic::new(
            &SYSTEM,
            Place::default(),
            format!("the system gives no threads: {error}"),
        )
    })
}

/// Raises the soft limit of open files as far as the hard one allows, and tells it as it is then.
pub(crate) fn raise_file_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let now = match current {
        Some(current) if current < wanted => {
            let raised = setrlimit(
                Resource::Nofile,
                Rlimit {
                    current: Some(wanted),
                    maximum,
                },
            );
            // Where the system refuses, it stays as it was.
            if raised.is_ok() { wanted } else { current }
        }
        current => current.unwrap_or(ENOUGH),
    };
    usize::try_from(now).unwrap_or(usize::MAX)
}
