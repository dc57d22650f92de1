//! The command line: what people type, what they are told, and the exit code.
//!
//! 0: done (warnings allowed unless `--strict`). 1: not done, or not all of it. 2: the command line
//! was wrong. Results go to standard output; messages for people go to standard error. This crate
//! decides nothing about robots.

mod check;
mod codes;
mod conversion;
#[cfg(test)]
mod documentation;
mod excerpt;
mod findings;
mod fix;
mod folder;
mod ik;
mod isaac;
mod later;
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

use self::conversion::{Conversion, Under};
use self::findings::print_diagnostics;
use self::folder::description_in;
use self::later::Later;
use self::packages::Packages;
use self::progress::Bar;
use self::terminal::{ERROR, Manners, say, say_as};
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

/// The command line was wrong.
const USAGE: u8 = 2;

/// Robots out of ROS, into OpenUSD (REP-158) and glTF (EXT_robot_kinematics).
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
    manners: Manners,
}

#[derive(Subcommand)]
enum Command {
    /// Convert a robot (URDF, xacro, OpenUSD, glTF) to OpenUSD layers, binary glTF and other
    /// formats
    ///
    /// Exit code 0: converted, with warnings or without. 1: converted with errors: the asset is
    /// written, and something of the robot is not in it, such as a mesh that is missing; or not
    /// converted, with --strict also for warnings: nothing is written. 2: the command line was
    /// wrong.
    Convert(Later<Convert>),
    /// Show the link tree, joints, masses, frames and interfaces of any OpenUSD asset with rigid
    /// bodies, of a URDF or xacro as it would be converted, or the robots in a glTF file
    Inspect(Later<Inspect>),
    /// Hold an OpenUSD asset against the rules of REP-158, a glTF file against those of
    /// EXT_robot_kinematics, or with --live a running robot against its OpenUSD asset
    ///
    /// What the specification says must be so and is not is an error, what should be so a warning,
    /// what may be so at most an info; docs/rules.md has all rules. Of a glTF file, accessors,
    /// meshes, images and the rest of core glTF are not looked at: the Khronos glTF validator
    /// checks those.
    ///
    /// With --live a node listens to TF and joint states for some seconds and says of every frame
    /// that the asset declares (REP-158 §2.7) whether it is there, under the right parent, on the
    /// right topic and in the right place, and if not, why.
    ///
    /// Exit code 0: no error, warnings or not; live: all frames are as the asset says. 1: an error,
    /// or the file can't be read; live: some are not. 2: the command line was wrong.
    Check(Later<check::Check>),
    /// Make an OpenUSD asset follow REP-158, whoever made it
    ///
    /// Transforms become translations and rotations, lengths metres, z points up, scale goes into
    /// the geometry; layers are split by what they are about, what belongs to one simulator goes
    /// into a layer of its own, and limits, joint names, collider settings, contact materials and
    /// metadata that are missing are authored. Files that the asset needs are collected, textures
    /// are 8-bit PNG or JPEG. Prims keep their paths. What can't be mended is listed.
    ///
    /// Exit code 0: written, and no rule that must be kept is broken. 1: written, and some are; or
    /// not written, with the reason. 2: the command line was wrong.
    Fix(Later<fix::Fix>),
    /// Check an XRDF (NVIDIA cuMotion, cuRobo) against a robot, or write one for a robot
    #[command(subcommand)]
    Xrdf(xrdf::Xrdf),
    /// Show, author, check and migrate the Isaac robot schema on an OpenUSD asset of anybody's; the
    /// asset's own files stay as they are
    #[command(subcommand)]
    Isaac(isaac::Isaac),
    /// Print where the links of a robot are for given joint positions: metres, quaternions x y z w
    /// (forward kinematics). Its commands keep the named poses of an OpenUSD asset
    ///
    /// Joints that are not set are at zero, or at the limit next to it; those that follow others
    /// (mimic) follow. Poses are those of the link's frame in the frame of --base, which has x
    /// forward, y left and z up where the robot follows REP 103.
    ///
    /// Exit code 0: printed. 1: the robot can't be read, or has no such joint or link. 2: the
    /// command line was wrong.
    Pose(pose::Pose),
    /// Find joint positions, in radians and metres, that bring a link to a target (inverse
    /// kinematics)
    ///
    /// Several links at once: give --tip and --target several times, in the same order. Positions
    /// are within the joints' limits; joints that follow others (mimic) are within theirs, too. The
    /// same seed gives the same result.
    ///
    /// Exit code 0: every target is reached. 1: one is not, and the nearest positions are printed;
    /// or the robot can't be read, or has no such joint or link. 2: the command line was wrong.
    Ik(Later<ik::Ik>),
    /// Write the OpenUSD schemas of what assets apply beyond OpenUSD's own, for
    /// `PXR_PLUGINPATH_NAME`
    Schema(Schema),
    /// Show a robot in a browser, and what becomes of it when its files change; no ROS needed
    ///
    /// A description is converted into the cache ($XDG_CACHE_HOME/urdf_usd), and again whenever it
    /// or a mesh of it changes. Of an asset, every revision that is written in its place is shown.
    View(Later<view::View>),
    /// Run the ROS 2 node (the executable `bridge` is the same)
    #[command(disable_help_flag = true)]
    Bridge {
        /// `--ros-args …`, as for any ROS 2 node
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the node with a sample robot that moves, on loopback, no ROS needed
    Demo(Later<demo::Options>),
    /// Print the completions of a shell, to be sourced by it or kept where it looks for them
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, which `man -l -` shows
    Man {
        /// Write the pages of all commands there instead (urdf_usd.1, urdf_usd-convert.1, …)
        #[arg(short = 'o', long = "output", value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Convert {
    /// A URDF file; a xacro file (`.xacro`), which the installed program xacro expands; an OpenUSD
    /// file (`.usd`, `.usda`, `.usdc`, `.usdz`); a glTF file with EXT_robot_kinematics (`.glb`,
    /// `.gltf`); an asset's directory, or the folder of a ROS package with one robot; `-` reads any
    /// file but xacro from standard input
    input: PathBuf,
    /// Which robot of a folder: the name of its file, with or without its ending
    #[arg(long, value_name = "NAME")]
    robot: Option<String>,
    /// Arguments of the xacro file, as xacro takes them
    #[arg(value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_arguments: Vec<xacro::Argument>,
    /// An argument of the xacro file (may be given several times)
    #[arg(long = "xacro-arg", value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_args: Vec<xacro::Argument>,
    /// The directory for the asset's own directory
    #[arg(
        short = 'o',
        long = "output-dir",
        value_name = "DIR",
        default_value = "."
    )]
    output: PathBuf,
    #[command(flatten)]
    conversion: Conversion,
    /// Neither use nor keep what earlier conversions made of the same meshes (in
    /// $XDG_CACHE_HOME/urdf_usd, at most URDF_USD_CACHE_MB MiB)
    #[arg(long)]
    no_cache: bool,
    /// Print the report as JSON to standard output
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Inspect {
    /// An OpenUSD file of any layout (.usd, .usda, .usdc, .usdz), a .glb or .gltf file with
    /// EXT_robot_kinematics, a URDF or xacro file, an asset's directory, or the folder of a ROS
    /// package; `-` reads any but xacro from standard input
    asset: PathBuf,
    /// Which robot of a folder: the name of its file, with or without its ending
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
    limits: Under,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Schema {
    /// The directory for plugInfo.json and generatedSchema.usda; name it in PXR_PLUGINPATH_NAME
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: PathBuf,
}

/// Runs the command line `arguments`, the first of which is the program's name. `program` is the
/// calling program, if it may be started again as a child process; without it, limits hold only
/// where the work checks them.
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
    // Help and what is wrong with the arguments are coloured, too.
    anstream::ColorChoice::from(terminal::colour_of(&arguments)).write_global();
    let parsed = command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows which stream and code each takes.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    cli.manners.obey();
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
        Command::Bridge { arguments } => node::main(arguments, program),
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
    knows: bool,
    /// Output directory, if it writes an asset.
    output: Option<&'a Path>,
    /// Whether failures are printed as JSON to standard output.
    json: bool,
}

impl Command {
    /// The limits of the command, if it has any.
    fn limited(&self) -> Option<Limited<'_>> {
        let reading = |limits, name| Limited {
            limits,
            name,
            knows: false,
            output: None,
            json: false,
        };
        let limited = match self {
            Self::Convert(Later(convert)) => {
                let Options {
                    time_limit: time,
                    memory_limit: memory,
                    ..
                } = convert.conversion.0;
                let (output, json) = (Some(&*convert.output), convert.json);
                Limited {
                    limits: Limits { time, memory },
                    name: "the conversion",
                    knows: true,
                    output,
                    json,
                }
            }
            Self::Inspect(Later(inspect)) => reading(inspect.limits.0, "inspecting it"),
            Self::Check(Later(check)) => reading(check.limits.0, "checking it"),
            Self::Fix(Later(fix)) => Limited {
                output: Some(&fix.output),
                ..reading(fix.limits.0, "fixing it")
            },
            _ => return None,
        };
        limited.limits.is_any().then_some(limited)
    }
}

