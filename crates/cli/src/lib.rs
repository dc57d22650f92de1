//! The command line: arguments, messages and exit codes.
//!
//! Exit code 0: success (with warnings, unless `--strict`). 1: failure, or partial success. 2:
//! usage error. Results go to standard output; messages for people go to standard error. This crate
//! makes no decisions about robots.

pub mod api;
mod batch;
mod check;
mod code_quality;
mod codes;
mod conversion;
mod deferred;
#[cfg(test)]
mod documentation;
mod examples;
mod excerpt;
mod findings;
mod fix;
mod folder;
mod ik;
mod isaac;
mod named_poses;
mod packages;
mod pose;
mod progress;
mod results;
mod sarif;
mod subject;
mod terminal;
mod version;
mod view;
mod viewer;
mod xrdf;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use self::conversion::{CommandLimits, Conversion};
use self::deferred::Deferred;
use self::findings::print_diagnostics;
use self::packages::Packages;
use self::progress::Bar;
use self::results::{Refusal, failed, failed_with, print, print_clap, print_json, usage_error};
use self::subject::{AssetFile, PlanningFiles, Read, Robot, XacroArguments};
use self::terminal::{OutputOptions, say, say_as};
use urdf_usd_convert::{
    self as convert, Existing, Job, Options, OutputFormat, Report, Source, Status,
};
use urdf_usd_diagnostic::{self as diagnostic, Diagnostic, Place, Severity, escape_controls};
use urdf_usd_node::{self as node, demo};
use urdf_usd_objects::{check_cache, with_cache};
use urdf_usd_store::Store;
pub use urdf_usd_worker::Program;
use urdf_usd_worker::{self as worker, LIMITED, Limits, WORKER, limited};
use {
    urdf_usd_gltf_read as gltf_read, urdf_usd_gltf_write as gltf_write,
    urdf_usd_resolve as resolve, urdf_usd_store as store, urdf_usd_usd_author as usd_author,
    urdf_usd_usd_read as usd_read,
};

/// Heading of the options of results.
const OUTPUT: &str = "Output";
/// Heading of the options that do not depend on the command.
const GLOBAL: &str = "Global";

