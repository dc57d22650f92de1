//! `urdf_usd xrdf`: checks an XRDF against a robot, or writes one for a robot.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::OUTPUT;
use super::deferred::Deferred;
use super::packages::Packages;
use super::results::{failed, failed_with, print, print_json, usage_error};
use super::subject::{self, INPUT, XacroArguments};
use super::terminal::say;
use super::{Bar, open_cache, plural, print_diagnostics};
use urdf_usd_convert::xrdf::{Limit, Options, Written, check, save, write};
use urdf_usd_convert::{self as convert, Context, Failure, Formats, Job, OutputFormat, Tiers};
use urdf_usd_diagnostic::{Severity, escape_controls};
use urdf_usd_geometry::spheres::{MOST_SPHERES, Wanted};

/// The commands.
#[derive(Subcommand)]
pub enum Xrdf {
    /// Check an XRDF against a robot: that it follows the specification, and that the robot has
    /// everything that it names
    ///
    /// Exit code 0: no errors, possibly warnings (unless --strict). 1: errors, or a file can't be
    /// read. 2: usage error.
    Check(Deferred<Check>),
    /// Write an XRDF for a robot: spheres that cover its collision geometry, pairs of links that
    /// need no collision check, and its configuration space, tools and default positions as far as
    /// they are known or given
    ///
    /// The spheres of a link contain every point on and in its collision geometry, and exceed it by
    /// at most --error; for meshes with holes, the region that the surface encloses counts as
    /// inside. A pair of links needs no collision check if the links are neighbours or rigidly
    /// connected, if an SRDF excludes it, if they touch at the default positions (which is
    /// reported), or if their spheres never or always touch in --samples random configurations. The
    /// same robot and options give the same file.
    ///
    /// Exit code 0: written. 1: not written. 2: usage error.
    Write(Deferred<Create>),
}

/// A robot and its accompanying files.
#[derive(Args)]
struct Subject {
    #[command(flatten)]
    robot: subject::Robot,
    /// The robot's SRDF: named poses, end effectors, and pairs of links that need no collision
    /// check
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    srdf: Option<PathBuf>,
    #[command(flatten)]
    packages: Packages,
    /// Print the report as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `xrdf check`.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    robot: Subject,
    /// The XRDF file
    xrdf: PathBuf,
    #[command(flatten)]
    xacro: XacroArguments,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
}

/// `xrdf write`.
#[derive(Args)]
pub struct Create {
    #[command(flatten)]
    robot: Subject,
    #[command(flatten)]
    xacro: XacroArguments,
    /// The file to write; `-` for standard output
    #[arg(short = 'o', long, value_name = "FILE", help_heading = OUTPUT)]
    output: PathBuf,
    /// Start from this XRDF: its contents stay, except what other options set
    #[arg(long, value_name = "FILE")]
    xrdf: Option<PathBuf>,
    /// Cover each link with at most this many spheres, which exceed its geometry as little as
    /// possible
    #[arg(long, value_name = "N", conflicts_with = "error", value_parser = clap::value_parser!(u32).range(1..=MOST_SPHERES as i64))]
    spheres: Option<u32>,
    /// Cover each link with as few spheres as possible that exceed its geometry by at most this
    /// many metres [default: 0.02, unless the robot has spheres]
    #[arg(long, value_name = "METRES", value_parser = above_zero)]
    error: Option<f64>,
    /// A joint of the configuration space, in its order (may be given several times) [default: all
    /// joints with one position that are not mimic joints]
    #[arg(long = "joint", value_name = "NAME")]
    joints: Vec<String>,
    /// The maximum acceleration of all joints or of one, in rad/s² or m/s² (may be given several
    /// times)
    #[arg(long, value_name = "[JOINT=]VALUE", value_parser = limit)]
    acceleration_limit: Vec<Limit>,
    /// The maximum jerk of all joints or of one, in rad/s³ or m/s³ (may be given several times)
    #[arg(long, value_name = "[JOINT=]VALUE", value_parser = limit)]
    jerk_limit: Vec<Limit>,
    /// A link that is a tool frame; the first is the end effector (may be given several times)
    /// [default: those of the robot or its SRDF]
    #[arg(long = "tool-frame", value_name = "LINK")]
    tool_frames: Vec<String>,
    /// The named pose with the default positions [default: default, home or ready]
    #[arg(long, value_name = "NAME")]
    pose: Option<String>,
    /// The number of random configurations in which to look for pairs of links that never or always
    /// touch; 0: none
    #[arg(long, value_name = "N", default_value_t = Options::SAMPLES as u32, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    samples: u32,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "give a number above 0".to_owned())
}

