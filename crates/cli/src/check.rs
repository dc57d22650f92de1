//! `urdf_usd check`: checks an asset against the rules (REP-158 for OpenUSD, EXT_robot_kinematics
//! for glTF), or a running robot against its asset.
//!
//! Prints findings as text, JSON or SARIF.

mod live;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::conversion::CommandLimits;
use super::findings::print_results;
use super::packages::{Packages, in_package};
use super::{failed, plural, print_json, sarif, usage_error};
use crate::codes;
use urdf_usd_convert::{self as convert, REPORT, Report, Status};
use urdf_usd_diagnostic::{
    self as diagnostic, Diagnostic, Place, Severity, did_you_mean, escape_controls, nearest,
};
use urdf_usd_gltf_check as gltf_check;
use urdf_usd_rep158::{self as rep158, VariantChoice};
use urdf_usd_resolve::Opened;
use urdf_usd_tf_check::Limits;

/// Maximum size of a glTF file in bytes: a GLB can't be larger, and a .gltf need not be.
const MAX_BYTES: u64 = 1 << 32;
/// Number of bytes that identify the format of a file.
const BEGINNING: u64 = 512;

/// Maximum length in bytes of a line of which an excerpt is shown: a longer one helps no reader.
const MAX_LINE: usize = 240;

/// The command's arguments.
#[derive(Args)]
pub struct Check {
    /// The entry file of an OpenUSD asset (.usda, .usd, .usdc, .usdz), a .glb or .gltf file, or the
    /// folder of an asset, in which OpenUSD files take precedence. package://PACKAGE/FILE is
    /// accepted, too
    #[arg(required_unless_present = "explain")]
    asset: Option<PathBuf>,
    /// Explain a code: what the rule requires, what breaking it causes, and an example
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
    /// Compare the frames of an OpenUSD asset with TF and joint states of the running robot
    #[arg(long)]
    live: bool,
    /// Maximum time to wait for frames, in s
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, requires = "live", value_parser = positive)]
    timeout: f64,
    /// Maximum distance between a frame and its place in the asset, in m
    #[arg(long, value_name = "METRES", default_value_t = 0.001, requires = "live", value_parser = positive)]
    position_tolerance: f64,
    /// Maximum angle between a frame and its orientation in the asset, in rad
    #[arg(long, value_name = "RADIANS", default_value_t = 0.01, requires = "live", value_parser = positive)]
    angle_tolerance: f64,
    /// Check only this code (may be given several times); a * at its end matches any characters
    #[arg(long, value_name = "CODE", conflicts_with = "live")]
    select: Vec<String>,
    /// Ignore these findings (may be given several times): codes, in which * at the end matches any
    /// characters; with --live frames, in which * matches any characters and ? one
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Select a variant of an OpenUSD asset instead of its own selection (may be given several
    /// times): on all prims with that variant set, or on one prim
    #[arg(long, value_name = "SET=NAME|/PRIM{SET=NAME}", conflicts_with = "live")]
    variant: Vec<VariantChoice>,
    /// Check every variant of an OpenUSD asset, one after the other, instead of the selected ones
    /// only
    #[arg(long, conflicts_with = "live")]
    all_variants: bool,
    #[command(flatten)]
    packages: Packages,
    #[command(flatten)]
    pub(super) limits: CommandLimits,
    /// ROS arguments, as for any ROS 2 node: all arguments that follow, up to `--`
    #[arg(long, num_args = 0.., allow_hyphen_values = true, value_terminator = "--", value_name = "ARGS", requires = "live")]
    ros_args: Vec<OsString>,
    /// The output format: text for people, JSON for programs, or SARIF 2.1.0 for code scanning
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The lowest severity that is shown; hidden errors still fail the check
    #[arg(long, value_enum, default_value_t)]
    severity: MinSeverity,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Sarif,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum MinSeverity {
    #[default]
    Info,
    Warning,
    Error,
}

impl From<MinSeverity> for Severity {
    fn from(least: MinSeverity) -> Self {
        match least {
            MinSeverity::Info => Self::Info,
            MinSeverity::Warning => Self::Warning,
            MinSeverity::Error => Self::Error,
        }
    }
}

/// Number of findings of each severity, shown or not.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Counts {
    pub(super) error: usize,
    pub(super) warning: usize,
    pub(super) info: usize,
}

