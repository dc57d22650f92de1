//! `urdf_usd check`: what an asset breaks of the rules, or where a running robot differs from it; for people, for programs, and for code
//! scanning.

mod live;

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{failed, plural, print_json, sarif, show_diagnostics, wrong};
use crate::codes;
use crate::convert;
use crate::diagnostic::{Diagnostic, Severity, did_you_mean, escape_controls, nearest};
use crate::gltf;
use crate::tf_check::Limits;

/// A GLB can't be larger, and a .gltf need not be.
const MAX_BYTES: u64 = 1 << 32;

/// An excerpt of a line that is longer would help nobody.
const MAX_LINE: usize = 240;

/// The command's arguments.
#[derive(Args)]
pub struct Check {
    /// The .glb or .gltf file, or an asset's folder; with --live the entry file of an OpenUSD asset, or its folder
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
    /// Frames that are not looked at (may be given several times): * stands for any characters, ? for one
    #[arg(long, value_name = "PATTERN", requires = "live")]
    ignore: Vec<String>,
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
struct Counts {
    error: usize,
    warning: usize,
    info: usize,
}

impl Counts {
    fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        Self { error: count(Severity::Error), warning: count(Severity::Warning), info: count(Severity::Info) }
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
        let Some(text) = codes::explain(code) else { return unknown_code(code) };
        match &arguments.asset {
            // What programs read is on standard output alone.
            Some(_) => eprintln!("{text}"),
            None => print!("{text}"),
        }
    }
    let Some(asset) = &arguments.asset else { return ExitCode::SUCCESS };
    if arguments.live {
        let limits = Limits {
            position: arguments.position_tolerance,
            angle: arguments.angle_tolerance,
            ignore: arguments.ignore.clone(),
            ..Limits::default()
        };
        let Check { format, timeout, .. } = *arguments;
        return live::run(live::Listen { asset, format, timeout, limits, ros_args: &arguments.ros_args });
    }
    let opened = convert::entry(asset, &["glb", "gltf"]).and_then(|file| Ok((read(&file)?, file)));
    let (bytes, asset) = match &opened {
        Ok((bytes, file)) => (bytes, file),
        Err(message) => return failed(message),
    };
    let mut diagnostics = gltf::check::check(bytes, Some(asset));
    let counts = Counts::of(&diagnostics);
    let least = arguments.severity.into();
    diagnostics.retain(|diagnostic| diagnostic.severity >= least);
    let printed = match arguments.format {
        Format::Text => {
            print_text(asset, bytes, diagnostics, counts);
            ExitCode::SUCCESS
        }
        Format::Json => print_json(&Findings { asset, diagnostics: &diagnostics, counts }),
        Format::Sarif => print_json(&sarif::log(&diagnostics)),
    };
    if counts.error > 0 { ExitCode::FAILURE } else { printed }
}

/// Says that there is no such code: the command line is wrong.
fn unknown_code(code: &str) -> ExitCode {
    let all = codes::GROUPS.iter().flat_map(|(_, codes)| *codes).map(|code| code.id);
    let help = did_you_mean(nearest(code, all)).unwrap_or_else(|| "docs/diagnostics.md lists all codes".to_owned());
    wrong(&format!("there is no code \"{code}\": {help}"))
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| *number >= 0.0).ok_or_else(|| "it is not a number from 0 up".to_owned())
}

fn read(asset: &Path) -> Result<Vec<u8>, String> {
    let shown = asset.display();
    let extension = asset.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if matches!(extension.as_str(), "usd" | "usda" | "usdc" | "usdz") {
        return Err(format!(
            "{shown} is an OpenUSD asset, and this version checks the rules of glTF files only (.glb, .gltf); --live holds its frames \
             against a robot that runs"
        ));
    }
    let cannot = |error: std::io::Error| format!("cannot read {shown}: {error}");
    // Asked before it is opened: opening a pipe would wait for its other end, and a device has no end.
    let metadata = std::fs::metadata(asset).map_err(cannot)?;
    if !metadata.is_file() {
        return Err(format!("{shown} is no regular file; give a .glb or .gltf file"));
    }
    let file = File::open(asset).map_err(cannot)?;
    if metadata.len() > MAX_BYTES {
        return Err(format!("{shown} has {} bytes, more than a GLB can hold", metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

fn print_text(asset: &Path, bytes: &[u8], mut diagnostics: Vec<Diagnostic>, counts: Counts) {
    let hidden = counts.error + counts.warning + counts.info - diagnostics.len();
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for diagnostic in &mut diagnostics {
        let place = &mut diagnostic.place;
        let is_long = |line: &&[u8]| line.len() > MAX_LINE;
        if place.line > 0 && !lines.get(place.line as usize - 1).is_some_and(is_long) {
            continue;
        }
        // Without an excerpt, the pointer says where it is; a line without a number has none.
        let position = if place.line > 0 { format!("line {}, column {}, ", place.line, place.column) } else { String::new() };
        if !place.element.is_empty() {
            diagnostic.message = format!("{} ({position}{})", diagnostic.message, place.element);
        }
        (place.line, place.column) = (0, 0);
    }
    let is_terminal = std::io::stdout().is_terminal();
    let mut out = std::io::stdout().lock();
    show_diagnostics(&diagnostics, None, &mut out, is_terminal);
    let hidden = if hidden > 0 { format!(" ({hidden} below --severity not shown)") } else { String::new() };
    let asset = asset.to_string_lossy();
    let (errors, warnings) = (plural(counts.error, "error"), plural(counts.warning, "warning"));
    // A closed pipe (`| head`) is the reader's choice.
    let _ = writeln!(out, "{}: {errors}, {warnings}{hidden}", escape_controls(&asset));
}
