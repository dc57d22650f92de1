//! `urdf_usd view`: finds or makes the asset that the viewer shows.
//!
//! A description is converted into the cache, and again whenever it or one of its files changes.
//! Robots that are dropped on the page are converted by its server.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::conversion::CommandLimits;
use super::findings::print_diagnostics;
use super::packages::Packages;
use super::progress::Bar;
use super::results::{failed, failed_with, usage_error};
use super::subject::{INPUT, Robot, XacroArguments, located};
use super::terminal::say_as;
use super::{Expanded, open_cache};
use crate::viewer::{self, Make, Serving, Shown, Subject};
use urdf_usd_convert::{
    self as convert, Context, Failure, Job, Options, REPORT, Report, STDIN, Source, Status, named,
};
use urdf_usd_diagnostic::{self as diagnostic, Severity};
use urdf_usd_resolve as resolve;
use urdf_usd_store::Store;
use urdf_usd_usd_read as usd_read;
use urdf_usd_worker::{DEFAULT_TIME_LIMIT, Limits, Program, Workers};

/// Maximum age of a conversion for the viewer, since it was last shown.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The command's arguments. Without a robot, the page shows those that are dropped on it.
#[derive(Args)]
// Changed arguments come last, so their positions have to be given.
#[command(
    mut_arg("input", |input| input.required(false).index(1)),
    mut_arg("xacro_arguments", |arguments| arguments.index(2))
)]
pub(super) struct View {
    #[command(flatten)]
    robot: Option<Robot>,
    #[command(flatten)]
    xacro: XacroArguments,
    /// Select a variant of an OpenUSD asset, SET=NAME or /PRIM{SET=NAME} (may be given several
    /// times), for example visual_representation=mesh_low or collision_fidelity=trimesh. The asset
    /// is then converted into the cache, because its own glTF contains the meshes of its source
    #[arg(long = "variant", value_name = "SET=NAME", help_heading = INPUT)]
    variants: Vec<usd_read::VariantChoice>,
    #[command(flatten)]
    packages: Packages,
    /// Do not open the browser. Without it, the browser opens only if there is a screen and the
    /// output is a terminal
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    limits: CommandLimits,
    #[command(flatten)]
    server: viewer::Options,
}

/// The subject of the viewer.
enum ViewSource {
    /// A file or asset that the viewer can draw.
    Drawing(PathBuf),
    /// A description that must be converted first.
    Description(Source),
}

/// Serves the viewer until interrupted.
///
/// `program`, if given, is started as the worker that converts.
pub(super) fn run(arguments: &View, program: Option<&Program>) -> ExitCode {
    let resolve = match arguments.packages.options() {
        Ok(resolve) => resolve,
        Err(message) => return usage_error(&message),
    };
    let shown = match &arguments.robot {
        Some(robot) => match find(robot, arguments, &resolve) {
            Ok(shown) => Some(shown),
            Err(code) => return code,
        },
        None if !arguments.variants.is_empty() => {
            return usage_error("--variant selects a variant of an INPUT, and none is given");
        }
        None => None,
    };
    let open = (!arguments.no_open).then_some(open_browser as fn(&str));
    let limits = arguments.limits.0;
    let workers =
        Arc::new(program.map_or_else(Workers::here, |program| Workers::new(program.clone(), 1, 0)));
    let serving = Serving {
        options: &arguments.server,
        open,
        workers: workers.clone(),
        resolve: resolve.clone(),
        // A page has no terminal to interrupt the conversion of a dropped robot.
        limits: Limits {
            time: limits.time.or(Some(DEFAULT_TIME_LIMIT)),
            memory: limits.memory,
        },
    };
    match shown {
        None => viewer::main(serving, None),
        Some(ViewSource::Drawing(path)) => viewer::main(serving, Some(Shown { path, make: None })),
        Some(ViewSource::Description(source)) => {
            let by = if limits.is_any() {
                workers
            } else {
                Arc::new(Workers::in_process_of(program))
            };
            let maker = match Maker::new(source, resolve, arguments, by) {
                Ok(maker) => maker,
                Err(message) => return usage_error(&message),
            };
            let Some(path) = maker.first() else {
                return ExitCode::FAILURE;
            };
            let make: Option<Make> = Some(Arc::new(move || maker.again()));
            viewer::main(serving, Some(Shown { path, make }))
        }
    }
}

/// Finds the file or asset to show.
///
/// On failure, prints the error and returns the exit code.
fn find(
    robot: &Robot,
    arguments: &View,
    resolve: &resolve::Options,
) -> Result<ViewSource, ExitCode> {
    let path = located(&robot.input, resolve).map_err(|message| failed(&message))?;
    let is_chosen = robot.robot.is_some() || !arguments.variants.is_empty();
    if !is_chosen && path != Path::new("-") && is_drawing(&path) {
        return Ok(ViewSource::Drawing(path));
    }
    let read = robot.read(&arguments.xacro, resolve)?;
    let asset = read.file().and_then(Path::parent);
    // The only asset below a folder.
    if let Some(asset) = asset.filter(|asset| !is_chosen && is_drawing(asset)) {
        return Ok(ViewSource::Drawing(asset.to_owned()));
    }
    Ok(ViewSource::Description(read.source))
}

