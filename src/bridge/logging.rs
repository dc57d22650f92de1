//! Log lines as people know them from ROS: `[INFO] [1700000000.123456789] [urdf_usd]: text` on standard error.

use std::fmt::{self, Write};
use std::io::{self, IsTerminal};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::ros::msg::builtin_interfaces::Time;

/// Starts logging for the node called `name`, as far as `filter` (in the syntax of [`EnvFilter`]) lets lines through. Later calls
/// change nothing.
pub fn start(name: &str, filter: &str) {
    let name = name.trim_start_matches('/').replace('/', ".");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let format = Lines { name, colours: io::stderr().is_terminal() };
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).event_format(format).with_filter(filter);
    let _ = tracing_subscriber::registry().with(layer).try_init();
}

struct Lines {
    name: String,
    colours: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut text = Text::default();
        event.record(&mut text);
        let (word, colour) = match *event.metadata().level() {
            Level::ERROR => ("ERROR", "\x1b[31m"),
            Level::WARN => ("WARN", "\x1b[33m"),
            Level::INFO => ("INFO", ""),
            _ => ("DEBUG", "\x1b[32m"),
        };
        let (begin, end) = if self.colours && !colour.is_empty() { (colour, "\x1b[0m") } else { ("", "") };
        let now = Time::now();
        writeln!(out, "{begin}[{word}] [{}.{:09}] [{}]: {}{end}", now.sec, now.nanosec, self.name, printable(&text.0))
    }
}

/// What an event says: its message, then its fields.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else if field.name().starts_with("log.") {
            Ok(())
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
        debug_assert!(written.is_ok(), "a string takes everything");
    }
}

/// The text without what could move a terminal's cursor: names come from files and from the network.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_look_like_those_of_ros() {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .event_format(Lines { name: "left.urdf_usd".to_owned(), colours: false });
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!("robot {:?} \x1b[2J has no wheels", "a\nb");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let (head, tail) = text.split_once(" [left.urdf_usd]: ").unwrap();
        assert_eq!(tail, "robot \"a\\nb\" \u{fffd}[2J has no wheels\n");
        let (seconds, fraction) =
            head.strip_prefix("[WARN] [").and_then(|s| s.strip_suffix(']')).and_then(|s| s.split_once('.')).unwrap();
        assert!(seconds.parse::<u64>().is_ok() && fraction.len() == 9, "{head}");
    }
}