impl Counts {
    pub(super) fn new(diagnostics: &[Diagnostic]) -> Self {
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

/// Runs the check and prints its findings; the exit code says whether there are errors.
pub fn run(arguments: &Check) -> ExitCode {
    if let Some(code) = &arguments.explain {
        let Some(text) = codes::explain(code) else {
            return unknown_code(code);
        };
        match &arguments.asset {
            // Machine-readable output must be alone on standard output.
            Some(_) => eprintln!("{text}"),
            None => print!("{text}"),
        }
    }
    let Some(asset) = &arguments.asset else {
        return ExitCode::SUCCESS;
    };
    let resolver = match arguments.packages.resolver() {
        Ok(resolver) => resolver,
        Err(message) => return usage_error(&message),
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
    if let Err(message) = check_extension(&asset) {
        return failed(&message);
    }
    let found = if is_usd(&asset) {
        check_usd(&asset, &options)
    } else if options.all_variants || !options.variants.is_empty() {
        return usage_error("--variant and --all-variants apply only to OpenUSD assets");
    } else {
        check_gltf(&asset, &options)
    };
    let (mut diagnostics, text) = match found {
        Ok(found) => found,
        Err(message) => return failed(&message),
    };
    print_conversion_note(&asset);
    let counts = Counts::new(&diagnostics);
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

/// Notes that the asset is incomplete: geometry that the conversion left out breaks no rule.
fn print_conversion_note(asset: &Path) {
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

/// The findings, and the bytes of the glTF file that their places refer to.
type Found = Result<(Vec<Diagnostic>, Vec<u8>), String>;

fn check_gltf(asset: &Path, options: &rep158::Options) -> Found {
    let (file, bytes) = open_regular(asset)?;
    if bytes > MAX_BYTES {
        return Err(format!(
            "{} has {bytes} bytes, more than the 4 GiB of a GLB",
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

fn check_usd(asset: &Path, options: &rep158::Options) -> Found {
    open_regular(asset)?;
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

/// Checks that the extension of a file matches its contents, and otherwise explains what to do.
fn check_extension(asset: &Path) -> Result<(), String> {
    let is_gltf = asset.extension().is_some_and(|extension| {
        ["glb", "gltf"]
            .iter()
            .any(|of| extension.eq_ignore_ascii_case(of))
    });
    if is_usd(asset) || is_gltf {
        return Ok(());
    }
    let mut start = Vec::new();
    let (file, _) = open_regular(asset)?;
    file.take(BEGINNING)
        .read_to_end(&mut start)
        .map_err(|error| format!("cannot read {}: {error}", asset.display()))?;
    match convert::Format::detect(&start) {
        convert::Format::Glb | convert::Format::Gltf => Ok(()),
        convert::Format::Usd => Err(format!(
            "{} is an OpenUSD file without its extension: rename it to .usd, .usda, .usdc or .usdz, which OpenUSD requires",
            asset.display()
        )),
        convert::Format::Urdf => Err(format!(
            "{} is neither an OpenUSD asset nor a glTF file; `urdf_usd convert` creates both from a URDF",
            asset.display()
        )),
    }
}

/// Reports an unknown code as an error of usage.
fn unknown_code(code: &str) -> ExitCode {
    let all = codes::GROUPS
        .iter()
        .flat_map(|(_, codes)| *codes)
        .map(|code| code.id);
    let help = did_you_mean(nearest(code, all))
        .unwrap_or_else(|| "docs/diagnostics.md lists all codes".to_owned());
    usage_error(&format!("unknown code \"{code}\": {help}"))
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number: &f64| *number >= 0.0)
        .ok_or_else(|| "give a number of at least 0".to_owned())
}

/// Opens a regular file; returns it with its size in bytes.
fn open_regular(asset: &Path) -> Result<(File, u64), String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", asset.display());
    match Opened::at(asset) {
        Ok(opened) => Ok((opened.file, opened.meta.len())),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Err(format!(
            "{} is not a regular file; give a .usda, .usd, .usdc, .usdz, .glb or .gltf file",
            asset.display()
        )),
        Err(error) => Err(cannot(error)),
    }
}

/// Prints findings as text.
///
/// `text` is the content of a glTF file; excerpts of OpenUSD are read from its layers.
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
        // Without an excerpt, the message contains the element, and the line if it is known.
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
    // A closed pipe (`| head`) is not an error.
    let _ = writeln!(
        std::io::stdout(),
        "{}: {errors}, {warnings}{hidden}",
        escape_controls(&asset)
    );
}
