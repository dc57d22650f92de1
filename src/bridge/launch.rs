//! From a command line to a running node, and to its end.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::engine::Engine;
use super::ownership::OutputDir;
use super::parameters::Parameters;
use super::places::Places;
use super::work::Convert;
use super::{codes, logging};
use crate::convert::{self, Context, Job};
use crate::diagnostic::{Diagnostic, Place, escape_controls, escape_controls_in_list};
use crate::ros::{self, Args, Changes, Node};
use crate::serve::{Server, Site};
use crate::store::Store;

/// The node's name unless it is remapped.
pub(super) const NAME: &str = "urdf_usd";
/// How long threads that still convert are waited for: what they leave is whole at any instant.
const PATIENCE: Duration = Duration::from_millis(500);
/// The command line was wrong.
const USAGE: u8 = 2;

const HELP: &str = "\
The ROS 2 node of urdf_usd: hears robot descriptions and keeps their OpenUSD and glTF assets current.

Usage: bridge [--ros-args [-r FROM:=TO] [-p NAME:=VALUE] [--params-file FILE] [--log-level LEVEL] ...]

Its parameters, topics and services are in the README, and in config/bridge.yaml.
";

/// Runs the node with `arguments` (without the program's name) until it is interrupted.
///
/// 0: interrupted. 1: it could not start. 2: the arguments, the parameters or the environment were wrong.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => fail(&diagnostic),
    }
}

/// Shows why the node ends, and tells the exit code.
pub(crate) fn fail(diagnostic: &Diagnostic) -> ExitCode {
    let place = if diagnostic.place.file.is_some() { format!("{}: ", diagnostic.place) } else { String::new() };
    let message = format!("{place}{}", diagnostic.message);
    let _ = writeln!(std::io::stderr(), "error: {}", escape_controls_in_list(&message));
    // Examples of parameter files have lines.
    for (number, line) in diagnostic.help.lines().enumerate() {
        let begin = if number == 0 { "  help: " } else { "" };
        let _ = writeln!(std::io::stderr(), "{begin}{}", escape_controls(line));
    }
    let is_usage = [
        &codes::ARGUMENT,
        &ros::codes::ARGUMENT,
        &ros::codes::INVALID_NAME,
        &ros::codes::PARAMETER_FILE,
        &ros::codes::PARAMETER_TYPE,
        &ros::codes::PARAMETER_VALUE,
        &ros::codes::ENVIRONMENT,
    ];
    if is_usage.iter().any(|code| code.id == diagnostic.code) { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Diagnostic> {
    let wrong = |argument: &str, why: &str| {
        let message = format!("{argument}: {why}");
        Diagnostic::new(&codes::ARGUMENT, Place::default(), message)
            .help("write ROS arguments after --ros-args; --help tells more")
    };
    let texts: Result<Vec<String>, OsString> = arguments.into_iter().map(OsString::into_string).collect();
    let texts = texts.map_err(|argument| wrong(&argument.to_string_lossy(), "this is not UTF-8"))?;
    let (args, rest) = Args::parse(texts)?;
    match rest.first().map(String::as_str) {
        Some("-h" | "--help") => {
            let _ = write!(std::io::stdout(), "{HELP}");
            return Ok(());
        }
        Some(other) => return Err(wrong(other, "the node has no such argument")),
        None => {}
    }
    logging::start(&args.names(NAME)?.node.fully_qualified(), &args);
    let runtime = runtime()?;
    let result = runtime.block_on(live(args));
    runtime.shutdown_timeout(PATIENCE);
    result
}

async fn live(args: Args) -> Result<(), Diagnostic> {
    let mut interrupted = Interrupted::new()?;
    let node = Arc::new(ros::start(NAME, &args)?);
    if args.rosout_logs != Some(false) {
        logging::send_to(Some(Arc::new(ros::rosout::open(&*node)?)));
    }
    let changes = node.changes();
    let parameters = Parameters::declare(&*node)?;
    for diagnostic in node.unused_overrides() {
        tracing::warn!("{diagnostic}");
    }
    let ready = Ready::new(node.clone(), parameters, changes, Arc::default()).await?;
    tokio::select! {
        () = ready.run() => {}
        name = interrupted.wait() => tracing::info!("{name}: ending"),
    }
    logging::send_to(None);
    let failure = node.failure();
    node.shutdown();
    failure.map_or(Ok(()), Err)
}

/// The threads of the node.
pub(crate) fn runtime() -> Result<Runtime, Diagnostic> {
    let builder = tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("bridge").enable_all().build();
    builder.map_err(|error| Diagnostic::new(&codes::SYSTEM, Place::default(), format!("the system gives no threads: {error}")))
}

/// The signals that end a node.
pub(crate) struct Interrupted {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupted {
    /// Takes the signals over, in a runtime.
    pub(crate) fn new() -> Result<Self, Diagnostic> {
        let take = |kind| {
            signal(kind).map_err(|error| {
                Diagnostic::new(&codes::SYSTEM, Place::default(), format!("the system delivers no signals: {error}"))
            })
        };
        Ok(Self { interrupt: take(SignalKind::interrupt())?, terminate: take(SignalKind::terminate())? })
    }

    /// Waits for one and tells its name.
    pub(crate) async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "terminated",
        }
    }
}

/// A node that has everything it needs.
pub(super) struct Ready<N> {
    engine: Engine<N>,
    server: Option<Server>,
    site: Arc<Site>,
    _output: OutputDir,
}

impl<N: Node> Ready<N> {
    /// Takes the output directory and the HTTP port, and opens topics and services.
    ///
    /// # Errors
    /// What could not be had.
    pub(super) async fn new(
        node: Arc<N>,
        mut parameters: Parameters,
        changes: Changes,
        site: Arc<Site>,
    ) -> Result<Self, Diagnostic> {
        let output = OutputDir::claim(&parameters.output_dir, &node.fully_qualified_name())?;
        output.path().clone_into(&mut parameters.output_dir);
        let server = match parameters.http {
            Some(address) => Some(Server::bind(address).await?),
            None => None,
        };
        let context = Context { store: Store::in_memory(parameters.cache_mb << 20), ..Context::default() };
        let convert: Arc<Convert> = Arc::new(move |job: &Job| convert::convert(job, &context));
        let places = Places::scan(output.path());
        let engine = Engine::start(node, parameters, changes, convert, site.clone(), places)?;
        Ok(Self { engine, server, site, _output: output })
    }

    /// The URL of the page, if there is one.
    pub(super) fn url(&self) -> Option<String> {
        self.server.as_ref().map(Server::url)
    }

    /// Works until the node leaves the ROS graph, or the future is dropped.
    pub(super) async fn run(self) {
        let Self { engine, server, site, _output } = self;
        let Some(server) = server else { return engine.run().await };
        tracing::info!("the page is at {}", server.url());
        tokio::select! {
            () = engine.run() => {}
            () = server.serve(site) => {}
        }
    }
}
