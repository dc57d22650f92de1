//! Log output in the format of ROS: `[INFO] [1700000000.123456789] [urdf_usd]: text`.
//!
//! Lines go to the [console](super::console), to a file next to those of other nodes, and to a
//! [`Sink`] such as the topic `/rosout`.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use urdf_usd_diagnostic::escape_controls_in_list;
use urdf_usd_ros::Args;
use urdf_usd_ros::args::LogLevel;
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::rosout::Line;

use super::console::Console;

/// A receiver of log lines. It must neither block nor log.
pub type Sink = dyn Fn(&Line) + Send + Sync;

/// The additional receiver of this process's lines.
static SINK: RwLock<Option<Arc<Sink>>> = RwLock::new(None);

/// Starts logging for the node `name` with the settings in `args`. Later calls have no effect.
pub fn start(name: &str, args: &Args) {
    let file =
        (args.file_logs != Some(false)).then(|| LogFile::create(args.log_file_name.as_deref()));
    let (file, fault) = match file {
        Some(Ok(file)) => (Some(file), None),
        Some(Err(fault)) => (None, Some(fault)),
        None => (None, None),
    };
    let (console, warnings) = Console::from_environment(|name| std::env::var(name).ok());
    let lines = Lines::new(name, console, args.stdout_logs != Some(false), file);
    let filter = args.log_filter(&lines.name);
    install(lines, &filter);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Some(fault) = fault {
        tracing::warn!("cannot create the log file: {fault}");
    }
}

/// Starts logging to the terminal only. `filter` has the syntax of [`EnvFilter`].
pub fn start_in_terminal(name: &str, filter: &str) {
    install(
        Lines::new(name, Console::standard_error(), true, None),
        filter,
    );
}

fn install(lines: Lines, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Fails, without effect, if logging was started before.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init();
}

/// Sets or removes the additional receiver. Messages of network libraries are excluded, because
/// publishing a message makes them log more.
pub fn send_to(sink: Option<Arc<Sink>>) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

struct Lines {
    name: String,
    console: Console,
    /// Lines go to the console (`--enable-stdout-logs`, rcl's default).
    is_shown: bool,
    file: Option<Mutex<LogFile>>,
    libraries: Mutex<LibraryWarnings>,
}

impl Lines {
    fn new(name: &str, console: Console, is_shown: bool, file: Option<LogFile>) -> Self {
        // Loggers of ROS separate the levels of their names by dots.
        let name = name.trim_start_matches('/').replace('/', ".");
        Self {
            name,
            console,
            is_shown,
            file: file.map(Mutex::new),
            libraries: Mutex::default(),
        }
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let level = match *metadata.level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let is_own = metadata.target().starts_with("urdf_usd");
        let level = if !is_own && level == LogLevel::Error {
            LogLevel::Warn
        } else {
            level
        };
        if !is_own && level == LogLevel::Warn {
            if fields.place.is_empty() {
                fields.place = format!("{:?}:{:?}", metadata.file(), metadata.line());
            }
            let mut libraries = self
                .libraries
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let Some(before) = libraries.take(std::mem::take(&mut fields.place), Instant::now())
            else {
                return;
            };
            let by = if fields.by.is_empty() {
                metadata.target()
            } else {
                &fields.by
            };
            let library = by.split("::").next().unwrap_or_default().to_owned();
            let _ = write!(fields.text, " (from {library}{before})");
        }
        // Names come from files and the network: escaped, they can neither begin a line nor move
        // the cursor. The lines of our own lists are indented.
        let text = escape_controls_in_list(&fields.text);
        let line = Line {
            stamp: Time::now(),
            level,
            logger: &self.name,
            text: &text,
            file: metadata.file().unwrap_or_default(),
            function: metadata.module_path().unwrap_or_default(),
            line: metadata.line().unwrap_or_default(),
        };
        if self.is_shown {
            self.console.write(&line);
        }
        if let Some(file) = &self.file {
            let text = self.console.format(&line) + "\n";
            file.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(&text);
        }
        if !is_own {
            return;
        }
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink(&line);
        }
    }
}