/// Convert robots from ROS to OpenUSD (REP-158) and glTF (EXT_robot_kinematics).
#[derive(Parser)]
#[command(
    name = "urdf_usd",
    version,
    max_term_width = 110,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Convert a robot (URDF, xacro, OpenUSD, glTF) to OpenUSD layers, binary glTF and other
    /// formats
    ///
    /// Exit code 0: converted, possibly with warnings. 1: converted with errors: the asset is
    /// written, but incomplete, for instance because a mesh is missing; or not converted (with
    /// --strict also because of warnings): nothing is written. 2: usage error.
    Convert(Deferred<Convert>),
    /// Convert many robots: each in its own process, with a journal from which a run that was
    /// interrupted goes on, and one report
    ///
    /// A robot that is broken, takes too long or needs too much memory costs only itself. Every
    /// robot has a key, from its path or the manifest, and a folder of that name. report.jsonl has a
    /// row for each robot with its result, counts, timings and findings; report.html shows them. A
    /// robot is converted again if its description, the options or the program differ from those of
    /// the last run.
    ///
    /// Exit code 0: all robots of the shard are converted, possibly with warnings. 1: some failed, or
    /// have errors; or the batch did not start. 2: usage error. 75: the batch stopped, as for a full
    /// disk: run it again. 130, 143: it was interrupted or terminated.
    Batch(Deferred<batch::Batch>),
    /// Show the link tree, joints, masses, frames and interfaces of any OpenUSD asset with rigid
    /// bodies, of a URDF or xacro file as converted, or the robots in a glTF file
    Inspect(Deferred<Inspect>),
    /// Check an OpenUSD asset against the rules of REP-158, a glTF file against those of
    /// EXT_robot_kinematics, a URDF or xacro file as a conversion does, or with --live a running
    /// robot against its OpenUSD asset
    ///
    /// Breaking a requirement of the specification is an error, breaking a recommendation a
    /// warning, and anything optional at most an info; docs/rules.md lists all rules. Of a glTF
    /// file, only the extension is checked; the Khronos glTF validator checks accessors, meshes,
    /// images and the rest of core glTF. The findings of a URDF are those of its conversion to
    /// OpenUSD; no asset is written.
    ///
    /// With --live, a node listens to TF and joint states for some seconds. For every frame that
    /// the asset declares (REP-158 §2.7), it reports whether the frame exists, under the right
    /// parent, on the right topic and in the right place, and if not, why.
    ///
    /// Exit code 0: no errors, possibly warnings; live: all frames match the asset. 1: errors, or
    /// the file can't be read; live: some frames differ. 2: usage error.
    Check(Deferred<check::Check>),
    /// Rewrite any OpenUSD asset to follow REP-158
    ///
    /// Transforms become translations and rotations, lengths metres, z points up, and scale is
    /// applied to the geometry. Layers are split by subject; opinions of one simulator get their
    /// own layer. Missing limits, joint names, collider settings, contact materials and metadata
    /// are authored. Files that the asset needs are collected; textures become 8-bit PNG or JPEG.
    /// Prims keep their paths. What can't be fixed is listed.
    ///
    /// Exit code 0: written, and all required rules are kept. 1: written, but some are broken; or
    /// not written, with the reason. 2: usage error.
    Fix(Deferred<fix::Fix>),
    /// Check an XRDF (NVIDIA cuMotion, cuRobo) against a robot, or write one for a robot
    #[command(subcommand)]
    Xrdf(xrdf::Xrdf),
    /// Show, author, check and migrate the Isaac robot schema on any OpenUSD asset; the asset's own
    /// files stay unchanged
    #[command(subcommand)]
    Isaac(isaac::Isaac),
    /// Print the poses of a robot's links for given joint positions (forward kinematics): metres,
    /// quaternions x y z w. Its subcommands manage the named poses of an OpenUSD asset
    ///
    /// Joints that are not set are at zero, or at the limit nearest to it; mimic joints follow
    /// their leaders. Poses are those of the link's frame in the frame of --base, which has x
    /// forward, y left and z up if the robot follows REP 103.
    ///
    /// Exit code 0: printed. 1: the robot can't be read, or has no such joint or link. 2: usage
    /// error.
    Pose(pose::Pose),
    /// Find joint positions, in radians and metres, that bring a link to a target (inverse
    /// kinematics)
    ///
    /// For several links, give --tip and --target several times, in the same order. Positions are
    /// within the limits of all joints, including mimic joints. The same seed gives the same
    /// result.
    ///
    /// Exit code 0: every target is reached. 1: one is not, and the nearest positions are printed;
    /// or the robot can't be read, or has no such joint or link. 2: usage error.
    Ik(Deferred<ik::Ik>),
    /// Write the OpenUSD schemas that assets use beyond OpenUSD's own, for `PXR_PLUGINPATH_NAME`
    Schema(Schema),
    /// Show a robot in a browser, and update it when its files change; no ROS needed
    ///
    /// Converts a description into the cache ($XDG_CACHE_HOME/urdf_usd), and again whenever it or
    /// one of its meshes changes. For an asset, shows every new revision. Without INPUT, the page
    /// shows the robots that are dropped on it.
    View(Deferred<view::View>),
    /// Run the ROS 2 node (the executable `bridge` does the same)
    #[command(disable_help_flag = true)]
    Bridge {
        /// ROS arguments, `--ros-args …`, as for any ROS 2 node
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the node with a sample robot that moves, on loopback; no ROS needed
    Demo(Deferred<demo::Options>),
    /// Print a shell's completion script, to be sourced or installed
    Completions {
        /// The shell to complete for
        shell: Shell,
    },
    /// Print the manual page, for `man -l -`
    Man {
        /// Write the pages of all commands to this directory instead (urdf_usd.1,
        /// urdf_usd-convert.1, …)
        #[arg(short = 'o', long = "output", value_name = "DIR", help_heading = OUTPUT)]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Convert {
    #[command(flatten)]
    robot: Robot,
    #[command(flatten)]
    xacro: XacroArguments,
    /// The directory in which to create the asset's directory
    #[arg(
        short = 'o',
        long = "output-dir",
        value_name = "DIR",
        default_value = ".",
        help_heading = OUTPUT
    )]
    output: PathBuf,
    #[command(flatten)]
    conversion: Conversion,
    /// Replace the asset of the robot's name in the directory. Without it, formats and overlays of an
    /// earlier conversion of the same source stay, and an asset of another source is an error
    #[arg(long, help_heading = OUTPUT)]
    replace: bool,
    /// Neither read nor write the cache of earlier conversions (in $XDG_CACHE_HOME/urdf_usd, at
    /// most URDF_USD_CACHE_MB MiB)
    #[arg(long, help_heading = GLOBAL)]
    no_cache: bool,
    /// Print the report as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

