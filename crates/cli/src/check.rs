//! `urdf_usd check`: checks an asset against the rules (REP-158 for OpenUSD, EXT_robot_kinematics
//! for glTF), a description as a conversion does, or a running robot against its asset.
//!
//! Prints findings as text, JSON or SARIF.

mod live;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::OUTPUT;
use super::conversion::CommandLimits;
use super::findings::as_results;
use super::packages::Packages;
use super::results::{Refusal, failed, print, print_json, usage_error};
use super::subject::{AssetFile, INPUT, PlanningFiles, Read, Robot, XacroArguments, located};
use super::terminal::say;
use super::{code_quality, convert_for_findings, plural, sarif};
use crate::codes;
use urdf_usd_convert::{self as convert, REPORT, Report, STDIN, Source, Status};
use urdf_usd_diagnostic::{
    self as diagnostic, Diagnostic, Place, Severity, did_you_mean, escape_controls, nearest,
};
use urdf_usd_gltf_check as gltf_check;
use urdf_usd_rep158::degradation::{self, Degradation, Engine};
use urdf_usd_rep158::{self as rep158, Revision, VariantChoice};
use urdf_usd_resolve::{self as resolve, Opened, Resolver};
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
    /// The entry file of an OpenUSD asset (.usda, .usd, .usdc, .usdz); a .glb or .gltf file; a URDF
    /// or xacro file; the folder of an asset, in which OpenUSD files take precedence, or of a ROS
    /// package with one robot; or package://PACKAGE/PATH of any of these. `-` reads any of these
    /// files but xacro from standard input
    #[arg(required_unless_present = "explain", value_name = "INPUT")]
    asset: Option<PathBuf>,
    /// Choose a robot of a folder by the name of its file, with or without its extension
    #[arg(long, value_name = "NAME", help_heading = INPUT, conflicts_with = "live")]
    robot: Option<String>,
    #[command(flatten)]
    xacro: XacroArguments,
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
    #[arg(long, value_name = "SET=NAME|/PRIM{SET=NAME}", conflicts_with = "live", help_heading = INPUT)]
    variant: Vec<VariantChoice>,
    /// The revision of REP-158 that an OpenUSD asset is checked against
    #[arg(long, default_value_t, value_parser = revisions(), conflicts_with = "live")]
    rep158: Revision,
    /// Also report what these engines drop or approximate of an OpenUSD asset, with its selected variants: as findings, and by
    /// engine and prim in JSON
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = engines(), conflicts_with = "live")]
    engine: Vec<Engine>,
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
    /// The output format: text for people, JSON for programs, SARIF 2.1.0 for code scanning, or
    /// GitLab's code quality report
    #[arg(long, value_enum, default_value_t, help_heading = OUTPUT)]
    format: Format,
    /// The lowest severity that is shown; hidden errors still fail the check
    #[arg(long, value_enum, default_value_t, help_heading = OUTPUT)]
    severity: MinSeverity,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Sarif,
    Gitlab,
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
    asset: Cow<'a, str>,
    /// The revision of REP-158, for OpenUSD assets.
    #[serde(skip_serializing_if = "Option::is_none")]
    rep158: Option<Revision>,
    /// Degradations by engine, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    engines: Vec<OfEngine>,
    diagnostics: &'a [Diagnostic],
    counts: Counts,
}

/// Degradations by an engine.
#[derive(Serialize)]
struct OfEngine {
    name: Engine,
    /// The version that was measured.
    version: Option<&'static str>,
    degradations: Vec<Degradation>,
}

/// Returns the parser of engines.
fn engines() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::as_str))
        .try_map(|text| text.parse::<Engine>())
}

/// Returns the parser of revisions of REP-158.
pub(super) fn revisions() -> impl TypedValueParser<Value = Revision> {
    PossibleValuesParser::new(Revision::ALL.map(Revision::as_str))
        .try_map(|text| text.parse::<Revision>())
}

