//! The work of commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;
use tempfile::TempDir;
use urdf_usd_cli::Program;
use urdf_usd_cli::api::{self, AssetFile, ENTRIES, PlanningFiles, Read};
use urdf_usd_convert::{Context, Existing, Job, OnProgress, Report, STDIN, Source};
use urdf_usd_rep158 as rep158;
use urdf_usd_rep158::degradation::Engine;
use urdf_usd_resolve::{self as resolve, Resolver};
use urdf_usd_urdf::xacro;
use urdf_usd_worker::Workers;

use crate::failure::{failed, found, refused, usage};
use crate::options;
use crate::work::{Event, run, run_or_abandon};

/// Options of commands that check the rules of REP-158, beside [`PACKAGES`].
const RULES: [&str; 2] = ["variants", "rep158"];
/// Options that name files with planning data.
pub const PLANNING: [&str; 2] = ["srdf_file", "xrdf_file"];
/// Options that locate packages.
pub const PACKAGES: [&str; 3] = ["packages", "package_paths", "allowed_roots"];

/// A robot as Python gives it.
#[derive(FromPyObject)]
pub struct Input<'py> {
    /// The contents of a file, or its path.
    #[pyo3(item)]
    source: Contents<'py>,
    /// The folder that relative references of contents start from.
    #[pyo3(item)]
    folder: Option<PathBuf>,
    /// The name of a robot in a folder or a glTF file.
    #[pyo3(item)]
    robot: Option<String>,
    /// Arguments of a xacro file, `NAME:=VALUE`.
    #[pyo3(item)]
    xacro_args: Vec<String>,
}

#[derive(FromPyObject)]
enum Contents<'py> {
    Bytes(Bound<'py, PyBytes>),
    Path(OsString),
}

/// An asset that was written: its report as JSON, its folder, its entry files, and, if the folder
/// was temporary, the contents of its files.
type Written<'py> = (
    String,
    PathBuf,
    Vec<PathBuf>,
    Option<Vec<(String, Bound<'py, PyBytes>)>>,
);

impl Input<'_> {
    /// Returns the source to read.
    pub fn read(&self, resolve: &resolve::Options) -> PyResult<Read> {
        let arguments = self
            .xacro_args
            .iter()
            .map(|argument| xacro::Argument::parse(argument))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| usage(format!("xacro_args: {why}")))?;
        let bytes = match &self.source {
            Contents::Path(path) => {
                let robot = self.robot.as_deref();
                return api::find(Path::new(path), robot, arguments, resolve).map_err(refused);
            }
            Contents::Bytes(bytes) => bytes.as_bytes(),
        };
        if !arguments.is_empty() {
            return Err(usage(
                "xacro_args: only a xacro file takes arguments, and it is read from a path only",
            ));
        }
        let folder = match &self.folder {
            Some(folder) => std::path::absolute(folder),
            None => std::env::current_dir(),
        };
        let folder = folder
            .map_err(|error| failed(format!("cannot determine the working directory: {error}")))?;
        Ok(Read {
            source: Source::Bytes {
                bytes: bytes.into(),
                file: folder.join(STDIN),
            },
            model: self.robot.clone(),
        })
    }
}

/// The folder that an asset is written to.
struct Output {
    folder: PathBuf,
    /// Deletes a temporary folder.
    temporary: Option<TempDir>,
}

impl Output {
    fn new(folder: Option<PathBuf>) -> PyResult<Self> {
        Ok(match folder {
            Some(folder) => Self {
                folder,
                temporary: None,
            },
            None => {
                let temporary = tempfile::tempdir().map_err(|error| {
                    failed(format!("cannot create a temporary folder: {error}"))
                })?;
                Self {
                    folder: temporary.path().to_owned(),
                    temporary: Some(temporary),
                }
            }
        })
    }