impl Limited<'_> {
    /// Runs the command in a child process, and reports it if the child was killed or crashed.
    fn run(&self, program: &Program, arguments: &[OsString]) -> ExitCode {
        let diagnostic =
            match limited::run(program, arguments, self.limits, (self.name, self.knows)) {
                Ok(code) => return ExitCode::from(code),
                Err(diagnostic) => diagnostic,
            };
        self.output
            .iter()
            .for_each(|output| convert::clear_away(output));
        terminal::end_line();
        match self.output {
            Some(_) => not_converted(&[diagnostic], None, self.json),
            None => {
                print_diagnostics(&[diagnostic], None);
                ExitCode::FAILURE
            }
        }
    }
}

/// Reports why nothing was written.
fn not_converted(diagnostics: &[Diagnostic], expanded: Option<&str>, json: bool) -> ExitCode {
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

/// The command line as it is taken apart.
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
            Err(error) => failed(&format!("the manual page cannot be made: {error}")),
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

/// Prints a result. A closed pipe (`| head`) is the reader's choice.
fn print(text: &[u8]) -> ExitCode {
    let _ = std::io::stdout().write_all(text);
    ExitCode::SUCCESS
}

fn convert(arguments: &Convert) -> ExitCode {
    let options = &arguments.conversion.0;
    let (formats, extent) = (&options.formats, options.gltf);
    let is_gltf = formats.contains_any(&[OutputFormat::Glb, OutputFormat::Gltf]);
    if (options.dated || extent != gltf_write::Extent::default()) && !is_gltf {
        return wrong(
            "--gltf-… options are about the glTF; name \"glb\" or \"gltf\" among --formats",
        );
    }
    if options.simready_metadata != convert::Simready::default() && !options.simready {
        return wrong(
            "--simready-metadata says what the metadata of --simready is; give --simready, too",
        );
    }
    for (option, is_given) in [
        ("--overlays", !options.overlays.is_empty()),
        ("--simready", options.simready),
    ] {
        if is_given && !formats.contains(OutputFormat::Usd) {
            return wrong(&format!(
                "{option} adds to the OpenUSD layers; name \"usd\" among --formats"
            ));
        }
    }
    if options.urdf != convert::UrdfOptions::default() && !formats.contains(OutputFormat::Urdf) {
        return wrong(
            "--mesh-format and --urdf-… options are about the URDF; name \"urdf\" among --formats",
        );
    }
    if options.check && !formats.contains_any(&[OutputFormat::Usd, OutputFormat::Usdz]) {
        return wrong(
            "--check is about the OpenUSD asset; name \"usd\" or \"usdz\" among --formats",
        );
    }
    if let Some(message) = no_folder(&options.resolve) {
        return wrong(&message);
    }
    let xacro_arguments: Vec<xacro::Argument> = arguments
        .xacro_args
        .iter()
        .chain(&arguments.xacro_arguments)
        .cloned()
        .collect();
    let source = match source(
        &arguments.input,
        arguments.robot.as_deref(),
        xacro_arguments,
    ) {
        Ok(source) => source,
        Err(code) => return code,
    };
    let job = Job {
        options: options.clone(),
        ..Job::new(source, &arguments.output)
    };
    let mut bar = Bar::default();
    let store = match kept(arguments.no_cache) {
        Ok(store) => store,
        Err(message) => return wrong(&message),
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
        begin: Some(work_here),
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
        Err(failure) => not_converted(&failure.diagnostics, expanded.as_deref(), arguments.json),
    }
}

/// Makes this thread one of those that share work: else it would wait for them, and each time that
/// work is handed over takes as long as a small file. There is one more in any case, so that what
/// other threads hand over is never left.
fn work_here() {
    let threads =
        std::thread::available_parallelism().map_or(2, |processors| processors.get().max(2));
    // There may be such threads already; then they do the work.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build_global();
}

/// The file that is converted: of an asset's directory its entry, of another folder the robot in
/// it.
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

/// What is to be read: standard input for `-`, else what [`input`] says. Tells what is wrong, and
/// gives the exit code then.
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
        return Err(wrong(
            "--robot NAME says which robot of a folder is meant, and standard input is none",
        ));
    }
    if let Some(argument) = xacro_arguments.first() {
        return Err(wrong(&format!(
            "{argument}: arguments are for xacro files; standard input is never expanded"
        )));
    }
    standard_input().map_err(|message| failed(&message))
}