#[derive(Args)]
struct Inspect {
    #[command(flatten)]
    robot: Robot,
    #[command(flatten)]
    xacro: XacroArguments,
    #[command(flatten)]
    files: PlanningFiles,
    #[command(flatten)]
    packages: Packages,
    /// Select a variant of an OpenUSD asset, SET=NAME or /PRIM{SET=NAME} (may be given several
    /// times)
    #[arg(long = "variant", value_name = "SET=NAME", help_heading = subject::INPUT)]
    variants: Vec<usd_read::VariantChoice>,
    #[command(flatten)]
    limits: CommandLimits,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

#[derive(Args)]
struct Schema {
    /// The directory for plugInfo.json and generatedSchema.usda, to be named in PXR_PLUGINPATH_NAME
    #[arg(short = 'o', long = "output", value_name = "DIR", help_heading = OUTPUT)]
    output: PathBuf,
    /// Print the result as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// Runs the command line `arguments`, the first of which is the program's name.
///
/// `program` is the calling program, if it can be started again as a child process; without it,
/// limits apply only where the work itself checks them.
pub fn main(arguments: impl IntoIterator<Item = OsString>, program: Option<&Program>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let first = arguments.get(1).and_then(|first| first.to_str());
    if let (Some(WORKER), Some(program)) = (first, program) {
        return worker::main(arguments.get(2..).unwrap_or_default(), program);
    }
    let is_limited = first == Some(LIMITED);
    if is_limited {
        arguments.remove(1);
    }
    // Before parsing, so that clap's help and errors are coloured, too.
    anstream::ColorChoice::from(terminal::colour_of(&arguments)).write_global();
    results::set_form(&arguments);
    let parsed = command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            return match without_command(&error, &arguments) {
                Some(message) => usage_error(&message),
                None => print_clap(&error),
            };
        }
    };
    cli.output.apply_to_process();
    if let Some((program, under)) = program.zip(cli.command.limited()) {
        if !is_limited {
            return under.run(program, arguments.get(1..).unwrap_or_default());
        }
        limited::take(program, under.limits);
    }
    match cli.command {
        Command::Convert(arguments) => convert(&arguments.0),
        Command::Batch(arguments) => batch::run(&arguments.0, program),
        Command::Inspect(arguments) => inspect(&arguments.0),
        Command::Check(arguments) => check::run(&arguments.0),
        Command::Fix(arguments) => fix::run(&arguments.0),
        Command::Xrdf(command) => xrdf::run(&command),
        Command::Isaac(command) => isaac::run(&command),
        Command::Pose(arguments) => pose::run(&arguments),
        Command::Ik(arguments) => ik::run(&arguments.0),
        Command::Schema(arguments) => schema(&arguments.output, arguments.json),
        Command::View(arguments) => view::run(&arguments.0, program),
        Command::Bridge { arguments } => match arguments.first().and_then(|first| first.to_str()) {
            Some("-V") => print(format!("bridge {}\n", version::SHORT)),
            _ if arguments.iter().any(|it| it == "-h" || it == "--help") => print(node::help()),
            Some("--version") => print(format!("bridge {}\n", version::long())),
            _ => node::main(arguments, program),
        },
        Command::Demo(options) => demo::main(*options.0, program),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), "urdf_usd", &mut text);
            print(text)
        }
        Command::Man { output } => manual(output.as_deref()),
    }
}

