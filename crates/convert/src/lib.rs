//! The pipeline: source → [`Robot`] → files → a published revision and its report.
//!
//! This crate knows the order of steps, and every reader and writer. It knows nothing of ROS, HTTP,
//! or the contents of layers.

mod asset;
mod check;
pub mod codes;
mod context;
mod description;
#[cfg(test)]
mod description_tests;
mod earlier;
#[cfg(test)]
mod facts;
mod fixed;
mod folder;
mod formats;
mod identity;
mod load;
mod masses;
mod memo;
pub mod option;
pub mod options;
mod pieces;
mod primitives;
mod publish;
mod report;
#[cfg(test)]
mod round_trip;
mod simready;
mod simulation;
mod source;
mod stand_in;
mod thumbnail;
mod time;
#[cfg(test)]
mod trees;
mod types;
pub mod xrdf;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub use asset::{entry, named};
pub use context::{Context, OnProgress, OnText, Progress, Step};
use context::{Stop, Work};
pub use description::{MeshFormat, UrdfOptions};
pub use earlier::Existing;
pub use fixed::Pattern;
pub use folder::{ASSETS, all_robots_in, robots_in};
pub use formats::{Formats, OutputFormat};
use formats::{Origin, Outputs, Subject};
use identity::Identity;
pub use options::Options;
pub use publish::Error as PublishError;
use rayon::prelude::*;
pub use report::{Counts, FileInfo, Outcome, REPORT, Report, SourceInfo, Status, Timings};
use sha2::{Digest, Sha256};
pub use simready::Simready;
pub use simulation::{DriveChoice, Rule};
pub use source::{Format, STDIN, Source};

use urdf_usd_diagnostic::{Diagnostic, Place, Severity};
use urdf_usd_gltf_write as gltf;
use urdf_usd_resolve as resolve;
use urdf_usd_robot::{CacheEvicted, Captured, Robot};
use urdf_usd_store::time_limit::{Interruption, TimeLimit};
use urdf_usd_store::{Spill, Store, hex};
use urdf_usd_urdf::xrdf::{Applied, Modifiers};
use urdf_usd_usd_write as usd_write;

/// Maximum size of idle mesh arrays and outputs of a conversion in memory, in bytes.
///
/// The rest is spilled to a temporary file beside the output. Robots with up to 300,000 triangles,
/// including simplified tiers, stay below or close to it; half a million take no longer with the file.
const MAX_BYTES_IN_MEMORY: usize = 24 << 20;
/// Help text for a defect.
pub const REPORT_IT: &str = "please report it with the file";
/// File name in diagnostics of an XRDF that comes as text.
const XRDF_TEXT: &str = "<xrdf>";

/// Parses names of overlays: `isaac`, `newton`, `openpbr`. The result is in a fixed order, without
/// duplicates.
///
/// # Errors
/// Returns a message for the user that names the unknown overlay.
pub fn overlays<S: AsRef<str>>(names: &[S]) -> Result<Vec<usd_write::Overlay>, String> {
    let mut overlays = Vec::new();
    for name in names {
        let name = name.as_ref().trim();
        match usd_write::Overlay::ALL
            .into_iter()
            .find(|overlay| overlay.as_str() == name)
        {
            Some(overlay) => overlays.push(overlay),
            None => {
                let known = usd_write::Overlay::ALL
                    .map(|overlay| format!("{:?}", overlay.as_str()))
                    .join(", ");
                return Err(format!("unknown overlay {name:?}; overlays are {known}"));
            }
        }
    }
    overlays.sort();
    overlays.dedup();
    Ok(overlays)
}

/// The tiers of visuals to write (REP-158 §1.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Tiers {
    /// `mesh_high`, and `mesh_medium` and `mesh_low` where they save triangles.
    #[default]
    All,
    /// Only `mesh_high`, the meshes of the source.
    High,
}

impl Tiers {
    /// All values.
    pub const ALL: [Self; 2] = [Self::All, Self::High];

    /// Returns the name for users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tiers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is not one of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// One conversion.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Job {
    /// The source.
    pub source: Source,
    /// The parent of the asset's directory; created if necessary.
    pub output_dir: PathBuf,
    /// The options.
    pub options: Options,
    /// The name of the kinematic model of a glTF source with several; `None` for the first.
    pub robot: Option<String>,
    /// Text of the robot's XRDF; takes precedence over [`Options::xrdf`].
    pub xrdf: Option<Arc<str>>,
    /// Interfaces that the running robot offers to ROS. They take precedence over those of the
    /// source and over defaults.
    pub captured: Vec<Captured>,
    /// Treatment of the asset that is in the output directory already.
    pub existing: Existing,
    /// Computes convex hulls and parts of the meshes of colliders. Callers that read only the source's
    /// meshes save their time.
    pub hulls: bool,
}

