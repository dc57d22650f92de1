//! `urdf_usd check`: what an asset breaks of the rules (REP-158 for OpenUSD, EXT_robot_kinematics
//! for glTF), or where a running robot differs from it; for people, for programs, and for code
//! scanning.

mod live;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::conversion::Under;
use super::findings::print_results;
use super::packages::{Packages, in_package};
use super::{failed, plural, print_json, sarif, wrong};
use crate::codes;
use urdf_usd_convert::{self as convert, REPORT, Report, Status};
use urdf_usd_diagnostic::{
    self as diagnostic, Diagnostic, Place, Severity, did_you_mean, escape_controls, nearest,
};
use urdf_usd_gltf_check as gltf_check;
use urdf_usd_rep158::{self as rep158, VariantChoice};
use urdf_usd_resolve::Opened;
use urdf_usd_tf_check::Limits;

/// A GLB can't be larger, and a .gltf need not be.
const MAX_BYTES: u64 = 1 << 32;
/// How much of a file tells what it is, in bytes.
const BEGINNING: u64 = 512;

/// An excerpt of a line that is longer would help nobody.
const MAX_LINE: usize = 240;

/// The command's arguments.
#[derive(Args)]
pub struct Check {
    /// The entry file of an OpenUSD asset (.usda, .usd, .usdc, .usdz), a .glb or .gltf file, or an
    /// asset's folder, whose OpenUSD files come first; also as package://PACKAGE/FILE
    #[arg(required_unless_present = "explain")]
    asset: Option<PathBuf>,
    /// Say what a code means: what the rule demands, what comes of breaking it, and an example
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
    /// Hold the frames of an OpenUSD asset against the TF and joint states of the robot that runs
    #[arg(long)]
    live: bool,
    /// How long to wait for frames, in s
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, requires = "live", value_parser = positive)]
    timeout: f64,
    /// How far a frame may be from where the asset says, in m
    #[arg(long, value_name = "METRES", default_value_t = 0.001, requires = "live", value_parser = positive)]
    position_tolerance: f64,
    /// How far a frame may be turned from what the asset says, in rad
    #[arg(long, value_name = "RADIANS", default_value_t = 0.01, requires = "live", value_parser = positive)]
    angle_tolerance: f64,
    /// A code that alone is looked at (may be given several times): * at its end stands for any
    /// characters
    #[arg(long, value_name = "CODE", conflicts_with = "live")]
    select: Vec<String>,
    /// What is not looked at (may be given several times): codes, in which * at the end stands for
    /// any characters; with --live frames, in which * stands for any characters, ? for one
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// A variant of an OpenUSD asset that is selected instead of the asset's own choice (may be
    /// given several times): of the set on all prims that have it, or on one
    #[arg(long, value_name = "SET=NAME|/PRIM{SET=NAME}", conflicts_with = "live")]
    variant: Vec<VariantChoice>,
    /// Look at each variant of an OpenUSD asset, one after the other, and not at the selected ones
    /// only
    #[arg(long, conflicts_with = "live")]
    all_variants: bool,
    #[command(flatten)]
    packages: Packages,
    #[command(flatten)]
    pub(super) limits: Under,
    /// `--ros-args …`, as for any ROS 2 node; whatever follows, up to `--`, is one of them
    #[arg(long, num_args = 0.., allow_hyphen_values = true, value_terminator = "--", value_name = "ARGS", requires = "live")]
    ros_args: Vec<OsString>,
    /// How to print what was found: for people, for programs, or for code scanning (SARIF 2.1.0)
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The least severity that is shown; errors always fail
    #[arg(long, value_enum, default_value_t)]
    severity: Least,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Sarif,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Least {
    #[default]
    Info,
    Warning,
    Error,
}

impl From<Least> for Severity {
    fn from(least: Least) -> Self {
        match least {
            Least::Info => Self::Info,
            Least::Warning => Self::Warning,
            Least::Error => Self::Error,
        }
    }
}

/// Of all findings, whether shown or not.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Counts {
    pub(super) error: usize,
    pub(super) warning: usize,
    pub(super) info: usize,
}

impl Counts {
    pub(super) fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| {
            diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity == severity)
                .count()
        };
        Self {
            error: count(Severity::Error),
            warning: count(Severity::Warning),
            info: count(Severity::Info),
        }
    }
}

#[derive(Serialize)]
struct Findings<'a> {
    asset: &'a Path,
    diagnostics: &'a [Diagnostic],
    counts: Counts,
}

