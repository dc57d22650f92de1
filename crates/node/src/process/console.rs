//! The console of ROS nodes: the stream, colours and format that rcutils' environment variables
//! choose.
//!
//! Whoever configures a system's logs configures this node's with them. rcutils refuses to start
//! with an invalid value; here it is ignored with a warning. `RCUTILS_LOGGING_BUFFERED_STREAM` has
//! no effect beyond that check, because each message is written at once and whole. This module does
//! not depend on where messages come from.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use urdf_usd_ros::args::LogLevel;
use urdf_usd_ros::rosout::Line;

/// The format without `RCUTILS_CONSOLE_OUTPUT_FORMAT`.
const DEFAULT_FORMAT: &str = "[{severity}] [{time}] [{name}]: {message}";
/// Maximum length of a format in bytes, as in rcutils.
const MAX_FORMAT_BYTES: usize = 2047;

/// The stream, colours and format of log lines.
#[derive(Debug)]
pub(super) struct Console {
    uses_stdout: bool,
    is_coloured: bool,
    format: Vec<Piece>,
}

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Severity,
    Name,
    Message,
    Function,
    File,
    Line,
    Seconds,
    Nanoseconds,
    Date,
}

impl Console {
    /// Standard error in the default format, coloured if a terminal shows it.
    pub(super) fn standard_error() -> Self {
        Self {
            uses_stdout: false,
            is_coloured: is_shown_in_colours(&io::stderr()),
            format: parse(DEFAULT_FORMAT),
        }
    }

    /// Reads rcutils' variables through `variable`. Also returns warnings of invalid values.
    pub(super) fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let mut switch = |name: &str| match variable(name).as_deref() {
            None | Some("") => None,
            Some("0") => Some(false),
            Some("1") => Some(true),
            Some(other) => {
                warnings.push(format!("{name}={other} is neither 0 nor 1, and is ignored"));
                None
            }
        };
        let uses_stdout = switch("RCUTILS_LOGGING_USE_STDOUT").unwrap_or(false);
        let is_coloured = switch("RCUTILS_COLORIZED_OUTPUT").unwrap_or_else(|| {
            if uses_stdout {
                is_shown_in_colours(&io::stdout())
            } else {
                is_shown_in_colours(&io::stderr())
            }
        });
        switch("RCUTILS_LOGGING_BUFFERED_STREAM");
        let format = variable("RCUTILS_CONSOLE_OUTPUT_FORMAT").filter(|format| !format.is_empty());
        let console = Self {
            uses_stdout,
            is_coloured,
            format: parse(format.as_deref().unwrap_or(DEFAULT_FORMAT)),
        };
        (console, warnings)
    }

    /// Writes a line. Failures are ignored: they can't be logged.
    pub(super) fn write(&self, line: &Line) {
        let text = self.format(line);
        let colour = match line.level {
            LogLevel::Fatal | LogLevel::Error => "\x1b[31m",
            LogLevel::Warn => "\x1b[33m",
            LogLevel::Info => "",
            LogLevel::Debug => "\x1b[32m",
        };
        let shown = if self.is_coloured && !colour.is_empty() {
            format!("{colour}{text}\x1b[0m\n")
        } else {
            format!("{text}\n")
        };
        let _ = if self.uses_stdout {
            let mut out = io::stdout().lock();
            out.write_all(shown.as_bytes()).and_then(|()| out.flush())
        } else {
            io::stderr().write_all(shown.as_bytes())
        };
    }

    /// Formats a line, without colours and line end. rcutils' format holds for log files, too.
    pub(super) fn format(&self, line: &Line) -> String {
        let (sec, nanosec) = (line.stamp.sec, line.stamp.nanosec);
        let mut out = String::with_capacity(line.text.len() + 64);
        for piece in &self.format {
            // Writing to a string can't fail.
            let _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Severity => out.write_str(match line.level {
                    LogLevel::Fatal => "FATAL",
                    LogLevel::Error => "ERROR",
                    LogLevel::Warn => "WARN",
                    LogLevel::Info => "INFO",
                    LogLevel::Debug => "DEBUG",
                }),
                Piece::Name => out.write_str(line.logger),
                Piece::Message => out.write_str(line.text),
                Piece::Function => out.write_str(line.function),
                Piece::File => out.write_str(line.file),
                Piece::Line => write!(out, "{}", line.line),
                Piece::Seconds => write!(out, "{sec}.{nanosec:09}"),
                Piece::Nanoseconds => {
                    write!(
                        out,
                        "{}",
                        i64::from(sec) * 1_000_000_000 + i64::from(nanosec)
                    )
                }
                Piece::Date => match Timestamp::new(i64::from(sec), 0) {
                    Ok(time) => {
                        let time = time.to_zoned(TimeZone::system());
                        let date = time.strftime("%Y-%m-%d %H:%M:%S");
                        write!(out, "{date}.{:03}", nanosec / 1_000_000)
                    }
                    Err(_) => Ok(()),
                },
            };
        }
        out
    }
}