fn limit(text: &str) -> Result<Limit, String> {
    let (joint, value) = text
        .rsplit_once('=')
        .map_or((None, text), |(joint, value)| {
            (Some(joint.to_owned()), value)
        });
    Ok(Limit {
        joint,
        value: above_zero(value)?,
    })
}

/// Runs one of the commands.
pub fn run(command: &Xrdf) -> ExitCode {
    match command {
        Xrdf::Check(arguments) => run_check(&arguments.0),
        Xrdf::Write(arguments) => run_write(&arguments.0),
    }
}

/// Returns the conversion job for a robot; on failure, prints the error and returns the exit code.
fn job(robot: &Subject, xacro: &XacroArguments, xrdf: Option<&Path>) -> Result<Job, ExitCode> {
    let resolve = robot
        .packages
        .options()
        .map_err(|message| usage_error(&message))?;
    let read = robot.robot.read(xacro, &resolve)?;
    let xrdf = xrdf.map(Path::to_owned);
    // Neither simplified meshes nor images of a glTF are needed.
    let formats = Formats::only(OutputFormat::Usd);
    let options = convert::Options {
        resolve,
        srdf: robot.srdf.clone(),
        xrdf,
        tiers: Tiers::High,
        formats,
        ..convert::Options::default()
    };
    Ok(Job {
        options,
        robot: read.model,
        ..Job::new(read.source, ".")
    })
}

fn not_done(failure: &Failure, what: &str) -> ExitCode {
    let code = failed_with(&failure.diagnostics, None);
    say(what);
    code
}

fn run_check(arguments: &Check) -> ExitCode {
    let job = match job(&arguments.robot, &arguments.xacro, Some(&arguments.xrdf)) {
        Ok(job) => job,
        Err(code) => return code,
    };
    let (robot, found) = match check(&job, &Context::default()) {
        Ok(checked) => checked,
        Err(failure) => return not_done(&failure, "not checked"),
    };
    print_diagnostics(&found, None);
    let count = |severity| {
        found
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let (errors, warnings) = (
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning"),
    );
    let message = format!(
        "{} for {robot}: {errors}, {warnings}",
        arguments.xrdf.display()
    );
    say(escape_controls(&message));
    let printed = if arguments.robot.json {
        print_json(&serde_json::json!({ "robot": robot, "diagnostics": found }))
    } else {
        ExitCode::SUCCESS
    };
    let least = if arguments.strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    if found.iter().any(|found| found.severity >= least) {
        ExitCode::FAILURE
    } else {
        printed
    }
}

fn run_write(arguments: &Create) -> ExitCode {
    let to_standard_output = arguments.output == Path::new("-");
    if to_standard_output && arguments.robot.json {
        return usage_error("--json prints the report to standard output; name a file with -o");
    }
    let job = match job(
        &arguments.robot,
        &arguments.xacro,
        arguments.xrdf.as_deref(),
    ) {
        Ok(job) => job,
        Err(code) => return code,
    };
    let spheres = arguments
        .spheres
        .map(|count| Wanted::Count(count as usize))
        .or(arguments.error.map(Wanted::Error));
    let options = Options {
        spheres,
        joints: arguments.joints.clone(),
        acceleration: arguments.acceleration_limit.clone(),
        jerk: arguments.jerk_limit.clone(),
        tool_frames: arguments.tool_frames.clone(),
        pose: arguments.pose.clone(),
        samples: arguments.samples as usize,
    };
    let store = match open_cache(false, None) {
        Ok(store) => store,
        Err(message) => return usage_error(&message),
    };
    let mut bar = Bar::default();
    let context = Context {
        store,
        progress: bar.listener(),
        ..Context::default()
    };
    let result = write(&job, &options, &context);
    bar.clear();
    let written = match result {
        Ok(written) => written,
        Err(failure) => return not_done(&failure, "nothing was written"),
    };
    print_diagnostics(&written.diagnostics, None);
    if to_standard_output {
        let printed = print(&written.text);
        if printed != ExitCode::SUCCESS {
            return printed;
        }
    } else if let Err(message) = save(&written, &arguments.output) {
        return failed(&message);
    }
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        escape_controls(&outcome(&written, &arguments.output))
    );
    if arguments.robot.json {
        print_json(&written)
    } else {
        ExitCode::SUCCESS
    }
}

fn outcome(written: &Written, output: &Path) -> String {
    let error = written
        .links
        .iter()
        .map(|link| link.error)
        .fold(0.0, f64::max)
        * 1000.0;
    let fitted = if written.links.is_empty() {
        String::new()
    } else {
        format!(" that exceed the geometry by at most {error:.1} mm")
    };
    let (spheres, pairs) = (
        plural(written.spheres, "sphere"),
        plural(written.ignored, "pair"),
    );
    format!(
        "{} wrote {}: {spheres}{fitted}, {pairs} of links without a collision check",
        written.robot,
        output.display()
    )
}