impl Job {
    /// Creates a job that converts `source` into a directory below `output_dir`, with default
    /// options.
    pub fn new(source: Source, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            source,
            output_dir: output_dir.into(),
            options: Options::default(),
            robot: None,
            xrdf: None,
            captured: Vec::new(),
            existing: Existing::Replace,
            hulls: true,
        }
    }
}

/// A conversion that published nothing.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct Failure {
    /// The reasons, the most severe first.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was read or looked for, so that a watcher can retry when one changes.
    pub used: Vec<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.diagnostics.first() {
            Some(first) => write!(f, "{first}"),
            None => f.write_str("not converted"),
        }
    }
}

impl std::error::Error for Failure {}

/// Converts a robot, and publishes the result as a new revision unless the published one already
/// has the same bytes.
///
/// # Errors
/// Fails if nothing could be published: see [`Failure::diagnostics`]. A broken part of the robot is
/// not a failure (unless [`Options::strict`] is set), but a diagnostic in the report.
pub fn convert(job: &Job, context: &Context) -> Result<Report, Failure> {
    convert_within(MAX_BYTES_IN_MEMORY, job, context)
}

/// Converts with a memory limit for idle data, as described at [`MAX_BYTES_IN_MEMORY`].
fn convert_within(in_memory: usize, job: &Job, context: &Context) -> Result<Report, Failure> {
    let (start, started) = (Instant::now(), SystemTime::now());
    let limit = TimeLimit::new(job.options.time_limit, context.cancelled.clone());
    let resolver = resolve::Resolver::new(job.options.resolve.clone());
    let files = resolve::Files::new(Arc::new(resolver));
    let files = Arc::new(match context.store.is_enabled() {
        true => files,
        false => files.without_states(),
    });
    // The output of xacro depends on more than files, so it is always run again; the conversion of
    // an unchanged text can be recalled.
    let expanded = job
        .source
        .xacro()
        .map(|(file, arguments)| source::expand(file, arguments, &files, context, &limit));
    let expanded = expanded.transpose();
    let expanded = expanded.map_err(|stop| Failure {
        diagnostics: vec![*stop],
        used: files.used(),
    })?;
    // A text is hashed once, for the report and for the key of the cached outcome.
    let hash = match &job.source {
        Source::Text { text, .. } => Some(sha256(text.as_bytes())),
        Source::Bytes { bytes, .. } => Some(sha256(bytes)),
        Source::File(_) | Source::Xacro { .. } => expanded
            .as_ref()
            .and_then(|input| input.hash())
            .map(str::to_owned),
    };
    if let Some(report) = memo::recall(job, hash.as_deref(), &context.store, start) {
        return Ok(report);
    }
    context.begin.iter().for_each(|begin| begin());
    let store = memo::for_job(job, hash.as_deref(), &context.store.within(&limit))
        .spilling(Spill::new(&job.output_dir, in_memory));
    // Inputs are opened within the retry, and every file that it opens counts as used: a watcher
    // tries again when one changes.
    let run = |store: &Store| {
        let work = Work {
            job,
            context,
            files: &files,
            store,
            limit: &limit,
        };
        let source = match &expanded {
            Some(input) => input.clone(),
            None => source::open(&job.source, hash.as_deref(), &files).map_err(|d| vec![d])?,
        };
        run(&source, start, work)
    };
    let work = || context::retry_if_evicted(&store, run);
    // Isolation, not control flow: callers, such as a node with other robots, continue after a
    // defect.
    let result =
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(vec![defect(&*panic)]));
    // A failed conversion used only a part of its entries, and must not replace the set of all.
    if result.is_ok() {
        store.save_small_entries();
    }
    let used = files.used();
    let result = match result {
        Ok((report, written)) => {
            let report = Report { used, ..report };
            // After a lack of descriptors, the next conversion may find more: the outcome is not
            // cached.
            if !is_out_of_files(&report.diagnostics) {
                let read = || files.states(started - memo::MARGIN);
                memo::remember(job, hash.as_deref(), &context.store, &report, read, written);
            }
            Ok(report)
        }
        Err(mut diagnostics) => {
            note_descriptors(&files, &mut diagnostics);
            diagnostics.sort_by_key(|d| std::cmp::Reverse(d.severity));
            Err(Failure { diagnostics, used })
        }
    };
    store.trim();
    result
}

