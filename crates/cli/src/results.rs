//! Results of commands on standard output, and failures in the form of results.
//!
//! Every write to standard output is checked: a result that is lost, for instance on a full disk,
//! is a failure. With `--json` (`check`: `--format`), a failure is a result, too.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use serde::Serialize;
use serde_json::json;

use super::findings::print_diagnostics;
use super::terminal::ERROR;
use super::{code_quality, sarif};
use urdf_usd_diagnostic::{Diagnostic, Place, escape_controls_in_json, escape_controls_in_list};

/// Exit code of a usage error.
pub(super) const USAGE_CODE: u8 = 2;
/// Exit code if standard output is a closed pipe (`| head`), that of a process which SIGPIPE ends:
/// 128 + 13.
const CLOSED_PIPE: u8 = 141;

/// Codes of failures of the command line.
pub mod codes {
    urdf_usd_diagnostic::codes! {
        USAGE Error "command-usage": "The arguments of a command are wrong, or do not fit together.", "Nothing is done; exit code 2.";
        FAILED Error "command-failed": "A command can't do its work, for instance because a file is missing or can't be written.",
            "Nothing is done, or nothing further; exit code 1.";
    }
}

/// The reason why a command does not do its work.
#[derive(Debug)]
pub enum Refusal {
    /// The arguments are wrong, or do not fit together.
    Usage(String),
    /// The work can't be done, for this reason.
    Failed(String),
    /// The work can't be done, because of these findings.
    Found {
        /// The findings.
        diagnostics: Vec<Diagnostic>,
        /// The output of xacro, if it ran.
        expanded: Option<String>,
    },
}

impl Refusal {
    /// Returns the reasons as findings.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let code = match self {
            Self::Usage(_) => &codes::USAGE,
            _ => &codes::FAILED,
        };
        match self {
            Self::Usage(message) | Self::Failed(message) => {
                vec![Diagnostic::new(code, Place::default(), message)]
            }
            Self::Found { diagnostics, .. } => diagnostics,
        }
    }

    /// Prints the reason, and returns the exit code.
    pub(super) fn print(&self) -> ExitCode {
        match self {
            Self::Usage(message) => usage_error(message),
            Self::Failed(message) => failed(message),
            Self::Found {
                diagnostics,
                expanded,
            } => failed_with(diagnostics, expanded.as_deref()),
        }
    }
}

/// Treats a bare message as [`Refusal::Failed`].
impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// The form of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
    /// SARIF for code scanning.
    Sarif,
    /// GitLab's code quality report.
    Gitlab,
}

static FORM: OnceLock<Form> = OnceLock::new();

/// Sets the form in which failures are printed, from arguments that are not parsed yet: those that
/// can't be parsed are a failure, too.
pub(super) fn set_form(arguments: &[OsString]) {
    let own = arguments
        .iter()
        .take_while(|argument| *argument != "--" && *argument != "--ros-args")
        .filter_map(|argument| argument.to_str());
    let (mut form, mut before) = (Form::Text, "");
    for argument in own {
        form = match (before, argument) {
            (_, "--json" | "--format=json") | ("--format", "json") => Form::Json,
            (_, "--format=sarif") | ("--format", "sarif") => Form::Sarif,
            (_, "--format=gitlab") | ("--format", "gitlab") => Form::Gitlab,
            _ => form,
        };
        before = argument;
    }
    let _ = FORM.set(form);
}

/// Prints a result.
pub(super) fn print(result: impl AsRef<[u8]>) -> ExitCode {
    let mut out = std::io::stdout().lock();
    checked(out.write_all(result.as_ref()).and_then(|()| out.flush()))
}

/// Returns the exit code of a write to standard output, and reports why it failed.
///
/// A closed pipe is no one's mistake, so there is no message.
pub(super) fn checked(written: std::io::Result<()>) -> ExitCode {
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            print_error(&format!("cannot write to standard output: {error}"), "");
            ExitCode::FAILURE
        }
    }
}

/// Prints a result as JSON.
pub(super) fn print_json(value: &impl Serialize) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(escape_controls_in_json(&text).into_owned() + "\n"),
        Err(error) => {
            print_error(&format!("cannot print the result as JSON: {error}"), "");
            ExitCode::FAILURE
        }
    }
}

/// Reports that a command failed.
pub(super) fn failed(message: &str) -> ExitCode {
    print_error(message, "");
    print_failure(&[Diagnostic::new(&codes::FAILED, Place::default(), message)]);
    ExitCode::FAILURE
}

/// Reports wrong arguments.
pub(super) fn usage_error(message: &str) -> ExitCode {
    print_error(message, "\n\nFor more information, try '--help'.");
    print_failure(&[Diagnostic::new(&codes::USAGE, Place::default(), message)]);
    ExitCode::from(USAGE_CODE)
}

/// Reports the findings that a command failed with; `expanded` is the output of xacro, if any.
pub(super) fn failed_with(diagnostics: &[Diagnostic], expanded: Option<&str>) -> ExitCode {
    print_diagnostics(diagnostics, expanded);
    print_failure(diagnostics);
    ExitCode::FAILURE
}

/// Prints what clap says: help and versions, which are results, and usage errors.
pub(super) fn print_clap(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return checked(error.print().and_then(|()| std::io::stdout().flush()));
    }
    let _ = error.print();
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).trim();
    print_failure(&[Diagnostic::new(&codes::USAGE, Place::default(), message)]);
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE_CODE))
}

fn print_error(message: &str, more: &str) {
    let _ = writeln!(
        anstream::stderr(),
        "{ERROR}error:{ERROR:#} {}{more}",
        escape_controls_in_list(message)
    );
}

/// Prints a failure as JSON or SARIF if results have that form. The exit code is that of the failure
/// in any case.
fn print_failure(diagnostics: &[Diagnostic]) {
    let _ = match FORM.get().copied().unwrap_or_default() {
        Form::Text => ExitCode::FAILURE,
        Form::Json => print_json(&json!({ "status": "failed", "diagnostics": diagnostics })),
        Form::Sarif => print_json(&sarif::log(diagnostics, None)),
        Form::Gitlab => print_json(&code_quality::report(diagnostics, ".")),
    };
}