/// Returns the message for a robot that is given without a command.
fn without_command(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let path = Path::new(given);
    let mut words = arguments.iter().skip(1);
    let is_first = words.find(|word| !word.as_encoded_bytes().starts_with(b"-"))? == given.as_str();
    let is_robot = path.exists()
        || given.starts_with("package://")
        || is_ending(path, &["urdf", "xacro"])
        || is_ending(path, &urdf_usd_convert::ASSETS);
    (is_first && is_robot).then(|| {
        format!(
            "give a command before {given}: `urdf_usd view {given}` shows the robot, `urdf_usd convert {given}` converts it"
        )
    })
}

/// A command with limits.
struct Limited<'a> {
    limits: Limits,
    /// The activity, for messages.
    name: &'static str,
    /// Whether the command checks its time limit itself.
    checks_time: bool,
    /// Output directory, if the command writes an asset.
    output: Option<&'a Path>,
}

impl Command {
    /// Returns the limits of the command, if it has any.
    fn limited(&self) -> Option<Limited<'_>> {
        let reading = |limits, name| Limited {
            limits,
            name,
            checks_time: false,
            output: None,
        };
        let limited = match self {
            Self::Convert(Deferred(convert)) => {
                let Options {
                    time_limit: time,
                    memory_limit: memory,
                    ..
                } = convert.conversion.options;
                Limited {
                    limits: Limits { time, memory },
                    name: "the conversion",
                    checks_time: true,
                    output: Some(&*convert.output),
                }
            }
            Self::Inspect(Deferred(inspect)) => reading(inspect.limits.0, "inspecting it"),
            Self::Check(Deferred(check)) => reading(check.limits.0, "checking it"),
            Self::Fix(Deferred(fix)) => Limited {
                output: Some(&fix.output),
                ..reading(fix.limits.0, "fixing it")
            },
            _ => return None,
        };
        limited.limits.is_any().then_some(limited)
    }
}

impl Limited<'_> {
    /// Runs the command in a child process, and reports if the child was killed or crashed.
    fn run(&self, program: &Program, arguments: &[OsString]) -> ExitCode {
        let diagnostic = match limited::run(
            program,
            arguments,
            self.limits,
            (self.name, self.checks_time),
        ) {
            Ok(code) => return ExitCode::from(code),
            Err(diagnostic) => diagnostic,
        };
        // A process that was killed leaves its staging directories behind.
        self.output
            .iter()
            .for_each(|output| convert::clear_away(output));
        terminal::end_line();
        match self.output {
            Some(_) => report_failure(&[diagnostic], None),
            None => failed_with(&[diagnostic], None),
        }
    }
}

/// Reports why nothing was written.
fn report_failure(diagnostics: &[Diagnostic], expanded: Option<&str>) -> ExitCode {
    let code = failed_with(diagnostics, expanded);
    let why = match diagnostics.iter().any(|d| d.severity == Severity::Error) {
        true => String::new(),
        false => format!(" (--strict, {})", diagnostic::count(diagnostics)),
    };
    say_as(
        Severity::Error,
        format!("not converted{why}: nothing was written"),
    );
    code
}

/// Returns the parser of the command line.
fn command() -> clap::Command {
    examples::add(Cli::command())
        .version(version::SHORT)
        .long_version(version::long())
}

/// Prints the manual page, or writes those of all commands.
fn manual(directory: Option<&Path>) -> ExitCode {
    let Some(directory) = directory else {
        let mut text = Vec::new();
        return match clap_mangen::Man::new(command()).render(&mut text) {
            Ok(()) => print(text),
            Err(error) => failed(&format!("cannot generate the manual page: {error}")),
        };
    };
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command(), directory));
    match written {
        Ok(()) => {
            say(escape_controls(&format!(
                "wrote the manual pages to {}",
                directory.display()
            )));
            ExitCode::SUCCESS
        }
        Err(error) => failed(&format!(
            "cannot write the manual pages to {}: {error}",
            directory.display()
        )),
    }
}

