//! The command line: arguments, messages and exit codes.
//!
//! Exit code 0: success (with warnings, unless `--strict`). 1: failure, or partial success. 2:
//! usage error. Results go to standard output; messages for people go to standard error. This crate
//! makes no decisions about robots.

mod check;
mod codes;
mod conversion;
mod deferred;
#[cfg(test)]
mod documentation;
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
mod sarif;
mod terminal;
mod version;
mod view;
mod viewer;
mod xrdf;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use self::conversion::{CommandLimits, Conversion};
use self::deferred::Deferred;
use self::findings::print_diagnostics;
use self::folder::description_in;
use self::packages::Packages;
use self::progress::Bar;
use self::terminal::{ERROR, OutputOptions, say, say_as};
use urdf_usd_convert::{
    self as convert, Job, Options, OutputFormat, Report, STDIN, Source, Status,
};
use urdf_usd_diagnostic::{
    self as diagnostic, Diagnostic, Severity, escape_controls, escape_controls_in_json,
    escape_controls_in_list,
};
use urdf_usd_node::{self as node, demo};
use urdf_usd_store::Store;
use urdf_usd_urdf::xacro;
pub use urdf_usd_worker::Program;
use urdf_usd_worker::{self as worker, LIMITED, Limits, WORKER, limited};
use {
    urdf_usd_gltf_read as gltf_read, urdf_usd_gltf_write as gltf_write,
    urdf_usd_resolve as resolve, urdf_usd_store as store, urdf_usd_usd_author as usd_author,
    urdf_usd_usd_read as usd_read,
};

/// Exit code of a usage error.
const USAGE: u8 = 2;

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
    /// Show the link tree, joints, masses, frames and interfaces of any OpenUSD asset with rigid
    /// bodies, of a URDF or xacro file as converted, or the robots in a glTF file
    Inspect(Deferred<Inspect>),
    /// Check an OpenUSD asset against the rules of REP-158, a glTF file against those of
    /// EXT_robot_kinematics, or with --live a running robot against its OpenUSD asset
    ///
    /// Breaking a requirement of the specification is an error, breaking a recommendation a
    /// warning, and anything optional at most an info; docs/rules.md lists all rules. Of a glTF
    /// file, only the extension is checked; the Khronos glTF validator checks accessors, meshes,
    /// images and the rest of core glTF.
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
    /// one of its meshes changes. For an asset, shows every new revision.
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
        #[arg(short = 'o', long = "output", value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Convert {
    /// A URDF file; a xacro file (`.xacro`), which the installed program xacro expands; an OpenUSD
    /// file (`.usd`, `.usda`, `.usdc`, `.usdz`); a glTF file with EXT_robot_kinematics (`.glb`,
    /// `.gltf`); the directory of an asset, or the folder of a ROS package with one robot. `-`
    /// reads any of these files but xacro from standard input
    input: PathBuf,
    /// Choose a robot of a folder by the name of its file, with or without its extension, or a
    /// robot of a glTF file by its name
    #[arg(long, value_name = "NAME")]
    robot: Option<String>,
    /// Arguments of the xacro file, in xacro's syntax
    #[arg(value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_arguments: Vec<xacro::Argument>,
    /// An argument of the xacro file (may be given several times)
    #[arg(long = "xacro-arg", value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_args: Vec<xacro::Argument>,
    /// The directory in which to create the asset's directory
    #[arg(
        short = 'o',
        long = "output-dir",
        value_name = "DIR",
        default_value = "."
    )]
    output: PathBuf,
    #[command(flatten)]
    conversion: Conversion,
    /// Neither read nor write the cache of earlier conversions (in $XDG_CACHE_HOME/urdf_usd, at
    /// most URDF_USD_CACHE_MB MiB)
    #[arg(long)]
    no_cache: bool,
    /// Print the report as JSON to standard output
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Inspect {
    /// An OpenUSD file of any layout (.usd, .usda, .usdc, .usdz), a .glb or .gltf file with
    /// EXT_robot_kinematics, a URDF or xacro file, the directory of an asset, or the folder of a
    /// ROS package. `-` reads any of these files but xacro from standard input
    asset: PathBuf,
    /// Choose a robot of a folder by the name of its file, with or without its extension
    #[arg(long, value_name = "NAME")]
    robot: Option<String>,
    /// An argument of the xacro file (may be given several times)
    #[arg(long = "xacro-arg", value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_args: Vec<xacro::Argument>,
    #[command(flatten)]
    packages: Packages,
    /// Select a variant of an OpenUSD asset, SET=NAME or /PRIM{SET=NAME} (may be given several
    /// times)
    #[arg(long = "variant", value_name = "SET=NAME")]
    variants: Vec<usd_read::VariantChoice>,
    #[command(flatten)]
    limits: CommandLimits,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Schema {
    /// The directory for plugInfo.json and generatedSchema.usda, to be named in PXR_PLUGINPATH_NAME
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: PathBuf,
}

/// Runs the command line `arguments`, the first of which is the program's name.
///
/// `program` is the calling program, if it can be started again as a child process; without it,
/// limits apply only where the work itself checks them.
pub fn main(arguments: impl IntoIterator<Item = OsString>, program: Option<&Program>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let first = arguments.get(1).and_then(|first| first.to_str());
    if let (Some(WORKER), Some(program)) = (first, program) {
        let numbers = arguments
            .iter()
            .skip(2)
            .filter_map(|argument| argument.to_str()?.parse().ok());
        return worker::main(&numbers.collect::<Vec<usize>>(), program);
    }
    let is_limited = first == Some(LIMITED);
    if is_limited {
        arguments.remove(1);
    }
    // Before parsing, so that clap's help and errors are coloured, too.
    anstream::ColorChoice::from(terminal::colour_of(&arguments)).write_global();
    let parsed = command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors; clap chooses their stream and exit code.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
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
        Command::Inspect(arguments) => inspect(&arguments.0),
        Command::Check(arguments) => check::run(&arguments.0),
        Command::Fix(arguments) => fix::run(&arguments.0),
        Command::Xrdf(command) => xrdf::run(&command),
        Command::Isaac(command) => isaac::run(&command),
        Command::Pose(arguments) => pose::run(&arguments),
        Command::Ik(arguments) => ik::run(&arguments.0),
        Command::Schema(arguments) => schema(&arguments.output),
        Command::View(arguments) => view::run(&arguments.0, program),
        Command::Bridge { arguments } => match arguments.first().and_then(|first| first.to_str()) {
            Some("-V") => print(format!("bridge {}\n", version::SHORT).as_bytes()),
            Some("--version") => print(format!("bridge {}\n", version::long()).as_bytes()),
            _ => node::main(arguments, program),
        },
        Command::Demo(options) => demo::main(*options.0, program),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), "urdf_usd", &mut text);
            print(&text)
        }
        Command::Man { output } => manual(output.as_deref()),
    }
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
    /// Whether failures are printed as JSON to standard output.
    json: bool,
}