/// Rate limit for warnings of libraries: each cause once a minute.
#[derive(Default)]
struct LibraryWarnings(HashMap<String, (Instant, u64)>);

impl LibraryWarnings {
    /// Returns `None` if the warning from this source line was logged recently, otherwise a note on
    /// how often it was suppressed since.
    fn take(&mut self, place: String, now: Instant) -> Option<String> {
        const REPEAT_INTERVAL: Duration = Duration::from_secs(60);
        match self.0.get_mut(&place) {
            Some((logged, suppressed)) if now.duration_since(*logged) < REPEAT_INTERVAL => {
                *suppressed += 1;
                None
            }
            known => {
                let suppressed = known.map_or(0, |(_, suppressed)| *suppressed);
                // Bounded by the number of source lines that warn.
                self.0.insert(place, (now, 0));
                Some(if suppressed == 0 {
                    String::new()
                } else {
                    format!(", repeated {suppressed} times since the last message")
                })
            }
        }
    }
}

/// The text of an event: its message, then its fields; and its origin if it comes through the `log`
/// crate.
#[derive(Default)]
struct EventFields {
    text: String,
    place: String,
    by: String,
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            "log.file" | "log.line" => write!(self.place, "{value:?}:"),
            "log.target" => write!(self.by, "{value:?}"),
            name if name.starts_with("log.") => Ok(()),
            name => write!(self.text, " {name}={value:?}"),
        };
        debug_assert!(written.is_ok(), "a string takes everything");
    }
}

/// The log file of this process, in the directory that all ROS nodes use: `ROS_LOG_DIR`, else
/// `ROS_HOME/log`, else `~/.ros/log`.
struct LogFile(Option<File>);

impl LogFile {
    /// Creates the file. Its name begins with `prefix`, or with the program's name.
    fn create(prefix: Option<&str>) -> Result<Self, String> {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let folder = log_folder(
            variable("ROS_LOG_DIR"),
            variable("ROS_HOME"),
            variable("HOME"),
        )
        .ok_or("neither ROS_LOG_DIR nor ROS_HOME nor HOME is set")?;
        let program = std::env::current_exe().ok();
        let program = program
            .as_deref()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy());
        let prefix = prefix.or(program.as_deref()).unwrap_or("bridge");
        let Time { sec, nanosec } = Time::now();
        // Named as by rcl: program, process, milliseconds since 1970.
        let path = folder.join(format!(
            "{prefix}_{}_{sec}{:03}.log",
            std::process::id(),
            nanosec / 1_000_000
        ));
        let created = fs::create_dir_all(&folder).and_then(|()| File::create(&path));
        created
            .map(|file| Self(Some(file)))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Appends a line; after the first failure, such as a full disk, later lines are dropped.
    fn add(&mut self, line: &str) {
        if self
            .0
            .as_mut()
            .is_some_and(|file| file.write_all(line.as_bytes()).is_err())
        {
            self.0 = None;
        }
    }
}