/// Checks that the options of a conversion fit together.
///
/// # Errors
/// Returns the reason if they do not.
pub fn check_options(options: &Options) -> Result<(), String> {
    let refuse = |message: &str| Err(message.to_owned());
    let (formats, extent) = (&options.formats, options.gltf);
    let is_gltf = formats.contains_any(&[OutputFormat::Glb, OutputFormat::Gltf]);
    if (options.dated || extent != gltf_write::Extent::default()) && !is_gltf {
        return refuse("--gltf-… options need a glTF output: add \"glb\" or \"gltf\" to --formats");
    }
    if options.simready_metadata != convert::Simready::default() && !options.simready {
        return refuse("--simready-metadata needs --simready");
    }
    for (option, is_given) in [
        ("--overlays", !options.overlays.is_empty()),
        ("--simready", options.simready),
    ] {
        if is_given && !formats.contains(OutputFormat::Usd) {
            return Err(format!(
                "{option} needs OpenUSD layers: add \"usd\" to --formats"
            ));
        }
    }
    let defaults = convert::UrdfOptions::default();
    let mesh_format = options.urdf.mesh_format;
    if mesh_format != defaults.mesh_format
        && !formats.contains_any(&[OutputFormat::Urdf, OutputFormat::Sdf])
    {
        return refuse("--mesh-format needs \"urdf\" or \"sdf\" in --formats");
    }
    let of_references = convert::UrdfOptions {
        mesh_format,
        ..defaults
    };
    if options.urdf != of_references && !formats.contains(OutputFormat::Urdf) {
        return refuse("--urdf-… options need a URDF output: add \"urdf\" to --formats");
    }
    if options.check && !formats.contains_any(&[OutputFormat::Usd, OutputFormat::Usdz]) {
        return refuse("--check needs an OpenUSD output: add \"usd\" or \"usdz\" to --formats");
    }
    if let Some(url) = &options.cache_url {
        check_cache(url).map_err(|fault| format!("--cache-url: {}", fault.to_sentence()))?;
    }
    invalid_folder(&options.resolve).map_or(Ok(()), Err)
}

fn convert(arguments: &Convert) -> ExitCode {
    let options = &arguments.conversion.options;
    if let Err(message) = check_options(options) {
        return usage_error(&message);
    }
    let read = match arguments.robot.read(&arguments.xacro, &options.resolve) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let job = Job {
        options: options.clone(),
        robot: read.model,
        existing: match arguments.replace {
            true => Existing::Replace,
            false => Existing::Keep {
                given: arguments.conversion.given.clone(),
            },
        },
        ..Job::new(read.source, &arguments.output)
    };
    let mut bar = Bar::default();
    let store = match open_cache(arguments.no_cache, options.cache_url.as_deref()) {
        Ok(store) => store,
        Err(message) => return usage_error(&message),
    };
    let expanded = Expanded::default();
    let context = convert::Context {
        store,
        begin: Some(join_thread_pool),
        progress: bar.listener(),
        expanded: Some(expanded.keeper()),
        ..convert::Context::default()
    };
    let result = convert::convert(&job, &context);
    bar.clear();
    let expanded = expanded.take();
    match result {
        Ok(report) => {
            print_diagnostics(&report.diagnostics, expanded.as_deref());
            print_outcome(&report);
            let printed = if arguments.json {
                print_json(&report)
            } else {
                ExitCode::SUCCESS
            };
            if report.status == Status::Errors {
                ExitCode::FAILURE
            } else {
                printed
            }
        }
        Err(failure) => report_failure(&failure.diagnostics, expanded.as_deref()),
    }
}

/// Adds this thread to the thread pool: otherwise it would wait for the pool, and each hand-over
/// takes as long as a small file.
///
/// The pool has at least one more thread, so that work that other threads hand over is never left
/// undone.
fn join_thread_pool() {
    let threads =
        std::thread::available_parallelism().map_or(2, |processors| processors.get().max(2));
    // Fails if a pool already exists, which then does the work.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build_global();
}