/// Returns whether a conversion failed to open files because the process or the system has too many
/// open: a later attempt may succeed.
pub fn is_out_of_files(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .any(|found| found.code == resolve::codes::TOO_MANY_OPEN.id)
}

/// Adds a diagnostic that files could not be opened for lack of descriptors, unless there is one.
fn note_descriptors(files: &resolve::Files, diagnostics: &mut Vec<Diagnostic>) {
    if files.lacked_descriptors() && !is_out_of_files(diagnostics) {
        diagnostics.push(
            resolve::Error::too_many_open(
                "too many open files: not all files of the robot could be read",
            )
            .at(Place::default()),
        );
    }
}

/// Returns the message about a conversion that panicked with this text, which may be empty.
///
/// Its help text is [`REPORT_IT`].
pub fn defect_message(panic: &str) -> String {
    let colon = if panic.is_empty() { "" } else { ": " };
    format!("internal error during conversion{colon}{panic}")
}

/// Returns the diagnostic for a conversion that panicked.
fn defect(panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Diagnostic::new(
        &codes::INTERNAL,
        Place::default(),
        defect_message(text.unwrap_or_default()),
    )
    .help(REPORT_IT)
}

/// Reads, completes, writes and publishes a robot.
fn run(
    source: &source::Input,
    start: Instant,
    work: Work<'_>,
) -> Result<(Report, resolve::States), Stop> {
    let Work {
        job, files, limit, ..
    } = work;
    let read_by = |job: &Job| {
        source
            .read(job, files)
            .map_err(|found| source.finish_findings(found))
    };
    let mut reading = read_by(job)?;
    let file = source.file.as_deref();
    let name = file_name(reading.robot.name());
    let directory = job.output_dir.join(&name);
    let earlier = match job.existing {
        Existing::Replace => None,
        Existing::Keep { .. } => Report::read(&directory).ok(),
    };
    let mut identity = identify(work, file, &mut reading);
    let info = source_info(source, job, &identity, &reading);
    let extended = earlier
        .as_ref()
        .map_or(Ok(None), |earlier| earlier::extended(job, &info, earlier))?;
    let is_reread =
        |extended: &&earlier::Extended| extended.job.options.variants != job.options.variants;
    if let Some(extended) = extended.as_ref().filter(is_reread) {
        reading = read_by(&extended.job)?;
        identity = identify(work, file, &mut reading);
    }
    let work = Work {
        job: extended.as_ref().map_or(job, |extended| &extended.job),
        ..work
    };
    let options = &work.job.options;
    reading
        .diagnostics
        .extend(extended.iter().map(|extended| extended.finding.clone()));
    let read = start.elapsed();
    check_time(limit, "loading meshes")?;
    let images = match complete(&mut reading, source, work) {
        Ok(images) => images,
        Err(stop) => {
            return Err(stop.after(reading.diagnostics, |found| source.finish_findings(found)));
        }
    };
    let source::Reading {
        robot,
        references,
        mut diagnostics,
        sha256,
        namespace,
        ..
    } = reading;
    diagnostics.extend(hints(&robot, work));
    let meshes = start.elapsed();
    check_time(limit, "writing the layers and the glTF")?;
    work.context.begin_step(Step::Write);

    let namespace = options.namespace.clone().or(namespace);
    let provenance = provenance(source, work);
    let subject = Subject {
        robot: &robot,
        references: &references,
        options,
        origin: Origin {
            name: &name,
            identity: &identity,
            kind: source.kind,
            sha256: &sha256,
            namespace: &namespace,
            provenance: &provenance,
        },
        directory: &directory,
        images,
        limit,
        store: work.store,
    };
    let outputs = write(&subject, &mut diagnostics)?;
    let written = start.elapsed();
    note_descriptors(files, &mut diagnostics);
    diagnostics = source.finish_findings(diagnostics);

    // Only now: writers have findings, too.
    if options.strict && diagnostics.iter().any(|d| d.severity >= Severity::Warning) {
        return Err(diagnostics.into());
    }
    let root = robot.tree().roots().first();
    let root = root.map_or("", |&root| robot.links()[root].name());
    let mut report = Report {
        robot: robot.name().to_owned(),
        status: Status::from_findings(&diagnostics),
        source: info,
        options: earlier::recorded(options),
        revision: 0,
        files: Vec::new(),
        counts: counts(&robot, &outputs.layers),
        timings_ms: Timings {
            read: milliseconds(read),
            meshes: milliseconds(meshes - read),
            write: milliseconds(written - meshes),
            ..Timings::default()
        },
        diagnostics,
        directory,
        root: root.to_owned(),
        namespace: namespace.unwrap_or_else(|| usd_write::default_namespace(&robot)),
        name,
        changed: false,
        used: Vec::new(),
    };
    // From here on, the conversion is published as a whole or not at all.
    check_time(limit, "publishing the files")?;
    check_inputs_kept(&report, &outputs.files, files)?;
    let clock = Clock {
        start,
        before: written,
    };
    let check = |directory: &Path, files: &publish::Files| match job.existing {
        Existing::Replace => Ok(()),
        Existing::Keep { .. } => {
            let revision = earlier.as_ref().map_or(0, |earlier| earlier.revision);
            earlier::check_kept(directory, revision, files)
        }
    };
    let states = publish(
        &mut report,
        outputs.files,
        &work.context.store,
        &clock,
        &check,
    )?;
    Ok((report, states))
}