/// Checks, prints, and says by the exit code whether there is an error.
pub fn run(arguments: &Check) -> ExitCode {
    if let Some(code) = &arguments.explain {
        let Some(text) = codes::explain(code) else {
            return unknown_code(code);
        };
        match &arguments.asset {
            // What programs read is on standard output alone.
            Some(_) => eprintln!("{text}"),
            None => print!("{text}"),
        }
    }
    let Some(asset) = &arguments.asset else {
        return ExitCode::SUCCESS;
    };
    let resolver = match arguments.packages.resolver() {
        Ok(resolver) => resolver,
        Err(message) => return wrong(&message),
    };
    let asset = match in_package(asset, &resolver) {
        Ok(asset) => asset,
        Err(message) => return failed(&message),
    };
    if arguments.live {
        let limits = Limits {
            position: arguments.position_tolerance,
            angle: arguments.angle_tolerance,
            ignore: arguments.ignore.clone(),
            ..Limits::default()
        };
        let Check {
            format, timeout, ..
        } = *arguments;
        return live::run(live::Listen {
            asset: &asset,
            format,
            timeout,
            limits,
            ros_args: &arguments.ros_args,
        });
    }
    for pattern in arguments.select.iter().chain(&arguments.ignore) {
        let options = rep158::Options {
            select: vec![pattern.clone()],
            ..rep158::Options::default()
        };
        if !codes::GROUPS
            .iter()
            .flat_map(|(_, codes)| *codes)
            .any(|code| options.includes(code.id))
        {
            return unknown_code(pattern);
        }
    }
    let asset = match convert::entry(&asset, &["usda", "usd", "usdc", "usdz", "glb", "gltf"]) {
        Ok(file) => file,
        Err(message) => return failed(&message),
    };
    let options = rep158::Options {
        variants: arguments.variant.clone(),
        all_variants: arguments.all_variants,
        select: arguments.select.clone(),
        ignore: arguments.ignore.clone(),
        interfaces: resolver.interfaces(),
        packages: Some(resolver),
    };
    if let Err(message) = kind_is_known(&asset) {
        return failed(&message);
    }
    let found = if is_usd(&asset) {
        of_usd(&asset, &options)
    } else if options.all_variants || !options.variants.is_empty() {
        return wrong("--variant and --all-variants are about OpenUSD assets");
    } else {
        of_gltf(&asset, &options)
    };
    let (mut diagnostics, text) = match found {
        Ok(found) => found,
        Err(message) => return failed(&message),
    };
    tell_conversion(&asset);
    let counts = Counts::of(&diagnostics);
    let least = arguments.severity.into();
    diagnostics.retain(|diagnostic| diagnostic.severity >= least);
    let printed = match arguments.format {
        Format::Text => {
            print_text(&asset, &text, diagnostics, counts);
            ExitCode::SUCCESS
        }
        Format::Json => print_json(&Findings {
            asset: &asset,
            diagnostics: &diagnostics,
            counts,
        }),
        Format::Sarif => print_json(&sarif::log(&diagnostics)),
    };
    if counts.error > 0 {
        ExitCode::FAILURE
    } else {
        printed
    }
}

/// Says if the asset is sound but not whole: what the conversion had to leave out breaks no rule.
fn tell_conversion(asset: &Path) {
    let Some(report) = asset
        .parent()
        .and_then(|directory| Report::read(directory).ok())
    else {
        return;
    };
    let is_of_it = report.files.iter().any(|file| {
        asset
            .file_name()
            .is_some_and(|name| name == file.path.as_str())
    });
    if !is_of_it || report.status != Status::Errors {
        return;
    }
    let note = format!(
        "note: {} was converted with {}: {} has them",
        report.robot,
        diagnostic::count(&report.diagnostics),
        asset.with_file_name(REPORT).display()
    );
    let _ = writeln!(std::io::stderr(), "{}", escape_controls(&note));
}

/// What was found, and the bytes that the places of glTF's findings are in.
type Found = Result<(Vec<Diagnostic>, Vec<u8>), String>;