/// Returns an error for the first given folder that is not a directory.
fn invalid_folder(options: &resolve::Options) -> Option<String> {
    let resolve::Options {
        packages,
        package_paths,
        allowed_roots,
        ..
    } = options;
    let packages = packages
        .iter()
        .map(|(name, directory)| (format!("--package {name}"), directory));
    let paths = package_paths
        .iter()
        .map(|directory| ("--package-path".to_owned(), directory));
    let roots = allowed_roots
        .iter()
        .map(|directory| ("--allowed-root".to_owned(), directory));
    let (option, directory) = packages
        .chain(paths)
        .chain(roots)
        .find(|(_, directory)| !directory.is_dir())?;
    Some(format!(
        "{option}: {} is not a directory",
        directory.display()
    ))
}

/// Opens the user's cache of conversions; `URDF_USD_CACHE_MB` limits its size. `url` is that of a
/// cache that machines share.
///
/// # Errors
/// Returns the reason if that limit is no number.
pub fn open_cache(no_cache: bool, url: Option<&str>) -> Result<Store, String> {
    let limit = match std::env::var("URDF_USD_CACHE_MB") {
        Ok(text) => text
            .trim()
            .parse::<u64>()
            .map_err(|_| {
                format!(
                    "URDF_USD_CACHE_MB: {text:?} is not a number of MiB, such as 2048; 0 disables the cache"
                )
            })?
            .saturating_mul(1 << 20),
        Err(_) => store::DEFAULT_DISK_BYTES,
    };
    let store = match Store::directory() {
        Some(directory) if !no_cache => Store::on_disk(&directory, limit),
        _ => Store::none(),
    };
    let warn = |warning: &Diagnostic| print_diagnostics(std::slice::from_ref(warning), None);
    Ok(with_cache(&store, url, warn))
}

fn inspect(arguments: &Inspect) -> ExitCode {
    let packages = match arguments.packages.options() {
        Ok(packages) => packages,
        Err(message) => return usage_error(&message),
    };
    let read = match arguments.robot.read(&arguments.xacro, &packages) {
        Ok(read) => read,
        Err(code) => return code,
    };
    match inspected(read, packages, &arguments.files, &arguments.variants) {
        Ok(inspected) => {
            print_diagnostics(&inspected.diagnostics, inspected.expanded.as_deref());
            let printed = if arguments.json {
                print_json(&inspected.summary)
            } else {
                print(inspected.summary.to_string())
            };
            match inspected.is_empty {
                true => ExitCode::FAILURE,
                false => printed,
            }
        }
        Err(refusal) => refusal.print(),
    }
}

/// The contents of an asset or a description.
#[derive(Debug)]
pub struct Inspected {
    /// Its elements, as data and as text.
    pub summary: Summary,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The output of xacro, if it ran.
    expanded: Option<String>,
    /// True if it has no robot.
    is_empty: bool,
}

/// The elements of an asset.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub enum Summary {
    /// OpenUSD, or a description as converted.
    Usd(Box<usd_read::Summary>),
    /// glTF.
    Gltf(gltf_read::Summary),
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usd(summary) => summary.fmt(f),
            Self::Gltf(summary) => summary.fmt(f),
        }
    }
}

/// Inspects an asset or a description.
///
/// # Errors
/// Returns the reason if it can't be read.
pub fn inspected(
    read: Read,
    packages: resolve::Options,
    files: &PlanningFiles,
    variants: &[usd_read::VariantChoice],
) -> Result<Inspected, Refusal> {
    let model = read.model.as_deref();
    // An asset with files beside it is shown as its conversion with these files.
    let is_alone = !files.is_given();
    match &read.source {
        Source::File(file) if is_ending(file, &["glb", "gltf"]) => {
            inspect_gltf(file, None, model, files)
        }
        Source::File(file) if is_alone && is_ending(file, &["usda", "usd", "usdc", "usdz"]) => {
            inspect_usd(file, packages, variants, None)
        }
        Source::Bytes { bytes, file } => match convert::Format::detect(bytes) {
            convert::Format::Glb | convert::Format::Gltf => {
                inspect_gltf(file, Some(bytes), model, files)
            }
            convert::Format::Usd if is_alone => {
                inspect_usd(&AssetFile::copy(bytes)?.path, packages, variants, None)
            }
            convert::Format::Usd | convert::Format::Urdf => {
                inspect_converted(read, packages, files, variants)
            }
        },
        _ => inspect_converted(read, packages, files, variants),
    }
}