/// Runs the check and prints its findings; the exit code says whether there are errors.
pub fn run(arguments: &Check) -> ExitCode {
    if let Some(code) = &arguments.explain {
        let Some(text) = codes::explain(code) else {
            return usage_error(&unknown_code(code));
        };
        match (&arguments.asset, arguments.format) {
            // Machine-readable output must be alone on standard output.
            (Some(_), _) => eprintln!("{text}"),
            (None, Format::Text) => return print(text),
            (None, Format::Json) => {
                return print_json(&serde_json::json!({ "code": code, "explanation": text }));
            }
            (None, Format::Sarif | Format::Gitlab) => {
                return usage_error("--explain prints text or JSON: choose --format text or json");
            }
        }
    }
    let Some(asset) = &arguments.asset else {
        return ExitCode::SUCCESS;
    };
    let resolve = match arguments.packages.options() {
        Ok(resolve) => resolve,
        Err(message) => return usage_error(&message),
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
        let asset = match located(asset, &resolve) {
            Ok(asset) => asset,
            Err(message) => return failed(&message),
        };
        return live::run(live::Listen {
            asset: &asset,
            format,
            timeout,
            limits,
            ros_args: &arguments.ros_args,
        });
    }
    let resolver = Arc::new(Resolver::new(resolve.clone()));
    let options = rep158::Options {
        revision: arguments.rep158,
        variants: arguments.variant.clone(),
        all_variants: arguments.all_variants,
        select: arguments.select.clone(),
        ignore: arguments.ignore.clone(),
        interfaces: resolver.interfaces(),
        packages: Some(resolver),
    };
    let robot = Robot {
        input: asset.clone(),
        robot: arguments.robot.clone(),
    };
    let found = check_patterns(&options)
        .and_then(|()| check_name(asset, &resolve))
        .and_then(|()| robot.find(&arguments.xacro, &resolve))
        .and_then(|read| check(read, &options, &arguments.engine, resolve));
    let Found {
        asset,
        mut diagnostics,
        degradations,
        text,
        revision,
        notes,
    } = match found {
        Ok(found) => found,
        Err(refusal) => return refusal.print(),
    };
    for note in notes {
        say(escape_controls(&note));
    }
    let counts = Counts::new(&diagnostics);
    let least = arguments.severity.into();
    diagnostics.retain(|diagnostic| diagnostic.severity >= least);
    let printed = match arguments.format {
        Format::Text => print_text(&asset, revision, &text, diagnostics, counts),
        Format::Json => print_json(&Findings {
            asset: asset.to_string_lossy(),
            rep158: revision,
            engines: by_engine(&arguments.engine, &degradations),
            diagnostics: &diagnostics,
            counts,
        }),
        Format::Sarif => print_json(&sarif::log(&diagnostics, revision)),
        Format::Gitlab => print_json(&code_quality::report(
            &diagnostics,
            &asset.to_string_lossy(),
        )),
    };
    if counts.error > 0 {
        ExitCode::FAILURE
    } else {
        printed
    }
}

/// Checks that each pattern matches a code.
///
/// # Errors
/// Returns the reason if one matches none.
pub fn check_patterns(options: &rep158::Options) -> Result<(), Refusal> {
    for pattern in options.select.iter().chain(&options.ignore) {
        let options = rep158::Options {
            select: vec![pattern.clone()],
            ..rep158::Options::default()
        };
        let mut all = codes::GROUPS.iter().flat_map(|(_, codes)| *codes);
        if !all.any(|code| options.includes(code.id)) {
            return Err(Refusal::Usage(unknown_code(pattern)));
        }
    }
    Ok(())
}

/// Checks that a file with the extension of an asset is one.
///
/// # Errors
/// Returns the reason if it is not.
pub fn check_name(asset: &Path, resolve: &resolve::Options) -> Result<(), Refusal> {
    if asset != Path::new("-") {
        let path = located(asset, resolve)?;
        if !path.is_dir() {
            convert::entry(&path, &convert::ASSETS)?;
        }
    }
    Ok(())
}

/// Checks an asset or a description.
///
/// # Errors
/// Returns the reason if it can't be read, or `options` do not apply to it.
pub fn check(
    read: Read,
    options: &rep158::Options,
    engines: &[Engine],
    resolve: resolve::Options,
) -> Result<Found, Refusal> {
    let subject = Subject::of(read)?;
    let has_variants = options.all_variants || !options.variants.is_empty();
    if has_variants && !matches!(subject.kind, Kind::Usd) {
        return Err(Refusal::Usage(
            "--variant and --all-variants apply only to OpenUSD assets".to_owned(),
        ));
    }
    if !engines.is_empty() && !matches!(subject.kind, Kind::Usd) {
        return Err(Refusal::Usage(
            "--engine applies only to OpenUSD assets; convert the description, and check the asset"
                .to_owned(),
        ));
    }
    Ok(subject.check(options, engines, resolve)?)
}

