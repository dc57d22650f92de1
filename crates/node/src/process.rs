//! Process-wide set-up: runtime, signals, limit of open files, logging and exit code. The node, the
//! viewer and `check --live` do it once, at start.
//!
//! This module does not depend on the node, robots or HTTP.

mod console;
pub(crate) mod logging;
pub mod signals;

use std::io::Write;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use urdf_usd_diagnostic::{Diagnostic, Place, escape_controls, escape_controls_in_list};
use urdf_usd_ros as ros;

use crate::codes::SYSTEM;

/// Exit code for an invalid command line, parameter or environment.
pub(crate) const USAGE: u8 = 2;
/// Upper bound of the raised limit; some hard limits are unlimited.
const MAX_OPEN_FILES: u64 = 1 << 20;

/// Prints why the process ends and returns its exit code.
pub fn fail(diagnostic: &Diagnostic) -> ExitCode {
    // Don't print a path twice.
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
    // Help may have several lines, as examples of parameter files do.
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

/// Starts the asynchronous runtime of the process.
///
/// # Errors
/// Fails if the system provides no threads.
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
            format!("cannot start threads: {error}"),
        )
    })
}

/// Raises the soft limit of open files as far as the hard limit allows, and returns the new limit.
pub(crate) fn raise_file_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MAX_OPEN_FILES).min(MAX_OPEN_FILES);
    let now = match current {
        Some(current) if current < wanted => {
            let raised = setrlimit(
                Resource::Nofile,
                Rlimit {
                    current: Some(wanted),
                    maximum,
                },
            );
            // If the system refuses, the old limit still applies.
            if raised.is_ok() { wanted } else { current }
        }
        current => current.unwrap_or(MAX_OPEN_FILES),
    };
    usize::try_from(now).unwrap_or(usize::MAX)
}