/// Returns whether the viewer can draw a file or folder as it is.
fn is_drawing(path: &Path) -> bool {
    if path.is_dir() {
        let name = path
            .canonicalize()
            .ok()
            .and_then(|path| path.file_name().map(ToOwned::to_owned))
            .unwrap_or_default();
        return path.join(REPORT).is_file() || named(path, &name, &["glb", "gltf"]).is_some();
    }
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        // A layer of an asset shows the asset; other OpenUSD files are read as robots.
        "usd" | "usda" | "usdc" | "usdz" => {
            let folder = path.parent();
            folder.is_some_and(|folder| folder.join(REPORT).is_file())
                || Subject::find(path).is_ok()
        }
        "glb" | "gltf" => path.is_file(),
        // The conversion says what is wrong with any other file.
        _ => false,
    }
}

/// Converts a description into the cache.
struct Maker {
    job: Job,
    /// Worker pool for conversions.
    workers: Arc<Workers>,
    /// Without a cache, a folder that is deleted when the program ends.
    _temporary: Option<tempfile::TempDir>,
}

impl Maker {
    fn new(
        source: Source,
        resolve: resolve::Options,
        arguments: &View,
        workers: Arc<Workers>,
    ) -> Result<Self, String> {
        let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
        let source = match source {
            Source::File(file) => Source::File(absolute(file)),
            Source::Xacro { file, arguments } => Source::Xacro {
                file: absolute(file),
                arguments,
            },
            other => other,
        };
        let variants = &arguments.variants;
        // Views of one file with other arguments must not share a folder.
        let key = convert::sha256(format!("{source:?} {variants:?} {resolve:?}").as_bytes());
        let file = match &source {
            Source::File(file) | Source::Xacro { file, .. } | Source::Bytes { file, .. } => &**file,
            Source::Text { .. } => Path::new(STDIN),
        };
        let (output, temporary) = match Store::directory().map(|cache| cache.join("view")) {
            Some(cache) => (
                cache_folder(&cache, key.get(..16).unwrap_or(&key), file)?,
                None,
            ),
            None => {
                let folder =
                    tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let Limits {
            time: time_limit,
            memory: memory_limit,
        } = arguments.limits.0;
        // As the node: all files, with tiers, colliders and the layer of named poses.
        let options = Options {
            resolve,
            variants: variants.clone(),
            time_limit,
            memory_limit,
            ..Options::default()
        };
        // Reports faults of the cache before the first conversion.
        open_cache(false, None)?;
        Ok(Self {
            job: Job {
                options,
                ..Job::new(source, output)
            },
            workers,
            _temporary: temporary,
        })
    }

    /// Converts for the first time, and prints the outcome. Returns the asset's directory; `None`
    /// if there is none.
    fn first(&self) -> Option<PathBuf> {
        let mut bar = Bar::default();
        let expanded = Expanded::default();
        let context = Context {
            store: open_cache(false, None).unwrap_or_default(),
            progress: bar.listener(),
            expanded: Some(expanded.keeper()),
            ..Context::default()
        };
        let result = self.workers.convert(&self.job, &context);
        bar.clear();
        let expanded = expanded.take();
        match result {
            Ok(report) => {
                print_diagnostics(&report.diagnostics, expanded.as_deref());
                let found = diagnostic::count(&report.diagnostics);
                match report.status {
                    Status::Ok => {}
                    Status::Warnings => say_as(Severity::Warning, format!("shown with {found}")),
                    Status::Errors => say_as(Severity::Error, format!("shown with {found}")),
                }
                Some(report.directory)
            }
            Err(failure) => {
                failed_with(&failure.diagnostics, expanded.as_deref());
                say_as(Severity::Error, "nothing to show");
                None
            }
        }
    }

    /// Converts again.
    fn again(&self) -> Result<Report, Failure> {
        self.workers.convert(
            &self.job,
            &Context {
                store: open_cache(false, None).unwrap_or_default(),
                ..Context::default()
            },
        )
    }
}

/// Creates the folder in the cache for conversions of `file`, and deletes those not shown for long.
fn cache_folder(cache: &Path, key: &str, file: &Path) -> Result<PathBuf, String> {
    /// File in the folder that contains the source; its modification time is when that was last
    /// shown.
    const MARK: &str = "source.txt";
    let folder = cache.join(key);
    let cannot =
        |error: std::io::Error| format!("cannot write to the cache {}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(cannot)?;
    fs::write(folder.join(MARK), file.display().to_string()).map_err(cannot)?;
    for old in fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let marked = fs::metadata(old.join(MARK))
            .or_else(|_| fs::metadata(&old))
            .and_then(|meta| meta.modified());
        if marked.is_ok_and(|time| {
            SystemTime::now()
                .duration_since(time)
                .is_ok_and(|age| age > MAX_AGE)
        }) {
            // Another process may delete it at the same time.
            let _ = fs::remove_dir_all(old);
        }
    }
    Ok(folder)
}

/// Opens the browser if a user is likely to see it.
fn open_browser(url: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !std::io::stdout().is_terminal() {
        return;
    }
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"]
        .into_iter()
        .any(is_set)
    {
        "xdg-open"
    } else {
        return;
    };
    let begun = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Without a browser, users click the address. The thread reaps the child process when it ends.
    if let Ok(mut browser) = begun {
        let _ = std::thread::Builder::new()
            .name("browser".to_owned())
            .spawn(move || browser.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_folders_of_the_cache_are_deleted() {
        let cache = tempfile::tempdir().unwrap();
        let old = cache_folder(cache.path(), "old", Path::new("/a.urdf")).unwrap();
        let long_ago = SystemTime::now() - MAX_AGE - Duration::from_secs(60);
        fs::File::options()
            .write(true)
            .open(old.join("source.txt"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        let new = cache_folder(cache.path(), "new", Path::new("/b.urdf")).unwrap();
        assert!(new.is_dir() && !old.exists());
    }
}