/// Returns whether `stream` shows colours: `NO_COLOR`, `CLICOLOR_FORCE` and `--color` decide.
fn is_shown_in_colours(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Parses a format: first its escapes, then its tokens. Unknown ones are text, as in rcutils.
fn parse(format: &str) -> Vec<Piece> {
    let end = format.floor_char_boundary(MAX_FORMAT_BYTES);
    let format = unescape(format.get(..end).unwrap_or_default());
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format.as_str();
    while let Some(begin) = rest.find('{') {
        let (before, from) = rest.split_at(begin);
        text.push_str(before);
        let token = from
            .split_once('}')
            .and_then(|(token, after)| Some((token_piece(&token[1..])?, after)));
        match token {
            Some((piece, after)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(piece);
                rest = after;
            }
            None => {
                text.push('{');
                rest = &from[1..];
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

fn token_piece(token: &str) -> Option<Piece> {
    Some(match token {
        "severity" => Piece::Severity,
        "name" => Piece::Name,
        "message" => Piece::Message,
        "function_name" => Piece::Function,
        "file_name" => Piece::File,
        "line_number" => Piece::Line,
        "time" => Piece::Seconds,
        "time_as_nanoseconds" => Piece::Nanoseconds,
        "date_time_with_ms" => Piece::Date,
        _ => return None,
    })
}

/// Replaces the escapes of rcutils: `\a`, `\b`, `\n`, `\r`, `\t` and `\x1b`.
fn unescape(format: &str) -> String {
    const ESCAPES: [(&str, char); 6] = [
        ("a", '\x07'),
        ("b", '\x08'),
        ("n", '\n'),
        ("r", '\r'),
        ("t", '\t'),
        ("x1b", '\x1b'),
    ];
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let escape = ESCAPES
            .iter()
            .find_map(|(name, c)| Some((after.strip_prefix(name)?, *c)));
        rest = match escape {
            Some((after, c)) => {
                out.push(c);
                after
            }
            None => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use urdf_usd_ros::msg::builtin_interfaces::Time;

    use super::*;

    fn console(variables: &[(&str, &str)]) -> (Console, Vec<String>) {
        Console::from_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn formatted(format: &str) -> String {
        let line = Line {
            stamp: Time {
                sec: 1_700_000_000,
                nanosec: 12_345_678,
            },
            level: LogLevel::Warn,
            logger: "left.urdf_usd",
            text: "a robot",
            file: "src/engine.rs",
            function: "urdf_usd::engine",
            line: 7,
        };
        console(&[("RCUTILS_CONSOLE_OUTPUT_FORMAT", format)])
            .0
            .format(&line)
    }

    #[test]
    fn formats_are_those_of_rcutils() {
        for (format, text) in [
            ("", "[WARN] [1700000000.012345678] [left.urdf_usd]: a robot"),
            ("{name}:{message}", "left.urdf_usd:a robot"),
            (
                "{file_name}:{line_number} {function_name}",
                "src/engine.rs:7 urdf_usd::engine",
            ),
            ("{time_as_nanoseconds}", "1700000000012345678"),
            (
                r"\x1b[1m{severity}\t|\q\\n{x}{{severity}}{",
                "\x1b[1mWARN\t|\\q\\\n{x}{WARN}{",
            ),
        ] {
            assert_eq!(formatted(format), text, "{format}");
        }
        let date = formatted("{date_time_with_ms}");
        assert!(
            date.starts_with("2023-11-1") && date.ends_with(".012") && date.len() == 23,
            "{date}"
        );
        assert_eq!(formatted(&"ä".repeat(5000)).len(), 2046);
    }

    #[test]
    fn switches_are_zero_or_one() {
        let (console, warnings) = console(&[
            ("RCUTILS_LOGGING_USE_STDOUT", "1"),
            ("RCUTILS_COLORIZED_OUTPUT", "1"),
            ("RCUTILS_LOGGING_BUFFERED_STREAM", "line"),
        ]);
        assert!(console.uses_stdout && console.is_coloured);
        assert_eq!(
            warnings,
            ["RCUTILS_LOGGING_BUFFERED_STREAM=line is neither 0 nor 1, and is ignored"]
        );
    }
}