/// Returns the identity of the asset of the robot that was read.
fn identify(work: Work<'_>, file: Option<&Path>, reading: &mut source::Reading) -> Identity {
    let info = std::mem::take(&mut reading.info);
    let Work { job, files, .. } = work;
    Identity::new(&job.source, file, reading.robot.name(), info, files)
}

fn source_info(
    source: &source::Input,
    job: &Job,
    identity: &Identity,
    reading: &source::Reading,
) -> SourceInfo {
    let file = source.file.as_deref().filter(|_| job.source.is_file());
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    SourceInfo {
        kind: source.kind.into(),
        uri: identity.uri.clone(),
        file: file.map(|file| real(file).to_string_lossy().into_owned()),
        sha256: reading.sha256.clone(),
    }
}

/// Completes the robot: loads meshes and textures, applies SRDF, XRDF, captured interfaces and
/// masses.
///
/// Findings are added to those of the reading.
fn complete(
    reading: &mut source::Reading,
    source: &source::Input,
    work: Work<'_>,
) -> Result<gltf::Images, Stop> {
    let source::Reading {
        robot,
        references,
        diagnostics,
        ..
    } = reading;
    let job = work.job;
    let load::Loaded {
        diagnostics: found,
        images,
    } = load::load(robot, references, source.folder(), work)?;
    diagnostics.extend(found);
    let (xrdf, options) = (job.xrdf.as_deref(), &job.options);
    let applied = apply_planning_files(robot, references, xrdf, options, work.files)?;
    diagnostics.extend(applied.diagnostics);
    robot.take_captured(&job.captured);
    diagnostics.extend(masses::assume(robot, &job.options, work.files)?);
    diagnostics.extend(fixed::merge(robot, references, &job.options));
    diagnostics.extend(simulation::complete(robot, &job.options, work.files)?);
    Ok(images)
}

/// Returns findings about the robot as a whole, before it is written.
fn hints(robot: &Robot, work: Work<'_>) -> Vec<Diagnostic> {
    let options = &work.job.options;
    let mut found: Vec<Diagnostic> = pieces::hint(robot, options.meshes.up_axis)
        .into_iter()
        .collect();
    if options
        .formats
        .contains_any(&[OutputFormat::Usd, OutputFormat::Usdz])
    {
        found.extend(types::missing(robot, work.files));
    }
    if writes_drives(options) {
        found.extend(simulation::drive_findings(robot, options));
    }
    found.extend(lost_armature(robot, options));
    if !robot.look_variants().is_empty() && options.formats.has_single_look() {
        let names: Vec<&str> = robot
            .look_variants()
            .iter()
            .map(|look| look.name.as_str())
            .collect();
        let message = format!("only the glTF contains the looks {}", names.join(", "));
        let help = "choose the look of the other formats with --variant, or in the source";
        found.push(Diagnostic::new(&codes::LOOKS, robot.place.clone(), message).help(help));
    }
    found
}

