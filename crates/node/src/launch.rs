//! The node's life: start from a command line, run, shut down.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use futures::FutureExt;
use futures::future::OptionFuture;

use super::asset_paths::AssetPaths;
use super::descriptors;
use super::engine::Engine;
use super::jobs::Convert;
use super::ownership::OutputDir;
use super::parameters::Parameters;
use super::{codes, parts};
use crate::process::signals::Interrupted;
use crate::process::{self, fail, logging, raise_file_limit, runtime};
use urdf_usd_convert::{Context, Job};
use urdf_usd_diagnostic::{Diagnostic, Place, Severity};
use urdf_usd_ros::{self as ros, Args, Changes, Node};
use urdf_usd_serve::{Fleet, Server, Site, codes as serve_codes};
use urdf_usd_worker::{Limits, Program, Workers};

/// Default name of the node.
pub(crate) const NAME: &str = "urdf_usd";
/// Time to wait for running conversions at shutdown. Killing one is safe: files are replaced
/// atomically.
const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum duration of a shutdown, whatever hangs.
const MAX_SHUTDOWN: Duration = Duration::from_secs(10);

const HELP: &str = "\
The ROS 2 node of urdf_usd: converts robot descriptions to OpenUSD and glTF assets and keeps them up to date.

Usage: bridge [--version | --ros-args [-r FROM:=TO] [-p NAME:=VALUE] [--params-file FILE] [--log-level LEVEL] ...]

Topics and services are listed in docs/guides/node.md.

Parameters, with their defaults:
";

/// Returns the text of `bridge --help`: its usage, and all parameters.
pub fn help() -> String {
    format!("{HELP}{}", crate::parameters::to_help())
}

/// Runs the node with `arguments` (without the program's name) until it is interrupted.
///
/// `program` is started as worker processes; without it, conversions run in the node's own process,
/// which exits if too many of them hang.
///
/// Returns 0 if it was interrupted; 1 if it could not start or a part that it can't work without
/// has ended; 2 if the arguments, the parameters or the environment are invalid.
pub fn main(arguments: impl IntoIterator<Item = OsString>, program: Option<&Program>) -> ExitCode {
    match run(arguments, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => {
            let code = fail(&diagnostic);
            if diagnostic.code == codes::ARGUMENT.id {
                ExitCode::from(process::USAGE)
            } else {
                code
            }
        }
    }
}

fn run(
    arguments: impl IntoIterator<Item = OsString>,
    program: Option<&Program>,
) -> Result<(), Diagnostic> {
    let wrong = |argument: &str, why: &str| {
        let message = format!("{argument}: {why}");
        Diagnostic::new(&codes::ARGUMENT, Place::default(), message)
            .help("put ROS arguments after --ros-args; see --help")
    };
    let texts: Result<Vec<String>, OsString> =
        arguments.into_iter().map(OsString::into_string).collect();
    let texts = texts.map_err(|argument| wrong(&argument.to_string_lossy(), "not valid UTF-8"))?;
    let (args, rest) = Args::parse(texts)?;
    if let Some(other) = rest.first() {
        return Err(wrong(other, "unknown argument"));
    }
    logging::start(&args.names(NAME)?.node.fully_qualified(), &args);
    // The code that catches a panic reports what it was for; only this hook knows its location.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("bug in urdf_usd: {panic}")
    }));
    tracing::info!(
        "urdf_usd {}, ROS client {}",
        env!("CARGO_PKG_VERSION"),
        ros::CLIENT
    );
    let limit = raise_file_limit();
    let runtime = runtime()?;
    let result = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(run_node(args, limit, program))
    }))
    .unwrap_or_else(|panic| Err(parts::defect("the node", &*panic)));
    // Don't wait for running conversions: files are replaced atomically.
    exit_after_timeout();
    runtime.shutdown_timeout(PATIENCE);
    result
}

/// Starts a thread, once, that ends the process if the shutdown takes too long.
fn exit_after_timeout() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without this thread the shutdown is merely unbounded.
        let _ = std::thread::Builder::new()
            .name("end".to_owned())
            .spawn(|| {
                std::thread::sleep(MAX_SHUTDOWN);
                std::process::exit(1);
            });
    });
}

async fn run_node(args: Args, limit: usize, program: Option<&Program>) -> Result<(), Diagnostic> {
    let mut interrupted = Interrupted::new()?;
    let node = Arc::new(ros::start(NAME, &args)?);
    if args.rosout_logs != Some(false) {
        logging::send_to(Some(Arc::new(ros::rosout::open(&*node)?)));
    }
    let changes = node.changes();
    let parameters = Parameters::declare(&*node)?;
    for diagnostic in node.finish_declaring() {
        tracing::warn!("{diagnostic}");
    }
    let ready = Ready::new(
        node.clone(),
        parameters,
        changes,
        Arc::default(),
        (limit, program),
    )
    .await?;
    let interruption = async {
        let name = interrupted.wait().await;
        tracing::info!("{name}: ending");
        // Here already: `select!` drops the running node before it runs a handler.
        exit_after_timeout();
    };
    let result = tokio::select! {
        ended = ready.run() => {
            tracing::error!("{ended}");
            Err(ended)
        }
        () = interruption => Ok(()),
    };
    // Leaving the graph may hang as well.
    exit_after_timeout();
    logging::send_to(None);
    node.shutdown();
    result
}