/// Returns a note that the asset is incomplete: geometry that the conversion left out breaks no
/// rule.
fn conversion_note(asset: &Path) -> Option<String> {
    let report = Report::read(asset.parent()?).ok()?;
    let is_of_it = report.files.iter().any(|file| {
        asset
            .file_name()
            .is_some_and(|name| name == file.path.as_str())
    });
    (is_of_it && report.status == Status::Errors).then(|| {
        format!(
            "note: {} was converted with {}: {} has them",
            report.robot,
            diagnostic::count(&report.diagnostics),
            asset.with_file_name(REPORT).display()
        )
    })
}

/// The kind of a subject.
enum Kind {
    /// An OpenUSD asset.
    Usd,
    /// The bytes of a glTF file.
    Gltf(Arc<[u8]>),
    /// A description.
    Description(Read),
}

/// A file to check.
struct Subject {
    kind: Kind,
    /// The file, also if it is a copy of standard input.
    file: PathBuf,
    /// The name of the file for users.
    shown: PathBuf,
    /// Deletes the copy of standard input.
    _copy: Option<tempfile::TempDir>,
}

impl Subject {
    /// Determines the kind of a source.
    fn of(read: Read) -> Result<Self, String> {
        match &read.source {
            Source::File(file) | Source::Xacro { file, .. } => Self::of_file(file.clone(), read),
            Source::Bytes { bytes, .. } => Self::of_bytes(bytes.clone(), read),
            Source::Text { .. } => Ok(Self::of_description(STDIN.into(), read)),
        }
    }

    fn of_file(file: PathBuf, read: Read) -> Result<Self, String> {
        check_extension(&file)?;
        let kind = if is_usd(&file) {
            Kind::Usd
        } else if is_gltf(&file) || format_of(&file)? != convert::Format::Urdf {
            Kind::Gltf(gltf_bytes(&file)?.into())
        } else {
            return Ok(Self::of_description(file, read));
        };
        Ok(Self {
            kind,
            shown: file.clone(),
            file,
            _copy: None,
        })
    }

    fn of_description(file: PathBuf, read: Read) -> Self {
        Self {
            kind: Kind::Description(read),
            shown: file.clone(),
            file,
            _copy: None,
        }
    }

    /// Creates the subject for the bytes of standard input.
    fn of_bytes(bytes: Arc<[u8]>, read: Read) -> Result<Self, String> {
        let (kind, file, copy) = match convert::Format::detect(&bytes) {
            convert::Format::Urdf => return Ok(Self::of_description(STDIN.into(), read)),
            convert::Format::Glb | convert::Format::Gltf => (Kind::Gltf(bytes), STDIN.into(), None),
            convert::Format::Usd => {
                let AssetFile { path, copy } = AssetFile::copy(&bytes)?;
                (Kind::Usd, path, copy)
            }
        };
        Ok(Self {
            kind,
            file,
            shown: STDIN.into(),
            _copy: copy,
        })
    }

    /// Checks the file.
    fn check(
        self,
        options: &rep158::Options,
        engines: &[Engine],
        resolve: resolve::Options,
    ) -> Result<Found, String> {
        let (mut notes, mut degradations) = (Vec::new(), Vec::new());
        let revision = matches!(self.kind, Kind::Usd).then_some(options.revision);
        let (mut diagnostics, text) = match self.kind {
            Kind::Usd => {
                let (stage, mut found) = check_usd(&self.file, options, &mut notes)?;
                degradations = degradation::degradations(&stage, engines);
                degradations.retain(|found| options.includes(found.code.id));
                found.extend(degradation::diagnostics(&stage, &degradations));
                (found, Text::Layers)
            }
            Kind::Gltf(bytes) => (
                gltf_check::check(&bytes, Some(&self.shown)),
                Text::Gltf(bytes),
            ),
            Kind::Description(read) => {
                let folder = tempfile::tempdir()
                    .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
                let files = PlanningFiles::default();
                let (outcome, expanded) =
                    convert_for_findings(read, resolve, &files, folder.path());
                let found =
                    outcome.map_or_else(|failure| failure.diagnostics, |report| report.diagnostics);
                (found, Text::Description(expanded))
            }
        };
        diagnostics.retain(|finding| options.includes(finding.code));
        let places = diagnostics
            .iter_mut()
            .map(|finding| &mut finding.place.file);
        places
            .filter(|file| file.as_deref() == Some(&*self.file))
            .for_each(|file| *file = Some(self.shown.clone().into()));
        notes.extend(conversion_note(&self.file));
        Ok(Found {
            asset: self.shown,
            diagnostics,
            degradations,
            revision,
            text,
            notes,
        })
    }
}