    /// Returns the asset that was written.
    fn written<'py>(
        &self,
        py: Python<'py>,
        report: &Report,
        entries: Vec<PathBuf>,
    ) -> PyResult<Written<'py>> {
        let mut contents = None;
        if self.temporary.is_some() {
            let read = |path: &String| {
                let file = report.directory.join(path);
                let bytes = py
                    .detach(|| std::fs::read(&file))
                    .map_err(|error| failed(format!("cannot read {}: {error}", file.display())))?;
                Ok((path.clone(), PyBytes::new(py, &bytes)))
            };
            let files = report.files.iter().map(|file| read(&file.path));
            contents = Some(files.collect::<PyResult<_>>()?);
        }
        let relative = |entry: PathBuf| {
            let inside = entry.strip_prefix(&report.directory);
            inside.map(Path::to_owned).unwrap_or(entry)
        };
        let entries = entries.into_iter().map(relative).collect();
        let json = to_json(report)?;
        Ok((json, report.directory.clone(), entries, contents))
    }
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| failed(format!("no valid JSON: {error}")))
}

/// Parses the names that an argument lists.
fn parse<T>(
    argument: &str,
    names: &[String],
    parse_one: impl Fn(&str) -> Result<T, String>,
) -> PyResult<Vec<T>> {
    names
        .iter()
        .map(|name| parse_one(name).map_err(|why| usage(format!("{argument}: {why}"))))
        .collect()
}

/// The treatment of outputs, beside the options of a conversion.
#[derive(FromPyObject)]
pub struct Setting {
    /// Replaces an asset.
    #[pyo3(item)]
    replace: bool,
    /// Computes convex hulls of colliders.
    #[pyo3(item)]
    hulls: bool,
    /// Uses the user's cache; an address of a shared cache implies it.
    #[pyo3(item)]
    cache: bool,
    /// The command line that runs this program: `memory_limit` needs a process.
    #[pyo3(item)]
    interpreter: Vec<OsString>,
}

/// Converts a robot into the folder `out`, or into memory without one.
#[pyfunction]
#[pyo3(signature = (input, out, keywords, setting, progress))]
pub fn convert<'py>(
    py: Python<'py>,
    input: Input<'py>,
    out: Option<PathBuf>,
    keywords: &Bound<'py, PyDict>,
    setting: Setting,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Written<'py>> {
    let given = options::read(keywords, None)?;
    let options = given.options;
    api::check_options(&options).map_err(usage)?;
    if out.is_none() && options.urdf.file_uris {
        return Err(usage(
            "urdf_file_uris needs a folder for the files that the URIs name: give out",
        ));
    }
    let read = input.read(&options.resolve)?;
    let output = Output::new(out)?;
    let is_shared = options.cache_url.is_some();
    let store = api::open_cache(!(setting.cache || is_shared), options.cache_url.as_deref())
        .map_err(usage)?;
    let mut interpreter = setting.interpreter.into_iter();
    let workers = match (options.memory_limit, interpreter.next()) {
        (None, _) => Workers::here(),
        (Some(_), Some(executable)) => {
            let program = Program::new(executable).with_arguments(interpreter.collect());
            Workers::new(program, 1, 0)
        }
        (Some(_), None) => {
            return Err(usage(
                "memory_limit needs a process, but sys.executable does not name the interpreter",
            ));
        }
    };
    let job = Job {
        options,
        robot: read.model,
        hulls: setting.hulls,
        existing: match setting.replace {
            true => Existing::Replace,
            false => Existing::Keep { given: given.names },
        },
        ..Job::new(read.source, &output.folder)
    };
    let cancelled = Arc::new(AtomicBool::new(false));
    let is_cancelled = cancelled.clone();
    let work = move |events: Option<std::sync::mpsc::Sender<Event>>| {
        let context = Context {
            store,
            progress: events.map(|events| -> Box<OnProgress> {
                Box::new(move |now| {
                    let step = now.step.as_str();
                    // The receiver exists as long as the work.
                    let _ = events.send((step, now.name.to_owned(), now.done, now.all));
                })
            }),
            cancelled: is_cancelled,
            ..Context::default()
        };
        workers.convert(&job, &context)
    };
    // The server of a shared cache may answer late.
    let report = match is_shared {
        true => run_or_abandon(py, &cancelled, progress.as_ref(), work)?,
        false => run(py, &cancelled, progress.as_ref(), work)?,
    };
    let report = report.map_err(|failure| found(&failure.diagnostics))?;
    let entries = report.entries();
    output.written(py, &report, entries)
}