impl Command {
    /// Returns the limits of the command, if it has any.
    fn limited(&self) -> Option<Limited<'_>> {
        let reading = |limits, name| Limited {
            limits,
            name,
            checks_time: false,
            output: None,
            json: false,
        };
        let limited = match self {
            Self::Convert(Deferred(convert)) => {
                let Options {
                    time_limit: time,
                    memory_limit: memory,
                    ..
                } = convert.conversion.0;
                let (output, json) = (Some(&*convert.output), convert.json);
                Limited {
                    limits: Limits { time, memory },
                    name: "the conversion",
                    checks_time: true,
                    output,
                    json,
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
            Some(_) => report_failure(&[diagnostic], None, self.json),
            None => {
                print_diagnostics(&[diagnostic], None);
                ExitCode::FAILURE
            }
        }
    }
}

/// Reports why nothing was written.
fn report_failure(diagnostics: &[Diagnostic], expanded: Option<&str>, json: bool) -> ExitCode {
    print_diagnostics(diagnostics, expanded);
    let why = match diagnostics.iter().any(|d| d.severity == Severity::Error) {
        true => String::new(),
        false => format!(" (--strict, {})", diagnostic::count(diagnostics)),
    };
    say_as(
        Severity::Error,
        format!("not converted{why}: nothing was written"),
    );
    if json {
        print_json(&serde_json::json!({ "status": "failed", "diagnostics": diagnostics }));
    }
    ExitCode::FAILURE
}

/// Returns the parser of the command line.
fn command() -> clap::Command {
    Cli::command()
        .version(version::SHORT)
        .long_version(version::long())
}

/// Prints the manual page, or writes those of all commands.
fn manual(directory: Option<&Path>) -> ExitCode {
    let Some(directory) = directory else {
        let mut text = Vec::new();
        return match clap_mangen::Man::new(command()).render(&mut text) {
            Ok(()) => print(&text),
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

/// Prints a result. A closed pipe (`| head`) is not an error.
fn print(text: &[u8]) -> ExitCode {
    let _ = std::io::stdout().write_all(text);
    ExitCode::SUCCESS
}

fn convert(arguments: &Convert) -> ExitCode {
    let options = &arguments.conversion.0;
    let (formats, extent) = (&options.formats, options.gltf);
    let is_gltf = formats.contains_any(&[OutputFormat::Glb, OutputFormat::Gltf]);
    if (options.dated || extent != gltf_write::Extent::default()) && !is_gltf {
        return usage_error(
            "--gltf-… options need a glTF output: add \"glb\" or \"gltf\" to --formats",
        );
    }
    if options.simready_metadata != convert::Simready::default() && !options.simready {
        return usage_error("--simready-metadata needs --simready");
    }
    for (option, is_given) in [
        ("--overlays", !options.overlays.is_empty()),
        ("--simready", options.simready),
    ] {
        if is_given && !formats.contains(OutputFormat::Usd) {
            return usage_error(&format!(
                "{option} needs OpenUSD layers: add \"usd\" to --formats"
            ));
        }
    }
    let defaults = convert::UrdfOptions::default();
    let mesh_format = options.urdf.mesh_format;
    if mesh_format != defaults.mesh_format
        && !formats.contains_any(&[OutputFormat::Urdf, OutputFormat::Sdf])
    {
        return usage_error("--mesh-format needs \"urdf\" or \"sdf\" in --formats");
    }
    let of_references = convert::UrdfOptions {
        mesh_format,
        ..defaults
    };
    if options.urdf != of_references && !formats.contains(OutputFormat::Urdf) {
        return usage_error("--urdf-… options need a URDF output: add \"urdf\" to --formats");
    }
    if options.check && !formats.contains_any(&[OutputFormat::Usd, OutputFormat::Usdz]) {
        return usage_error(
            "--check needs an OpenUSD output: add \"usd\" or \"usdz\" to --formats",
        );
    }
    if let Some(message) = invalid_folder(&options.resolve) {
        return usage_error(&message);
    }
    let xacro_arguments: Vec<xacro::Argument> = arguments
        .xacro_args
        .iter()
        .chain(&arguments.xacro_arguments)
        .cloned()
        .collect();
    let (of_file, of_folder) = if is_gltf_file(&arguments.input) {
        (arguments.robot.clone(), None)
    } else {
        (None, arguments.robot.as_deref())
    };
    let source = match source(&arguments.input, of_folder, xacro_arguments) {
        Ok(source) => source,
        Err(code) => return code,
    };
    let job = Job {
        options: options.clone(),
        robot: of_file,
        ..Job::new(source, &arguments.output)
    };
    let mut bar = Bar::default();
    let store = match open_cache(arguments.no_cache) {
        Ok(store) => store,
        Err(message) => return usage_error(&message),
    };
    let expanded = Arc::new(Mutex::new(None));
    let keep = {
        let expanded = expanded.clone();
        move |text: &str| {
            *expanded.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned())
        }
    };
    let context = convert::Context {
        store,
        begin: Some(join_thread_pool),
        progress: bar.listener(),
        expanded: Some(Box::new(keep)),
        ..convert::Context::default()
    };
    let result = convert::convert(&job, &context);
    bar.clear();
    let expanded = expanded
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
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
        Err(failure) => report_failure(&failure.diagnostics, expanded.as_deref(), arguments.json),
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

/// Returns the file to convert: the entry of an asset's directory, or the robot in any other
/// folder.
fn input(path: &Path, robot: Option<&str>) -> Result<PathBuf, String> {
    if robot.is_none() {
        if !path.is_dir() {
            return Ok(path.to_owned());
        }
        if let Ok(entry) = convert::entry(path, &["usda", "usd", "usdc", "usdz", "glb", "gltf"]) {
            return Ok(entry);
        }
    }
    description_in(path, robot)
}

/// Returns whether a path is that of a glTF file, which may hold several robots.
fn is_gltf_file(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_ascii_lowercase());
    !path.is_dir() && extension.is_some_and(|extension| extension == "glb" || extension == "gltf")
}

/// Returns the source to read: standard input for `-`, otherwise the file that [`input`] finds.
///
/// On failure, prints the error and returns the exit code.
fn source(
    path: &Path,
    robot: Option<&str>,
    xacro_arguments: Vec<xacro::Argument>,
) -> Result<Source, ExitCode> {
    if path != Path::new("-") {
        let file = input(path, robot).map_err(|message| failed(&message))?;
        return Ok(if xacro_arguments.is_empty() {
            Source::File(file)
        } else {
            Source::Xacro {
                file,
                arguments: xacro_arguments,
            }
        });
    }
    if robot.is_some() {
        return Err(usage_error(
            "--robot NAME selects a robot of a folder; it does not apply to standard input",
        ));
    }
    if let Some(argument) = xacro_arguments.first() {
        return Err(usage_error(&format!(
            "{argument}: only xacro files take arguments, and xacro can't be read from standard input"
        )));
    }
    standard_input().map_err(|message| failed(&message))
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

/// Opens the user's cache of conversions; `URDF_USD_CACHE_MB` limits its size.
fn open_cache(no_cache: bool) -> Result<Store, String> {
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
    Ok(match Store::directory() {
        Some(directory) if !no_cache => Store::on_disk(&directory, limit),
        _ => Store::none(),
    })
}

/// Reads URDF, OpenUSD or glTF from standard input. Relative references are resolved from the
/// working directory.
fn standard_input() -> Result<Source, String> {
    let (mut bytes, mut input) = (Vec::new(), std::io::stdin().lock());
    let failed = |error: std::io::Error| format!("cannot read standard input: {error}");
    // As much as a URDF may have first: only other formats are read beyond that.
    let of_text = urdf_usd_urdf::MAX_TEXT_BYTES as u64;
    input
        .by_ref()
        .take(of_text + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let is_urdf = convert::Format::detect(&bytes) == convert::Format::Urdf;
    let most = if is_urdf { of_text } else { resolve::MAX_BYTES };
    input
        .take((most + 1).saturating_sub(bytes.len() as u64))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(format!(
            "standard input has more than {} MiB, the maximum for a robot",
            most >> 20
        ));
    }
    let directory = std::env::current_dir()
        .map_err(|error| format!("cannot determine the working directory: {error}"))?;
    let file = directory.join(STDIN);
    if is_urdf {
        let decoded = urdf_usd_urdf::decode(&bytes)
            .map_err(|diagnostic| format!("{STDIN}: {}", diagnostic.message))?;
        findings::STANDARD_INPUT.get_or_init(|| decoded.text.into());
    }
    Ok(Source::Bytes {
        bytes: bytes.into(),
        file,
    })
}

fn inspect(arguments: &Inspect) -> ExitCode {
    let source = match source(
        &arguments.asset,
        arguments.robot.as_deref(),
        arguments.xacro_args.clone(),
    ) {
        Ok(source) => source,
        Err(code) => return code,
    };
    let packages = match arguments.packages.options() {
        Ok(packages) => packages,
        Err(message) => return usage_error(&message),
    };
    match source {
        Source::File(file) if is_ending(&file, &["glb", "gltf"]) => {
            inspect_gltf(&file, arguments.json)
        }
        Source::File(file) if is_ending(&file, &["usda", "usd", "usdc", "usdz"]) => {
            inspect_usd(&file, packages, arguments)
        }
        source => inspect_converted(source, packages, arguments),
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

/// Shows the conversion of a description.
fn inspect_converted(source: Source, packages: resolve::Options, arguments: &Inspect) -> ExitCode {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return failed(&format!("cannot create a temporary folder: {error}")),
    };
    // Simplified meshes are not needed here.
    let options = Options {
        formats: convert::Formats::only(OutputFormat::Usd),
        resolve: packages.clone(),
        tiers: convert::Tiers::High,
        ..Options::default()
    };
    let context = convert::Context {
        store: open_cache(false).unwrap_or_default(),
        ..convert::Context::default()
    };
    match convert::convert(
        &Job {
            options,
            ..Job::new(source, folder.path())
        },
        &context,
    ) {
        Ok(report) => {
            print_diagnostics(&report.diagnostics, None);
            inspect_usd(
                &report
                    .directory
                    .join(&report.name)
                    .with_added_extension("usda"),
                packages,
                arguments,
            )
        }
        Err(failure) => {
            print_diagnostics(&failure.diagnostics, None);
            ExitCode::FAILURE
        }
    }
}

fn inspect_usd(entry: &Path, packages: resolve::Options, arguments: &Inspect) -> ExitCode {
    let packages = Some(Arc::new(resolve::Resolver::new(packages)));
    let options = usd_read::ReadOptions {
        variants: arguments.variants.clone(),
        packages,
        ..usd_read::ReadOptions::default()
    };
    match usd_read::inspect(entry, &options) {
        Ok((summary, diagnostics)) if arguments.json => {
            print_diagnostics(&diagnostics, None);
            print_json(&summary)
        }
        Ok((summary, diagnostics)) => {
            print_diagnostics(&diagnostics, None);
            // A closed pipe (`| head`) is not an error.
            let _ = write!(std::io::stdout(), "{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn inspect_gltf(path: &Path, json: bool) -> ExitCode {
    let files = resolve::Files::new(Arc::new(resolve::Resolver::new(
        resolve::Options::from_environment(),
    )));
    let file = match files.input(path) {
        Ok(file) => file,
        Err(error) => return failed(&error.to_string()),
    };
    let outcome = gltf_read::read(&file.bytes, Some(path), &files);
    print_diagnostics(&outcome.diagnostics, None);
    let is_empty = outcome.models.is_empty();
    let summary = gltf_read::Summary::of(outcome);
    if json {
        print_json(&summary);
    } else {
        // A closed pipe (`| head`) is not an error.
        let _ = write!(std::io::stdout(), "{summary}");
    }
    if is_empty {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn schema(directory: &Path) -> ExitCode {
    let files = usd_author::SCHEMA_FILES
        .into_iter()
        .chain(usd_author::ISAAC_SCHEMA_FILES);
    for (name, text) in files {
        let path = directory.join(name);
        let folder = path.parent().unwrap_or(directory);
        if let Err(error) = std::fs::create_dir_all(folder) {
            return failed(&format!("cannot create {}: {error}", folder.display()));
        }
        if let Err(error) = std::fs::write(&path, text) {
            return failed(&format!("cannot write {}: {error}", path.display()));
        }
    }
    let directory = directory.to_string_lossy();
    say(format!(
        "wrote {0}: export PXR_PLUGINPATH_NAME={0} (and {0}/isaac for the overlay isaac, but not for Isaac Sim, which has that schema)",
        escape_controls(&directory)
    ));
    ExitCode::SUCCESS
}

fn print_json(value: &impl serde::Serialize) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => {
            let _ = writeln!(std::io::stdout(), "{}", escape_controls_in_json(&text));
            ExitCode::SUCCESS
        }
        Err(error) => failed(&format!("cannot print the result as JSON: {error}")),
    }
}

fn print_outcome(report: &Report) {
    let counts = report.counts;
    let bytes: u64 = report.files.iter().map(|file| file.bytes).sum();
    let what = if report.changed {
        "wrote"
    } else {
        "is up to date:"
    };
    let is_there = |ending: &&&str| {
        report
            .files
            .iter()
            .any(|file| file.path == format!("{}.{ending}", report.name))
    };
    let entry = ["usda", "usdz", "glb", "gltf", "urdf", "sdf", "xml"]
        .iter()
        .find(is_there)
        .unwrap_or(&"usda");
    let outcome = format!(
        "{} {what} {} (revision {}, {}, {:.1} MB in {:.2} s): {}, {}, {}, {}",
        report.robot,
        report
            .directory
            .join(format!("{}.{entry}", report.name))
            .display(),
        report.revision,
        plural(report.files.len() + 1, "file"),
        bytes as f64 / 1e6,
        report.timings_ms.total / 1e3,
        plural(counts.links, "link"),
        plural(counts.joints, "joint"),
        plural(counts.meshes, "mesh").replace("meshs", "meshes"),
        plural(counts.triangles, "triangle"),
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

fn failed(message: &str) -> ExitCode {
    let _ = writeln!(
        anstream::stderr(),
        "{ERROR}error:{ERROR:#} {}",
        escape_controls_in_list(message)
    );
    ExitCode::FAILURE
}

fn usage_error(message: &str) -> ExitCode {
    let _ = writeln!(
        anstream::stderr(),
        "{ERROR}error:{ERROR:#} {}\n\nFor more information, try '--help'.",
        escape_controls(message)
    );
    ExitCode::from(USAGE)
}