/// Reports the formats that lack the armature of joints.
fn lost_armature(robot: &Robot, options: &Options) -> Option<Diagnostic> {
    let joints = robot.joints().values();
    let count = joints.filter(|joint| joint.armature.is_some()).count();
    let lacks = |format: &&OutputFormat| match format {
        OutputFormat::Mjcf => false,
        OutputFormat::Usd => !writes_engines(options),
        _ => true,
    };
    let formats: Vec<&str> = OutputFormat::ALL
        .iter()
        .filter(|format| options.formats.contains(**format))
        .filter(lacks)
        .map(|format| format.as_str())
        .collect();
    if count == 0 || formats.is_empty() {
        return None;
    }
    let message = format!(
        "the armature of joints ({count}) is left out of these formats: {}",
        formats.join(", ")
    );
    let help = "--overlays newton, physx or mujoco, or --formats mjcf, keep it";
    Some(Diagnostic::new(&codes::ARMATURE, robot.place.clone(), message).help(help))
}

/// Returns whether layers for engines are written.
fn writes_engines(options: &Options) -> bool {
    let mut overlays = options.overlays.iter();
    options.formats.contains(OutputFormat::Usd) && overlays.any(|overlay| overlay.has_drives())
}

/// Returns whether any output has drives for simulations.
fn writes_drives(options: &Options) -> bool {
    let of_formats = [OutputFormat::Mjcf, OutputFormat::Sdf];
    options.formats.contains_any(&of_formats) || writes_engines(options)
}

/// Returns the statements of the source's package about the robot, if the files need them.
fn provenance(source: &source::Input, work: Work<'_>) -> simready::Provenance {
    let Work { job, files, .. } = work;
    let is_asked =
        job.options.simready || job.options.overlays.contains(&usd_write::Overlay::Isaac);
    let file = source.file.as_deref();
    file.filter(|_| is_asked && job.source.is_file())
        .map(|file| simready::Provenance::read(file, files))
        .unwrap_or_default()
}

/// Writes the contents of all files, and checks them if requested.
fn write(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) -> Result<Outputs, Stop> {
    let Subject {
        robot,
        options,
        origin,
        directory,
        ..
    } = subject;
    let mut outputs = formats::write(subject)?;
    diagnostics.append(&mut outputs.diagnostics);
    check_time(subject.limit, "finishing the files")?;
    let has_layers = options.formats.contains(OutputFormat::Usd);
    if options.simready && has_layers {
        let source = origin
            .identity
            .uri
            .clone()
            .unwrap_or_else(|| format!("sha256:{}", origin.sha256));
        let asset = simready::Subject {
            robot,
            name: origin.name,
            asset: &outputs.layers,
            source,
            provenance: origin.provenance,
            directory,
        };
        let metadata = &options.simready_metadata;
        diagnostics.extend(simready::add(metadata, &asset, &mut outputs.files)?);
    }
    if options.thumbnail || options.simready && has_layers {
        let ending = if has_layers { ".usda" } else { "" };
        let entry = format!("{}{ending}", origin.name);
        diagnostics.extend(simready::add_picture(robot, &entry, &mut outputs.files)?);
    }
    if options.check {
        diagnostics.extend(check::check(
            &outputs.files,
            origin.name,
            directory,
            options,
        )?);
    }
    Ok(outputs)
}

fn counts(robot: &Robot, layers: &usd_write::Written) -> Counts {
    let urdf_usd_robot::Counts {
        links,
        joints,
        meshes,
        triangles,
    } = robot.counts();
    Counts {
        links,
        joints,
        meshes,
        triangles,
        materials: layers.materials,
    }
}

/// Applies an SRDF and an XRDF; `xrdf`, a text, has precedence over the file. Returns the findings and the changes by the XRDF.
fn apply_planning_files(
    robot: &mut Robot,
    references: &mut urdf_usd_urdf::References,
    xrdf: Option<&str>,
    options: &Options,
    files: &resolve::Files,
) -> Result<Applied, Diagnostic> {
    let mut found = Vec::new();
    if let Some(path) = &options.srdf {
        found.extend(load::srdf(robot, path, files)?);
    }
    // After the SRDF: the XRDF's default pose and tool frames replace those of other files.
    let mut modifiers = Modifiers::default();
    let applied = match (xrdf, &options.xrdf) {
        (Some(text), _) => {
            let file = Some(Path::new(XRDF_TEXT));
            Some(urdf_usd_urdf::xrdf::apply(text, file, robot, references))
        }
        (None, Some(path)) => Some(load::xrdf(robot, references, path, files)?),
        (None, None) => None,
    };
    if let Some(applied) = applied {
        found.extend(applied.diagnostics);
        modifiers = applied.modifiers;
    }
    Ok(Applied {
        diagnostics: found,
        modifiers,
    })
}