/// Returns whether a file has one of these extensions.
fn is_ending(file: &Path, endings: &[&str]) -> bool {
    file.extension().is_some_and(|extension| {
        endings
            .iter()
            .any(|ending| extension.eq_ignore_ascii_case(ending))
    })
}

/// Inspects the conversion of a description.
fn inspect_converted(
    read: Read,
    packages: resolve::Options,
    files: &PlanningFiles,
    variants: &[usd_read::VariantChoice],
) -> Result<Inspected, Refusal> {
    let folder = tempfile::tempdir()
        .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    let (source, model) = (read.source.clone(), read.model.clone());
    let (outcome, expanded) = convert_for_findings(read, packages.clone(), files, folder.path());
    let refuse = |failure: convert::Failure| Refusal::Found {
        diagnostics: failure.diagnostics,
        expanded: expanded.clone(),
    };
    let report = outcome.map_err(refuse)?;
    // The asset has no named poses but the default one without the overlay for Isaac, and no
    // statements about the robot.
    let robot = files.is_given().then(|| {
        let mut job = Job {
            robot: model,
            ..Job::new(source, ".")
        };
        job.options.resolve = packages.clone();
        files.put(&mut job.options);
        // The conversion has the same findings.
        convert::read_robot(&job, &convert::Context::default()).map(|(robot, _)| robot)
    });
    let robot = robot.transpose().map_err(refuse)?;
    let entry = report.directory.join(&report.name);
    let entry = entry.with_added_extension("usda");
    let inspected = inspect_usd(&entry, packages, variants, robot.as_ref())?;
    let mut diagnostics = report.diagnostics;
    diagnostics.extend(inspected.diagnostics);
    Ok(Inspected {
        diagnostics,
        expanded,
        ..inspected
    })
}

/// Converts a description to OpenUSD in a temporary folder. Also returns the output of xacro, if it
/// ran.
fn convert_for_findings(
    read: Read,
    resolve: resolve::Options,
    files: &PlanningFiles,
    folder: &Path,
) -> (Result<Report, convert::Failure>, Option<String>) {
    // Simplified meshes are not needed.
    let mut options = Options {
        formats: convert::Formats::only(OutputFormat::Usd),
        resolve,
        tiers: convert::Tiers::High,
        ..Options::default()
    };
    files.put(&mut options);
    let job = Job {
        options,
        robot: read.model,
        ..Job::new(read.source, folder)
    };
    let expanded = Expanded::default();
    let context = convert::Context {
        store: open_cache(false, None).unwrap_or_default(),
        expanded: Some(expanded.keeper()),
        ..convert::Context::default()
    };
    let outcome = convert::convert(&job, &context);
    (outcome, expanded.take())
}

/// The output of xacro, for excerpts.
#[derive(Clone, Default)]
struct Expanded(Arc<Mutex<Option<String>>>);

impl Expanded {
    /// Returns a function that keeps the text.
    fn keeper(&self) -> Box<convert::OnText> {
        let kept = self.0.clone();
        Box::new(move |text| {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        })
    }