/// Says which folder that was given is none.
fn no_folder(options: &resolve::Options) -> Option<String> {
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

/// Where this person's conversions keep what took time; `URDF_USD_CACHE_MB` bounds it.
fn kept(no_cache: bool) -> Result<Store, String> {
    let limit = match std::env::var("URDF_USD_CACHE_MB") {
        Ok(text) => text
            .trim()
            .parse::<u64>()
            .map_err(|_| {
                format!(
                    "URDF_USD_CACHE_MB: {text:?} is no number of MiB, such as 2048; 0 keeps nothing"
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

/// What is on standard input: URDF, OpenUSD or glTF. Relative references start from the working
/// directory.
fn standard_input() -> Result<Source, String> {
    let (mut bytes, mut input) = (Vec::new(), std::io::stdin().lock());
    let failed = |error: std::io::Error| format!("cannot read standard input: {error}");
    let of_text = urdf_usd_urdf::MAX_TEXT_BYTES as u64;
    input
        .by_ref()
        .take(of_text + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let is_urdf = convert::Format::of(&bytes) == convert::Format::Urdf;
    let most = if is_urdf { of_text } else { resolve::MAX_BYTES };
    input
        .take((most + 1).saturating_sub(bytes.len() as u64))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(format!(
            "standard input has more than {} MiB, which no robot needs",
            most >> 20
        ));
    }
    let directory = std::env::current_dir()
        .map_err(|error| format!("cannot tell the working directory: {error}"))?;
    let file = directory.join(STDIN);
    if !is_urdf {
        return Ok(Source::Bytes {
            bytes: bytes.into(),
            file,
        });
    }
    let text: Arc<str> = urdf_usd_urdf::decode(&bytes)
        .map_err(|diagnostic| format!("{STDIN}: {}", diagnostic.message))?
        .into();
    let text = findings::STANDARD_INPUT.get_or_init(|| text).clone();
    Ok(Source::Text {
        text,
        file: Some(file),
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
        Err(message) => return wrong(&message),
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

/// Whether a file's name has one of these endings.
fn is_ending(file: &Path, endings: &[&str]) -> bool {
    file.extension().is_some_and(|extension| {
        endings
            .iter()
            .any(|ending| extension.eq_ignore_ascii_case(ending))
    })
}

/// Shows what the conversion makes of a description.
fn inspect_converted(source: Source, packages: resolve::Options, arguments: &Inspect) -> ExitCode {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return failed(&format!("no temporary folder: {error}")),
    };
    // Simplified meshes are of no use here.
    let options = Options {
        formats: convert::Formats::only(OutputFormat::Usd),
        resolve: packages.clone(),
        tiers: convert::Tiers::High,
        ..Options::default()
    };
    let context = convert::Context {
        store: kept(false).unwrap_or_default(),
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
            // A closed pipe (`| head`) is the reader's choice.
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
        // A closed pipe (`| head`) is the reader's choice.
        let _ = write!(std::io::stdout(), "{summary}");
    }
    if is_empty {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn schema(directory: &Path) -> ExitCode {
    if let Err(error) = std::fs::create_dir_all(directory) {
        return failed(&format!("cannot create {}: {error}", directory.display()));
    }
    let isaac = directory.join("isaac");
    if let Err(error) = std::fs::create_dir_all(&isaac) {
        return failed(&format!("cannot create {}: {error}", isaac.display()));
    }
    let own = usd_author::SCHEMA_FILES.map(|(name, text)| (directory.join(name), text));
    for (path, text) in own
        .into_iter()
        .chain(usd_author::ISAAC_SCHEMA_FILES.map(|(name, text)| (isaac.join(name), text)))
    {
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
        Err(error) => failed(&format!("the result cannot be printed as JSON: {error}")),
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

fn wrong(message: &str) -> ExitCode {
    let _ = writeln!(
        anstream::stderr(),
        "{ERROR}error:{ERROR:#} {}\n\nFor more information, try '--help'.",
        escape_controls(message)
    );
    ExitCode::from(USAGE)
}