/// Adds the planning data of the SRDF and XRDF that `options` name to a robot; returns the findings.
///
/// # Errors
/// Fails if a file can't be read.
pub fn add_planning(
    robot: &mut Robot,
    options: &Options,
    files: &resolve::Files,
) -> Result<Vec<Diagnostic>, Diagnostic> {
    let mut references = urdf_usd_urdf::References::default();
    Ok(apply_planning_files(robot, &mut references, None, options, files)?.diagnostics)
}

/// Reads the robot of a job, with its SRDF and XRDF; returns it with the findings. Meshes are not
/// read.
///
/// # Errors
/// Fails if the robot can't be read.
pub fn read_robot(job: &Job, context: &Context) -> Result<(Robot, Vec<Diagnostic>), Failure> {
    let files = Arc::new(resolve::Files::new(Arc::new(resolve::Resolver::new(
        job.options.resolve.clone(),
    ))));
    read_without_meshes(job, &files, context).map_err(|diagnostics| Failure {
        diagnostics,
        used: files.used(),
    })
}

/// Reads the robot of a job, with its SRDF and XRDF, without meshes.
fn read_without_meshes(
    job: &Job,
    files: &Arc<resolve::Files>,
    context: &Context,
) -> Result<(Robot, Vec<Diagnostic>), Vec<Diagnostic>> {
    context::retry_if_evicted(&context.store, |store| {
        let described = read_described(job, context, files, store, Meshes::Ignored)?;
        Ok((described.robot, described.diagnostics))
    })
}

/// A robot with its SRDF and XRDF.
struct Described {
    robot: Robot,
    diagnostics: Vec<Diagnostic>,
    /// The changes by the XRDF.
    modifiers: Modifiers,
}

/// Whether to load the meshes of a robot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meshes {
    Loaded,
    Ignored,
}

/// Reads the robot of a job, with its SRDF and XRDF.
fn read_described(
    job: &Job,
    context: &Context,
    files: &Arc<resolve::Files>,
    store: &Store,
    meshes: Meshes,
) -> Result<Described, Stop> {
    let limit = &TimeLimit::new(job.options.time_limit, context.cancelled.clone());
    let source = match job.source.xacro() {
        Some((file, arguments)) => {
            source::expand(file, arguments, files, context, limit).map_err(|stop| vec![*stop])?
        }
        None => source::open(&job.source, None, files).map_err(|stop| vec![stop])?,
    };
    let source::Reading {
        mut robot,
        mut references,
        mut diagnostics,
        ..
    } = source
        .read(job, files)
        .map_err(|found| source.finish_findings(found))?;
    let mut load = || -> Result<Modifiers, Stop> {
        if meshes == Meshes::Loaded {
            let work = Work {
                job,
                context,
                files,
                store,
                limit,
            };
            let loaded = load::load(&mut robot, &references, source.folder(), work)?;
            diagnostics.extend(loaded.diagnostics);
        }
        let (xrdf, options) = (job.xrdf.as_deref(), &job.options);
        let applied = apply_planning_files(&mut robot, &mut references, xrdf, options, files)?;
        diagnostics.extend(applied.diagnostics);
        Ok(applied.modifiers)
    };
    let modifiers = match load() {
        Ok(modifiers) => modifiers,
        Err(stop) => return Err(stop.after(diagnostics, |found| source.finish_findings(found))),
    };
    check_time(limit, "fitting spheres")?;
    Ok(Described {
        robot,
        diagnostics: source.finish_findings(diagnostics),
        modifiers,
    })
}