    /// Returns the text, if xacro ran.
    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Inspects an asset; planning data, poses and statements are those of `robot`, if there is one.
fn inspect_usd(
    entry: &Path,
    packages: resolve::Options,
    variants: &[usd_read::VariantChoice],
    robot: Option<&urdf_usd_robot::Robot>,
) -> Result<Inspected, Refusal> {
    let packages = Some(Arc::new(resolve::Resolver::new(packages)));
    let options = usd_read::ReadOptions {
        variants: variants.to_vec(),
        packages,
        ..usd_read::ReadOptions::default()
    };
    let (mut summary, diagnostics) =
        usd_read::inspect(entry, &options).map_err(|error| error.to_string())?;
    if let Some(robot) = robot {
        summary.describe(robot);
    }
    Ok(Inspected {
        summary: Summary::Usd(Box::new(summary)),
        diagnostics,
        expanded: None,
        is_empty: false,
    })
}

fn inspect_gltf(
    path: &Path,
    bytes: Option<&[u8]>,
    robot: Option<&str>,
    planning: &PlanningFiles,
) -> Result<Inspected, Refusal> {
    let files = resolve::Files::new(Arc::new(resolve::Resolver::new(
        resolve::Options::from_environment(),
    )));
    let bytes: Arc<[u8]> = match bytes.map_or_else(
        || files.input(path).map(|file| file.bytes),
        |bytes| Ok(bytes.into()),
    ) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Err(Refusal::Found {
                diagnostics: vec![error.at(Place::file(path))],
                expanded: None,
            });
        }
    };
    let mut outcome = gltf_read::read(&bytes, Some(path), &files);
    let is_wanted = |model: &gltf_read::Model| robot.is_none_or(|name| model.robot.name() == name);
    if let Some(name) = robot.filter(|_| !outcome.models.iter().any(is_wanted)) {
        let message = format!("{} has no robot {name:?}", path.display());
        return Err(Refusal::Failed(message));
    }
    outcome.models.retain(is_wanted);
    // The files are those of the robot that the other commands read: the chosen or first one.
    if let Some(model) = outcome.models.first_mut() {
        let mut options = Options::default();
        planning.put(&mut options);
        match convert::add_planning(&mut model.robot, &options, &files) {
            Ok(found) => outcome.diagnostics.extend(found),
            Err(stop) => outcome.diagnostics.push(stop),
        }
    }
    let diagnostics = outcome.diagnostics.clone();
    Ok(Inspected {
        diagnostics,
        expanded: None,
        is_empty: outcome.models.is_empty(),
        summary: Summary::Gltf(gltf_read::Summary::of(outcome)),
    })
}

fn schema(directory: &Path, json: bool) -> ExitCode {
    let files = usd_author::SCHEMA_FILES
        .into_iter()
        .chain(usd_author::ISAAC_SCHEMA_FILES);
    for (name, text) in files {
        let path = directory.join(name);
        let folder = path.parent().unwrap_or(directory);
        if let Err(error) = std::fs::create_dir_all(folder) {
            return failed(&format!("cannot create {}: {error}", folder.display()));
        }
        if let Err(error) = store::replace_file(&path, text.as_bytes()) {
            return failed(&format!("cannot write {}: {error}", path.display()));
        }
    }
    let directory = directory.to_string_lossy();
    say(format!(
        "wrote {0}: export PXR_PLUGINPATH_NAME={0} (and {0}/isaac for the overlay isaac, but not for Isaac Sim, which has that schema)",
        escape_controls(&directory)
    ));
    if json {
        return print_json(&serde_json::json!({ "status": "ok", "directory": directory }));
    }
    ExitCode::SUCCESS
}

fn print_outcome(report: &Report) {
    let bytes: u64 = report.files.iter().map(|file| file.bytes).sum();
    let what = if report.changed {
        "wrote"
    } else {
        "is up to date:"
    };
    let entries = report.entries();
    let entries: Vec<Cow<'_, str>> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| match entry.file_name() {
            // All are in the folder of the first.
            Some(name) if index > 0 => name.to_string_lossy(),
            _ => entry.to_string_lossy(),
        })
        .collect();
    let outcome = format!(
        "{} {what} {} (revision {}, {}, {:.1} MB in {:.2} s): {}",
        report.robot,
        entries.join(", "),
        report.revision,
        plural(report.files.len() + 1, "file"),
        bytes as f64 / 1e6,
        report.timings_ms.total / 1e3,
        urdf_usd_robot::Counts::from(report.counts),
    );
    say(escape_controls(&outcome));
    let found = diagnostic::count(&report.diagnostics);
    match report.status {
        Status::Ok => {}
        Status::Warnings => say_as(Severity::Warning, format!("converted with {found}")),
        Status::Errors => say_as(Severity::Error, format!("converted with {found}")),
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