/// Checks an asset or a description; returns the findings as JSON.
#[pyfunction]
#[pyo3(signature = (input, keywords, *, select, ignore, all_variants, engines))]
pub fn check(
    py: Python<'_>,
    input: Input<'_>,
    keywords: &Bound<'_, PyDict>,
    select: Vec<String>,
    ignore: Vec<String>,
    all_variants: bool,
    engines: Vec<String>,
) -> PyResult<String> {
    let accepted = [&PACKAGES[..], &RULES].concat();
    let given = options::read(keywords, Some(&accepted))?.options;
    let engines = parse("engine", &engines, str::parse::<Engine>)?;
    let resolver = Arc::new(Resolver::new(given.resolve.clone()));
    let rules = rep158::Options {
        revision: given.rep158,
        variants: given.variants,
        all_variants,
        select,
        ignore,
        interfaces: resolver.interfaces(),
        packages: Some(resolver),
    };
    api::check_patterns(&rules).map_err(refused)?;
    if let Contents::Path(path) = &input.source {
        api::check_name(Path::new(path), &given.resolve).map_err(refused)?;
    }
    let read = input.read(&given.resolve)?;
    let checked = run(py, &AtomicBool::new(false), None, |_| {
        api::check(read, &rules, &engines, given.resolve)
    })?;
    to_json(&checked.map_err(refused)?.diagnostics)
}

/// Returns the contents of an asset or a description, and the findings, as JSON.
#[pyfunction]
pub fn inspect(py: Python<'_>, input: Input<'_>, keywords: &Bound<'_, PyDict>) -> PyResult<String> {
    let accepted = [&PACKAGES[..], &PLANNING, &["variants"]].concat();
    let given = options::read(keywords, Some(&accepted))?.options;
    let read = input.read(&given.resolve)?;
    let files = PlanningFiles {
        srdf: given.srdf,
        xrdf: given.xrdf,
    };
    let inspected = run(py, &AtomicBool::new(false), None, |_| {
        api::inspect(read, given.resolve, &files, &given.variants)
    })?;
    let inspected = inspected.map_err(refused)?;
    to_json(&json!({ "summary": inspected.summary, "diagnostics": inspected.diagnostics }))
}

/// Fixes an OpenUSD asset, and writes it into the folder `out`, or into memory without one.
#[pyfunction]
pub fn fix<'py>(
    py: Python<'py>,
    input: Input<'py>,
    out: Option<PathBuf>,
    keywords: &Bound<'py, PyDict>,
    overlays: Vec<String>,
) -> PyResult<Written<'py>> {
    let accepted = [&PACKAGES[..], &RULES].concat();
    let given = options::read(keywords, Some(&accepted))?.options;
    let engines = parse("overlays", &overlays, api::parse_overlay)?;
    let resolver = Arc::new(Resolver::new(given.resolve));
    let asset = match &input.source {
        Contents::Path(path) => AssetFile::find(Path::new(path), &ENTRIES, &resolver),
        Contents::Bytes(bytes) => AssetFile::copy(bytes.as_bytes()),
    };
    let asset = asset.map_err(failed)?;
    let output = Output::new(out)?;
    let options = api::FixOptions {
        revision: given.rep158,
        engines,
        variants: given.variants,
        packages: resolver,
    };
    let fixed = run(py, &AtomicBool::new(false), None, |_| {
        api::fix(&asset, &output.folder, &options)
    })?;
    let (report, entry) = fixed.map_err(refused)?;
    output.written(py, &report, vec![entry])
}