/// Refuses to overwrite an input file, or to remove it as a file of the last revision.
fn check_inputs_kept(
    report: &Report,
    outputs: &publish::Files,
    files: &resolve::Files,
) -> Result<(), Stop> {
    // Nothing is in a folder that does not exist yet.
    if fs::symlink_metadata(&report.directory).is_err() {
        return Ok(());
    }
    // These paths include those with links resolved, so that an input is found by any name.
    let used: HashSet<PathBuf> = files.used().into_iter().collect();
    let last = previous(&report.directory).1;
    let replaced = outputs
        .keys()
        .chain(last.iter().filter(|path| !outputs.contains_key(*path)));
    for path in replaced {
        let input = report
            .directory
            .join(path)
            .canonicalize()
            .ok()
            .filter(|input| used.contains(input));
        let Some(input) = input else { continue };
        if !outputs
            .get(path)
            .map_or(Ok(false), |content| publish::file_equals(content, &input))?
        {
            let message = format!(
                "the asset would overwrite {}, an input of the conversion",
                input.display()
            );
            let found = Diagnostic::new(&codes::OUTPUT, Place::file(input), message);
            return Err(found.help("choose another output directory (-o)").into());
        }
    }
    Ok(())
}

/// Fails if the time limit is exceeded before the step `next`.
fn check_time(limit: &TimeLimit, next: &str) -> Result<(), Vec<Diagnostic>> {
    limit.is_over(|| next.to_owned());
    limit
        .interruption()
        .map_or(Ok(()), |ended| Err(vec![ended_early(ended)]))
}

/// Returns the finding about a conversion that ended early.
fn ended_early(
    Interruption {
        part,
        after,
        allowed,
    }: &Interruption,
) -> Diagnostic {
    let after = after.as_secs_f64();
    match allowed {
        Some(allowed) => {
            let allowed = allowed.as_secs_f64();
            let message = format!(
                "the conversion took longer than {allowed} s: after {after:.1} s it was at {part}"
            );
            Diagnostic::new(&codes::TIMED_OUT, Place::default(), message)
                .help("allow more time (--time-limit, time_limit), or reduce the work: simpler meshes, --tiers high, fewer formats")
        }
        None => {
            let message = format!("the conversion was cancelled after {after:.1} s, at {part}");
            Diagnostic::new(&codes::CANCELLED, Place::default(), message)
                .help("convert it again if you still need it")
        }
    }
}

/// Returns milliseconds, rounded to hundredths.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}

/// Publishes the files of an asset that was not converted from a description.
///
/// `parent/name` is replaced as a whole, with a `report.json`. Files that only the last report
/// lists are removed; files of users stay.
///
/// # Errors
/// Returns the reason if the directory can't be written.
pub fn write_asset(
    name: &str,
    source: SourceInfo,
    parent: &Path,
    files: BTreeMap<String, Vec<u8>>,
    diagnostics: Vec<Diagnostic>,
) -> Result<Report, Vec<Diagnostic>> {
    let start = Instant::now();
    let report = Report {
        robot: name.to_owned(),
        status: Status::from_findings(&diagnostics),
        source,
        options: BTreeMap::new(),
        revision: 0,
        files: Vec::new(),
        counts: Counts::default(),
        timings_ms: Timings::default(),
        diagnostics,
        directory: parent.join(name),
        name: name.to_owned(),
        root: String::new(),
        namespace: String::new(),
        changed: false,
        used: Vec::new(),
    };
    let files: publish::Files = files
        .into_iter()
        .map(|(path, bytes)| (path, bytes.into()))
        .collect();
    context::retry_if_evicted(&Store::none(), |store| {
        let mut report = report.clone();
        let clock = Clock {
            start,
            before: Duration::ZERO,
        };
        publish(&mut report, files.clone(), store, &clock, &|_, _| Ok(()))?;
        Ok(report)
    })
}

/// Start time of a conversion, and its duration before publication.
struct Clock {
    start: Instant,
    before: Duration,
}