/// The result of a check.
pub struct Found {
    /// The checked file, as users name it.
    asset: PathBuf,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// Degradations by the requested engines.
    degradations: Vec<Degradation>,
    /// The revision of REP-158 whose rules were checked, if it is an OpenUSD asset.
    revision: Option<Revision>,
    text: Text,
    /// Remarks that are no findings about the file.
    notes: Vec<String>,
}

/// The text that places of findings refer to.
enum Text {
    /// OpenUSD layers, which are read as needed.
    Layers,
    /// A glTF file.
    Gltf(Arc<[u8]>),
    /// A description, with the output of xacro if it is a xacro file.
    Description(Option<String>),
}

/// Reads a glTF file.
fn gltf_bytes(asset: &Path) -> Result<Vec<u8>, String> {
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
    if resolve::is_lfs_pointer(&bytes) {
        return Err(format!(
            "{} is a Git LFS pointer, not the file itself: {}",
            asset.display(),
            resolve::LFS_HELP
        ));
    }
    Ok(bytes)
}

/// Groups degradations by engine.
fn by_engine(engines: &[Engine], degradations: &[Degradation]) -> Vec<OfEngine> {
    let of = |name: &Engine| OfEngine {
        name: *name,
        version: name.version(),
        degradations: degradations
            .iter()
            .filter(|found| found.engine == *name)
            .cloned()
            .collect(),
    };
    engines.iter().map(of).collect()
}

fn check_usd(
    asset: &Path,
    options: &rep158::Options,
    notes: &mut Vec<String>,
) -> Result<(rep158::Stage, Vec<Diagnostic>), String> {
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
        notes.push(note.to_owned());
    }
    Ok((stage, found))
}

pub(super) fn is_usd(asset: &Path) -> bool {
    let extension = asset
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    matches!(extension.as_str(), "usd" | "usda" | "usdc" | "usdz")
}

fn is_gltf(asset: &Path) -> bool {
    asset.extension().is_some_and(|extension| {
        ["glb", "gltf"]
            .iter()
            .any(|of| extension.eq_ignore_ascii_case(of))
    })
}

/// Returns the format of a file by its content.
fn format_of(asset: &Path) -> Result<convert::Format, String> {
    let mut start = Vec::new();
    let (file, _) = open_regular(asset)?;
    file.take(BEGINNING)
        .read_to_end(&mut start)
        .map_err(|error| format!("cannot read {}: {error}", asset.display()))?;
    Ok(convert::Format::detect(&start))
}

/// Refuses an OpenUSD file without its extension.
fn check_extension(asset: &Path) -> Result<(), String> {
    if is_usd(asset) || is_gltf(asset) || format_of(asset)? != convert::Format::Usd {
        return Ok(());
    }
    Err(format!(
        "{} is an OpenUSD file without its extension: rename it to .usd, .usda, .usdc or .usdz, which OpenUSD requires",
        asset.display()
    ))
}

/// Returns the message about an unknown code.
fn unknown_code(code: &str) -> String {
    let all = codes::GROUPS
        .iter()
        .flat_map(|(_, codes)| *codes)
        .map(|code| code.id);
    let help = did_you_mean(nearest(code, all))
        .unwrap_or_else(|| "docs/diagnostics.md lists all codes".to_owned());
    format!("unknown code \"{code}\": {help}")
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

/// Prints findings as text, with excerpts of `text`.
fn print_text(
    asset: &Path,
    revision: Option<Revision>,
    text: &Text,
    mut diagnostics: Vec<Diagnostic>,
    counts: Counts,
) -> ExitCode {
    let hidden = counts.error + counts.warning + counts.info - diagnostics.len();
    let (gltf, expanded) = match text {
        Text::Gltf(bytes) => (&**bytes, None),
        Text::Description(expanded) => (&[][..], expanded.as_deref()),
        Text::Layers => (&[][..], None),
    };
    let lines: Vec<&[u8]> = gltf.split(|&byte| byte == b'\n').collect();
    let is_long = |line: &&[u8]| line.len() > MAX_LINE;
    let has_excerpt = |place: &Place| {
        place.line > 0
            && match text {
                Text::Layers => place.file.as_ref().is_some_and(|file| file.is_file()),
                Text::Gltf(_) => !lines.get(place.line as usize - 1).is_some_and(is_long),
                Text::Description(_) => true,
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
    let revision = revision.map_or(String::new(), |revision| {
        format!(" (REP-158 of {revision})")
    });
    print(format!(
        "{}{}: {errors}, {warnings}{hidden}{revision}\n",
        as_results(&diagnostics, expanded),
        escape_controls(&asset)
    ))
}