fn of_gltf(asset: &Path, options: &rep158::Options) -> Found {
    let (file, bytes) = regular(asset)?;
    if bytes > MAX_BYTES {
        return Err(format!(
            "{} has {bytes} bytes, more than a GLB can hold",
            asset.display()
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read {}: {error}", asset.display()))?;
    let mut found = gltf_check::check(&bytes, Some(asset));
    found.retain(|finding| options.includes(finding.code));
    Ok((found, bytes))
}

fn of_usd(asset: &Path, options: &rep158::Options) -> Found {
    regular(asset)?;
    let (stage, found) = rep158::check_stage(asset, options).map_err(|error| error.to_string())?;
    let names_type = |name: &String| name.starts_with("ros:") && name.ends_with(":type");
    if options.interfaces.is_none()
        && stage
            .prims
            .iter()
            .any(|prim| prim.attributes.keys().any(names_type))
    {
        let note = "note: no ROS workspace is sourced (AMENT_PREFIX_PATH), so whether the interface types that the asset names exist is \
                    not looked at";
        let _ = writeln!(std::io::stderr(), "{note}");
    }
    Ok((found, Vec::new()))
}

pub(super) fn is_usd(asset: &Path) -> bool {
    let extension = asset
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    matches!(extension.as_str(), "usd" | "usda" | "usdc" | "usdz")
}

/// Whether the name of a file says what it is; otherwise its beginning tells what to do with it.
fn kind_is_known(asset: &Path) -> Result<(), String> {
    let is_gltf = asset.extension().is_some_and(|extension| {
        ["glb", "gltf"]
            .iter()
            .any(|of| extension.eq_ignore_ascii_case(of))
    });
    if is_usd(asset) || is_gltf {
        return Ok(());
    }
    let mut start = Vec::new();
    let (file, _) = regular(asset)?;
    file.take(BEGINNING)
        .read_to_end(&mut start)
        .map_err(|error| format!("cannot read {}: {error}", asset.display()))?;
    match convert::Format::of(&start) {
        convert::Format::Glb | convert::Format::Gltf => Ok(()),
        convert::Format::Usd => Err(format!(
            "{} is an OpenUSD file, but its name does not say so: OpenUSD opens .usd, .usda, .usdc and .usdz only",
            asset.display()
        )),
        convert::Format::Urdf => Err(format!(
            "{} is neither an OpenUSD asset nor a glTF file; `urdf_usd convert` makes both of a URDF",
            asset.display()
        )),
    }
}

/// Says that there is no such code: the command line is wrong.
fn unknown_code(code: &str) -> ExitCode {
    let all = codes::GROUPS
        .iter()
        .flat_map(|(_, codes)| *codes)
        .map(|code| code.id);
    let help = did_you_mean(nearest(code, all))
        .unwrap_or_else(|| "docs/diagnostics.md lists all codes".to_owned());
    wrong(&format!("there is no code \"{code}\": {help}"))
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number: &f64| *number >= 0.0)
        .ok_or_else(|| "it is not a number from 0 up".to_owned())
}

/// An open file with its size in bytes.
fn regular(asset: &Path) -> Result<(File, u64), String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", asset.display());
    match Opened::at(asset) {
        Ok(opened) => Ok((opened.file, opened.meta.len())),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Err(format!(
            "{} is no regular file; give a .usda, .usd, .usdc, .usdz, .glb or .gltf file",
            asset.display()
        )),
        Err(error) => Err(cannot(error)),
    }
}

/// `text`: of a glTF file; the layers of OpenUSD are read for their excerpts.
fn print_text(asset: &Path, text: &[u8], mut diagnostics: Vec<Diagnostic>, counts: Counts) {
    let hidden = counts.error + counts.warning + counts.info - diagnostics.len();
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let is_long = |line: &&[u8]| line.len() > MAX_LINE;
    let has_excerpt = |place: &Place| {
        place.line > 0
            && if is_usd(asset) {
                place.file.as_ref().is_some_and(|file| file.is_file())
            } else {
                !lines.get(place.line as usize - 1).is_some_and(is_long)
            }
    };
    for diagnostic in &mut diagnostics {
        let place = &mut diagnostic.place;
        if has_excerpt(place) {
            continue;
        }
        // Without an excerpt, the element says where it is; a line without a number has none.
        let position = if place.line > 0 {
            format!("line {}, column {}, ", place.line, place.column)
        } else {
            String::new()
        };
        if !place.element.is_empty() {
            diagnostic.message = format!("{} ({position}{})", diagnostic.message, place.element);
        }
        (place.line, place.column) = (0, 0);
    }
    print_results(&diagnostics);
    let hidden = if hidden > 0 {
        format!(" ({hidden} below --severity not shown)")
    } else {
        String::new()
    };
    let asset = asset.to_string_lossy();
    let (errors, warnings) = (
        plural(counts.error, "error"),
        plural(counts.warning, "warning"),
    );
    // A closed pipe (`| head`) is the reader's choice.
    let _ = writeln!(
        std::io::stdout(),
        "{}: {errors}, {warnings}{hidden}",
        escape_controls(&asset)
    );
}