/// Listens on the HTTP address or a port near it. Without one, the node converts all the same.
async fn bind(address: SocketAddr) -> Option<Server> {
    let server = Server::bind_near(address).await;
    let warning = match &server {
        Ok(server) if server.address() == address => None,
        Ok(server) => {
            let (asked, got) = (address.port(), server.address().port());
            let message = format!(
                "port {asked} of {} is in use, so the viewer is at port {got}",
                address.ip()
            );
            let warning = Diagnostic::new(&serve_codes::PORT_IN_USE, Place::default(), message);
            Some(
                warning.help("set the parameter http.port to choose one, or to 0 to turn HTTP off"),
            )
        }
        Err(refused) => {
            let message = format!("{}; the node runs without the viewer", refused.message);
            Some(Diagnostic {
                message,
                severity: Severity::Warning,
                ..refused.clone()
            })
        }
    };
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    server.ok()
}

/// A node that has started and holds all its resources.
pub(crate) struct Ready<N> {
    engine: Engine<N>,
    server: Option<Server>,
    site: Arc<Site>,
    fleet: Option<Arc<Fleet>>,
    cancelled: Cancelled,
    _output: OutputDir,
}

/// A guard that cancels running conversions when the node ends.
struct Cancelled(Arc<AtomicBool>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<N: Node> Ready<N> {
    /// Claims the output directory and the HTTP port, and opens topics and services. `limit` is the
    /// number of files that the process may open; `program` is started as worker processes.
    ///
    /// # Errors
    /// Returns the first resource that could not be acquired.
    pub(crate) async fn new(
        node: Arc<N>,
        mut parameters: Parameters,
        changes: Changes,
        site: Arc<Site>,
        (limit, program): (usize, Option<&Program>),
    ) -> Result<Self, Diagnostic> {
        let output = OutputDir::claim(&parameters.output_dir, &node.fully_qualified_name())?;
        output.path().clone_into(&mut parameters.output_dir);
        let connections = descriptors::for_http(limit);
        let fleet = parameters.fleet_dir.as_deref().map(|folder| {
            Fleet::join(
                folder,
                node.fully_qualified_name(),
                output.path(),
                parameters.fleet_period,
            )
        });
        let workers = program.map_or_else(Workers::here, |program| {
            Workers::new(program.clone(), parameters.workers, parameters.cache_mb).warmed_up()
        });
        let workers = Arc::new(workers);
        let server = match parameters.http() {
            Some(address) => bind(address).await.map(|server| {
                server
                    .max_connections(connections)
                    .allow_writing(parameters.http_allow_writing)
                    .embed_in(parameters.http_embed_in.clone())
                    .render_with(workers.clone(), parameters.conversion.memory_limit)
                    .convert_uploads(
                        workers.clone(),
                        parameters.conversion.resolve.clone(),
                        Limits {
                            time: parameters.conversion.time_limit,
                            memory: parameters.conversion.memory_limit,
                        },
                    )
            }),
            None => None,
        };
        let url = server.as_ref().and_then(Server::public_url);
        let fleet = fleet.map(|fleet| Arc::new(fleet.with_url(url)));
        let server = server.map(|server| server.serve_fleet(fleet.clone()));
        let context = Context::default();
        let cancelled = Cancelled(context.cancelled.clone());
        let converting = workers.clone();
        let convert: Arc<Convert> = Arc::new(move |job: &Job| converting.convert(job, &context));
        let asset_paths = AssetPaths::scan(output.path());
        let engine = Engine::start(
            node,
            parameters,
            changes,
            (convert, workers),
            site.clone(),
            asset_paths,
        )?;
        Ok(Self {
            engine,
            server,
            site,
            fleet,
            cancelled,
            _output: output,
        })
    }

    /// Returns the URL of the viewer page, if HTTP is on.
    pub(crate) fn url(&self) -> Option<String> {
        self.server.as_ref().map(Server::url)
    }

    /// Runs until a part that the node can't work without ends, and returns which one. Dropping the
    /// future stops the node.
    pub(crate) async fn run(self) -> Diagnostic {
        let Self {
            engine,
            server,
            site,
            fleet,
            cancelled,
            _output,
        } = self;
        let announcing = OptionFuture::from(fleet.map(|fleet| fleet.announce(site.clone())));
        let serving = OptionFuture::from(server.map(|server| {
            tracing::info!("the page is at {}", server.url());
            server.serve(site)
        }));
        let works = async {
            tokio::select! {
                ended = engine.run() => ended,
                Some(()) = serving => parts::ended("the HTTP server"),
                Some(()) = announcing => parts::ended("the announcement in the fleet"),
            }
        };
        let ended = AssertUnwindSafe(works).catch_unwind().await;
        // After a panic, too, running conversions are cancelled.
        drop(cancelled);
        ended.unwrap_or_else(|panic| parts::defect("the node", &*panic))
    }
}
