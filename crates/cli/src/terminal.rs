//! Verbosity and colours: `--color`, `--quiet`, `--verbose`, and environment variables.
//!
//! `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` have the same effect as on clap's help
//! (crate anstream).

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};

use super::GLOBAL;
use urdf_usd_diagnostic::Severity;

/// Style of errors.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of warnings.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Output options of all commands.
#[derive(Args)]
pub(super) struct OutputOptions {
    /// Whether to colour output. auto: on terminals, unless NO_COLOR is set; elsewhere only if
    /// CLICOLOR_FORCE is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = GLOBAL
    )]
    pub(super) color: ColorMode,
    /// Print every finding, with an excerpt of its source; without it, findings of the same kind
    /// and cause are grouped
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = GLOBAL)]
    verbose: bool,
    /// Print errors only: no warnings, no progress, no messages of success
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    quiet: bool,
}

/// When to colour output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorMode {
    #[default]
    Auto,
    Always,
    Never,
}

impl From<ColorMode> for ColorChoice {
    fn from(when: ColorMode) -> Self {
        match when {
            ColorMode::Auto => Self::Auto,
            ColorMode::Always => Self::Always,
            ColorMode::Never => Self::Never,
        }
    }
}

/// The verbosity of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Findings in groups.
    #[default]
    Normal,
    /// Every finding.
    Verbose,
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Returns the verbosity.
pub(super) fn verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or_default()
}

impl OutputOptions {
    /// Applies the options to the process.
    pub(super) fn apply_to_process(&self) {
        ColorChoice::from(self.color).write_global();
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        let _ = VERBOSITY.set(verbosity);
    }
}

/// Finds `--color` among arguments that are not parsed yet, for clap's help and errors.
///
/// Arguments after `--ros-args` belong to ROS.
pub(super) fn colour_of(arguments: &[OsString]) -> ColorMode {
    let own = arguments
        .iter()
        .take_while(|argument| *argument != "--" && *argument != "--ros-args");
    let own: Vec<&OsStr> = own.map(OsString::as_os_str).collect();
    let parse = |text: &str| ColorMode::from_str(text, false).ok();
    let given =
        own.iter()
            .enumerate()
            .rev()
            .find_map(|(index, argument)| match argument.to_str()? {
                "--color" => parse(own.get(index + 1)?.to_str()?),
                other => parse(other.strip_prefix("--color=")?),
            });
    given.unwrap_or_default()
}

/// Returns whether output to `stream` is coloured.
pub(super) fn is_coloured(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Ends the progress line that a dead child process left behind.
pub(super) fn end_line() {
    let mut stream = std::io::stderr();
    if stream.is_terminal() {
        let _ = stream.write_all(b"\r\x1b[K");
    }
}

/// Prints a line on standard error, unless `--quiet` is set.
pub(super) fn say(line: impl Display) {
    if verbosity() != Verbosity::Quiet {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}

/// Prints a line on standard error in the colour of `severity`; with `--quiet` only if it is an
/// error.
pub(super) fn say_as(severity: Severity, line: impl Display) {
    let style = match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Info => Style::new(),
    };
    if severity == Severity::Error || verbosity() != Verbosity::Quiet {
        let _ = writeln!(anstream::stderr(), "{style}{line}{style:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_is_found_before_parsing() {
        let colour = |arguments: &[&str]| {
            colour_of(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(
            colour(&["urdf_usd", "convert", "--color", "never"]),
            ColorMode::Never
        );
        assert_eq!(
            colour(&["urdf_usd", "--color=never", "convert", "--color=always"]),
            ColorMode::Always
        );
        assert_eq!(colour(&["urdf_usd", "convert", "--color"]), ColorMode::Auto);
        assert_eq!(colour(&["urdf_usd", "--color=pink"]), ColorMode::Auto);
        assert_eq!(
            colour(&["urdf_usd", "bridge", "--ros-args", "--color=always"]),
            ColorMode::Auto
        );
    }
}
