//! From a command line to a running node, and to its end.

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;

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
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_ros::{self as ros, Args, Changes, Node};
use urdf_usd_serve::{Server, Site};
use urdf_usd_worker::{Program, Workers};

/// The node's name unless it is remapped.
pub(crate) const NAME: &str = "urdf_usd";
/// How long threads that still convert are waited for: what they leave is whole at any instant.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the end may take at most, whatever hangs.
const LAST: Duration = Duration::from_secs(10);

const HELP: &str = "\
The ROS 2 node of urdf_usd: hears robot descriptions and keeps their OpenUSD and glTF assets current.

Usage: bridge [--ros-args [-r FROM:=TO] [-p NAME:=VALUE] [--params-file FILE] [--log-level LEVEL] ...]

Its topics and services are in the README, its parameters in docs/parameters.md and config/bridge.yaml.
";

/// Runs the node with `arguments` (without the program's name) until it is interrupted. `program`
/// is the calling program, started again as workers; without it, conversions run in the node's own
/// process, which exits if too many of them hang.
///
/// 0: interrupted. 1: it could not start, or something ended that it can't do without. 2: the
/// arguments, the parameters or the environment were wrong.
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
            .help("write ROS arguments after --ros-args; --help tells more")
    };
    let texts: Result<Vec<String>, OsString> =
        arguments.into_iter().map(OsString::into_string).collect();
    let texts =
        texts.map_err(|argument| wrong(&argument.to_string_lossy(), "this is not UTF-8"))?;
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
    // Where a defect is caught, and what for, is told by whoever catches it; where it was, only
    // here.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("a defect of urdf_usd: {panic}")
    }));
    let limit = raise_file_limit();
    let runtime = runtime()?;
    let result = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(live(args, limit, program))
    }))
    .unwrap_or_else(|panic| Err(parts::defect("the node", &*panic)));
    // Whatever still runs is not waited for: what it leaves is whole at any instant.
    end_in_time();
    runtime.shutdown_timeout(PATIENCE);
    result
}

/// Sees to it that the process ends, whatever hangs.
fn end_in_time() {
    // Without a thread for it the end takes as long as it takes.
    let _ = std::thread::Builder::new()
        .name("end".to_owned())
        .spawn(|| {
            std::thread::sleep(LAST);
            std::process::exit(1);
        });
}

async fn live(args: Args, limit: usize, program: Option<&Program>) -> Result<(), Diagnostic> {
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
    let result = tokio::select! {
        ended = ready.run() => {
            tracing::error!("{ended}");
            Err(ended)
        }
        name = interrupted.wait() => {
            tracing::info!("{name}: ending");
            Ok(())
        }
    };
    end_in_time();
    logging::send_to(None);
    node.shutdown();
    result
}

/// A node that has everything it needs.
pub(crate) struct Ready<N> {
    engine: Engine<N>,
    server: Option<Server>,
    site: Arc<Site>,
    cancelled: Cancelled,
    _output: OutputDir,
}

/// Calls conversions off that still run when the node ends.
struct Cancelled(Arc<AtomicBool>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<N: Node> Ready<N> {
    /// Takes the output directory and the HTTP port, and opens topics and services. `limit`: how
    /// many files the process may have open; `program` is started as its workers.
    ///
    /// # Errors
    /// What could not be had.
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
        let workers = program.map_or_else(Workers::here, |program| {
            Workers::new(program.clone(), parameters.workers, parameters.cache_mb).warmed_up()
        });
        let workers = Arc::new(workers);
        let server = match parameters.http() {
            Some(address) => {
                let server = Server::bind(address)
                    .await?
                    .at_most(connections)
                    .letting_write(parameters.http_allow_writing);
                Some(server.drawing_with(workers.clone(), parameters.conversion.memory_limit))
            }
            None => None,
        };
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
            cancelled,
            _output: output,
        })
    }

    /// The URL of the page, if there is one.
    pub(crate) fn url(&self) -> Option<String> {
        self.server.as_ref().map(Server::url)
    }

    /// Works until something ends that the node can't do without, or the future is dropped. Returns
    /// what.
    pub(crate) async fn run(self) -> Diagnostic {
        let Self {
            engine,
            server,
            site,
            cancelled,
            _output,
        } = self;
        let works = async {
            let Some(server) = server else {
                return engine.run().await;
            };
            tracing::info!("the page is at {}", server.url());
            tokio::select! {
                ended = engine.run() => ended,
                () = server.serve(site) => parts::ended("the HTTP server"),
            }
        };
        let ended = AssertUnwindSafe(works).catch_unwind().await;
        drop(cancelled);
        ended.unwrap_or_else(|panic| parts::defect("the node", &*panic))
    }
}
