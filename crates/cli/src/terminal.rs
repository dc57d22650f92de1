//! How much people are told, and in which colours: `--color`, `--quiet`, `--verbose`, and what the
//! environment says of them.
//!
//! `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed as clap obeys them in its
//! help (crate anstream).

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};

use urdf_usd_diagnostic::Severity;

/// Something failed.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Something was assumed.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Options of every command.
#[derive(Args)]
pub(super) struct Manners {
    /// Whether output is coloured. auto: on terminals, unless NO_COLOR is set; also elsewhere if
    /// CLICOLOR_FORCE is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = false
    )]
    pub(super) color: When,
    /// Show every finding, with the line of its source; otherwise those of one kind and cause are
    /// shown as one
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Show errors only: no warnings, no progress, and nothing of what went well
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

impl From<When> for ColorChoice {
    fn from(when: When) -> Self {
        match when {
            When::Auto => Self::Auto,
            When::Always => Self::Always,
            When::Never => Self::Never,
        }
    }
}

/// How much people are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Amount {
    /// Errors only.
    Quiet,
    /// Findings in groups.
    #[default]
    Usual,
    /// Every finding.
    Verbose,
}

static AMOUNT: OnceLock<Amount> = OnceLock::new();

/// How much people are told.
pub(super) fn amount() -> Amount {
    AMOUNT.get().copied().unwrap_or_default()
}

impl Manners {
    /// Has them obeyed from now on.
    pub(super) fn obey(&self) {
        ColorChoice::from(self.color).write_global();
        let amount = match (self.quiet, self.verbose) {
            (true, _) => Amount::Quiet,
            (false, true) => Amount::Verbose,
            (false, false) => Amount::Usual,
        };
        let _ = AMOUNT.set(amount);
    }
}

/// What `--color` says among arguments that are not taken apart yet, for the help and for what is
/// wrong with them. Arguments of the node are ROS's.
pub(super) fn colour_of(arguments: &[OsString]) -> When {
    let own = arguments
        .iter()
        .take_while(|argument| *argument != "--" && *argument != "--ros-args");
    let own: Vec<&OsStr> = own.map(OsString::as_os_str).collect();
    let parse = |text: &str| When::from_str(text, false).ok();
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

/// Whether what is written to `stream` is coloured.
pub(super) fn is_coloured(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Terminates the progress line that a dead child left behind.
pub(super) fn end_line() {
    let mut stream = std::io::stderr();
    if stream.is_terminal() {
        let _ = stream.write_all(b"\r\x1b[K");
    }
}

/// Tells people a line on standard error, unless they want errors only.
pub(super) fn say(line: impl Display) {
    if amount() != Amount::Quiet {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}

/// Tells people a line on standard error in the colour of `severity`; also those who want errors
/// only, if it is one.
pub(super) fn say_as(severity: Severity, line: impl Display) {
    let style = match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Info => Style::new(),
    };
    if severity == Severity::Error || amount() != Amount::Quiet {
        let _ = writeln!(anstream::stderr(), "{style}{line}{style:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_is_known_before_arguments_are_taken_apart() {
        let colour = |arguments: &[&str]| {
            colour_of(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(
            colour(&["urdf_usd", "convert", "--color", "never"]),
            When::Never
        );
        assert_eq!(
            colour(&["urdf_usd", "--color=never", "convert", "--color=always"]),
            When::Always
        );
        assert_eq!(colour(&["urdf_usd", "convert", "--color"]), When::Auto);
        assert_eq!(colour(&["urdf_usd", "--color=pink"]), When::Auto);
        assert_eq!(
            colour(&["urdf_usd", "bridge", "--ros-args", "--color=always"]),
            When::Auto
        );
    }
}