/// Returns the directory for log files. A leading `~` is the home directory.
fn log_folder(
    log_dir: Option<PathBuf>,
    ros_home: Option<PathBuf>,
    home: Option<PathBuf>,
) -> Option<PathBuf> {
    let expand = |path: PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    };
    let in_home = || home.as_ref().map(|home| home.join(".ros"));
    log_dir.map(expand).or_else(|| {
        ros_home
            .map(expand)
            .or_else(in_home)
            .map(|home| home.join("log"))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a subscriber that collects the lines of a thread.
    pub(crate) fn collecting(lines: Arc<Mutex<Vec<String>>>) -> impl Subscriber + Send + Sync {
        struct Collect(Arc<Mutex<Vec<String>>>);
        impl<S: Subscriber> Layer<S> for Collect {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                let mut fields = EventFields::default();
                event.record(&mut fields);
                self.0.lock().unwrap().push(fields.text);
            }
        }
        tracing_subscriber::registry().with(Collect(lines))
    }

    #[test]
    fn lines_look_like_those_of_ros_and_reach_every_sink() {
        let path = std::env::temp_dir().join(format!("urdf_usd_log_{}", std::process::id()));
        let file = LogFile(Some(File::create(&path).unwrap()));
        type Taken = Vec<(LogLevel, String, String, u32)>;
        let taken: Arc<Mutex<Taken>> = Arc::default();
        let sink = taken.clone();
        let lines = Lines::new(
            "/left/urdf_usd",
            Console::standard_error(),
            false,
            Some(file),
        );
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            send_to(Some(Arc::new(move |line: &Line| {
                sink.lock().unwrap().push((
                    line.level,
                    line.logger.to_owned(),
                    line.text.to_owned(),
                    line.line,
                ));
            })));
            tracing::warn!(
                left = 1,
                "robot {:?} \x1b[2J\n[INFO] forged\u{202e} has no wheels",
                "a\nb"
            );
            send_to(None);
            tracing::error!("not for the sink");
        });
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (head, tail) = text.split_once(" [left.urdf_usd]: ").unwrap();
        let shown = r#"robot "a\nb" \u{1b}[2J\n[INFO] forged\u{202e} has no wheels left=1"#;
        assert!(tail.starts_with(&format!("{shown}\n[ERROR] [")), "{tail}");
        let (seconds, fraction) = head
            .strip_prefix("[WARN] [")
            .and_then(|s| s.strip_suffix(']'))
            .and_then(|s| s.split_once('.'))
            .unwrap();
        assert!(
            seconds.parse::<u64>().is_ok() && fraction.len() == 9,
            "{head}"
        );
        // Other tests in this process log too.
        let taken = taken.lock().unwrap();
        let mine: Vec<_> = taken
            .iter()
            .filter(|(_, _, text, _)| text.contains("has no wheels"))
            .collect();
        let [(level, logger, text, line)] = mine[..] else {
            panic!("{taken:?}")
        };
        assert_eq!((level, logger.as_str()), (&LogLevel::Warn, "left.urdf_usd"));
        assert!(
            text.ends_with("has no wheels left=1") && *line > 0,
            "{text}"
        );
        assert!(
            !taken
                .iter()
                .any(|(_, _, text, _)| text.contains("not for the sink"))
        );
    }

    #[test]
    fn library_warnings_are_logged_once_a_minute() {
        let (mut libraries, start) = (LibraryWarnings::default(), Instant::now());
        let mut take = |place: &str, seconds| {
            libraries.take(place.to_owned(), start + Duration::from_secs(seconds))
        };
        assert_eq!(take("a:1", 0).as_deref(), Some(""));
        assert_eq!((take("a:1", 1), take("a:1", 59)), (None, None));
        assert_eq!(take("a:2", 59).as_deref(), Some(""));
        assert_eq!(
            take("a:1", 61).as_deref(),
            Some(", repeated 2 times since the last message")
        );
        assert_eq!(take("a:1", 62), None);
    }

    #[test]
    fn log_files_lie_where_those_of_other_nodes_do() {
        let path = |text: &str| Some(PathBuf::from(text));
        for (log_dir, ros_home, home, folder) in [
            (path("/logs"), path("/ros"), path("/home/a"), path("/logs")),
            (None, path("/ros"), path("/home/a"), path("/ros/log")),
            (None, None, path("/home/a"), path("/home/a/.ros/log")),
            (path("~/logs"), None, path("/home/a"), path("/home/a/logs")),
            (None, None, None, None),
        ] {
            assert_eq!(log_folder(log_dir, ros_home, home), folder);
        }
    }
}