/// Publishes the files as the next revision if they differ from the published ones and `check`
/// accepts them, while the asset is locked, and completes the report.
fn publish(
    report: &mut Report,
    outputs: publish::Files,
    store: &Store,
    clock: &Clock,
    check: &dyn Fn(&Path, &publish::Files) -> Result<(), Diagnostic>,
) -> Result<resolve::States, Stop> {
    let parent = report
        .directory
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    let failed = |error: publish::Error| {
        if let Err(evicted) = publish::unless_evicted(&error.source) {
            return Stop::Evicted(evicted);
        }
        let place = Place::file(error.path.clone());
        if resolve::is_out_of_descriptors(&error.source) {
            return Stop::from(resolve::Error::too_many_open(error.to_string()).at(place));
        }
        Stop::from(Diagnostic::new(&codes::OUTPUT, place, error.to_string()).help(error.help()))
    };
    let slot = publish::Slot::lock(&parent, &report.name, listed).map_err(failed)?;
    // Published files of known content need not be read to be compared.
    let slot = slot.with_known(memo::published(&report.directory, store));
    // Only a store remembers their states.
    let recorded = outputs.keys().map(String::as_str).chain([REPORT]);
    let paths: Vec<PathBuf> = recorded
        .filter(|_| store.is_enabled())
        .map(|path| slot.directory().join(path))
        .collect();
    check(&slot.directory(), &outputs)?;
    // Another process may write to these files from now on; entries that change are not recorded.
    let at_first = resolve::States::now(&paths);
    let (last, mut ours) = previous(&slot.directory());
    report.changed = last == 0 || !slot.holds(&outputs, &ours)?;
    report.revision = last + u64::from(report.changed);
    let infos = || -> Result<Vec<FileInfo>, CacheEvicted> {
        let infos = outputs.par_iter().map(|(path, content)| {
            let sha256 = content.sha256().ok_or(CacheEvicted)?.to_owned();
            Ok(FileInfo {
                path: path.clone(),
                bytes: content.length(),
                sha256,
            })
        });
        infos.collect()
    };
    // Read while the lock is held: afterwards, the files may be another writer's.
    let states = |report: &Report| {
        let states = resolve::States::now(&paths);
        memo::remember_published(
            report,
            states.clone().without_written_since(&at_first),
            store,
        );
        states
    };
    if !report.changed {
        report.files = infos()?;
        report.timings_ms.total = milliseconds(clock.start.elapsed());
        return Ok(states(report));
    }
    ours.push(REPORT.to_owned());
    // Both take about a quarter of the time of a small change, so they run in parallel.
    let (staged, infos) = rayon::join(|| slot.stage(&outputs, &ours), infos);
    let mut staged = staged.map_err(failed)?;
    report.files = infos?;
    // The report is part of the revision, so it can't include the time of its own publication.
    report.timings_ms.publish = milliseconds(clock.start.elapsed() - clock.before);
    report.timings_ms.total = milliseconds(clock.start.elapsed());
    let text = serde_json::to_vec_pretty(report).map_err(|error| {
        Diagnostic::new(
            &codes::INTERNAL,
            Place::default(),
            format!("cannot encode the report: {error}"),
        )
    })?;
    staged
        .add(REPORT, &text.into())
        .and_then(|()| staged.publish())
        .map_err(failed)?;
    Ok(states(report))
}

/// Cleans up after killed conversions in `output_dir`: removes staging directories, and restores a
/// revision that was being replaced. Assets that another process is writing are skipped.
pub fn clear_away(output_dir: &Path) {
    publish::interrupted(output_dir).iter().for_each(|name| {
        // On failure, the next publication cleans up.
        let _ = publish::Slot::try_lock(output_dir, name, listed);
    });
}

/// Returns the files of the revision in a directory, including its report.
fn listed(directory: &Path) -> Vec<String> {
    previous(directory)
        .1
        .into_iter()
        .chain([REPORT.to_owned()])
        .collect()
}

/// Returns the number and the files of the revision in a directory.
///
/// They are 0 and empty if there is no valid report: then everything is written again.
fn previous(directory: &Path) -> (u64, Vec<String>) {
    let files = |report: Report| report.files.into_iter().map(|file| file.path).collect();
    Report::read(directory).map_or_else(
        |_| (0, Vec::new()),
        |report| (report.revision, files(report)),
    )
}

/// Returns the robot's name as a file name: without separators and control characters, not hidden,
/// and different from the names of layers.
pub fn file_name(robot: &str) -> String {
    let name: String = robot
        .chars()
        .map(|c| {
            // Beside the separator of paths, characters that Windows does not allow in names.
            if c.is_control() || "/\\:*?\"<>|".contains(c) {
                '_'
            } else {
                c
            }
        })
        .collect();
    let name = name.trim().trim_start_matches('.');
    // File systems allow 255 bytes; extensions and the markers of staging directories need the
    // rest.
    let end = (0..=name.len().min(200))
        .rev()
        .find(|&end| name.is_char_boundary(end))
        .unwrap_or(0);
    match name.get(..end).unwrap_or_default() {
        "" => "robot".to_owned(),
        // `NAME.usda` and `NAME.json` would take the names of a layer or of the report.
        taken if usd_write::is_layer(taken) || taken.eq_ignore_ascii_case("report") => {
            format!("{taken}_robot")
        }
        name => name.to_owned(),
    }
}

/// Returns the SHA-256 in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
