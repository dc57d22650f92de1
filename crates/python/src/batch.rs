//! Batches, whose robots a driver in Python has converted in any process or machine.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use urdf_usd_batch::items::{self, Item};
use urdf_usd_batch::journal::{Journal, Row};
use urdf_usd_batch::{
    Mirror, Open, Output, Settings, Shard, convert, download, report, set_defaults, set_origins,
};
use urdf_usd_cli::Program;
use urdf_usd_cli::api;
use urdf_usd_convert::Options;
use urdf_usd_convert::option::Value;
use urdf_usd_convert::options::TABLE;
use urdf_usd_resolve as resolve;
use urdf_usd_worker::Workers;

use crate::failure::{defect, found, usage};
use crate::options;
use crate::work::run;

/// Size of the mesh cache of a process that converts robots of batches, in MiB.
const CACHE: u64 = 128;

/// The conversion of a robot, as text for another process.
#[derive(Serialize, Deserialize)]
struct Task {
    /// The robot, as a line of a manifest.
    robot: Json,
    #[serde(flatten)]
    common: Common,
}

/// The part of a task that is the same for all robots of a batch.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Common {
    /// The folder of the batch, or its address.
    output: PathBuf,
    /// The options of the batch that are given.
    options: BTreeMap<String, Value>,
    /// The addresses of sources in object stores, and the folders that the driver has downloaded
    /// them to. Each process that converts has its own folders.
    mirrors: Vec<(String, PathBuf)>,
    /// The process of the driver and the time: another batch reads the sources again.
    batch: String,
}

/// Returns the settings of a batch with these options.
fn settings(
    mut output: Output,
    given: &BTreeMap<String, Value>,
    mirrors: &[Mirror],
) -> Result<Settings, String> {
    output.set_mirrors(mirrors);
    let mut options = Options {
        resolve: resolve::Options::from_environment(),
        ..Options::default()
    };
    for (name, value) in given {
        let option = TABLE.iter().find(|option| option.about.name == name);
        let set = option.map(|option| option.set(&mut options, value));
        set.unwrap_or_else(|| Err("there is no such option".to_owned()))
            .map_err(|why| format!("{name}: {why}"))?;
    }
    let names: BTreeSet<String> = given.keys().cloned().collect();
    set_defaults(&mut options, &names);
    // Descriptions refer to packages beside their own.
    let folders = mirrors.iter().map(|mirror| mirror.folder.clone());
    options.resolve.package_paths.extend(folders);
    Ok(Settings {
        output,
        options,
        shard: Shard::WHOLE,
        jobs: 1,
        retry: false,
        changed: false,
        version: api::VERSION.to_owned(),
    })
}

/// The robots of a batch, with its journal.
#[pyclass(frozen, module = "urdf_usd._native")]
pub struct Batch {
    items: Vec<Item>,
    output: Output,
    /// The journal, and the keys of the robots that it awaits; `None` once the batch is finished.
    journal: Mutex<Option<(Journal, HashSet<String>)>>,
    tasks: Vec<String>,
    done: usize,
}

#[pymethods]
impl Batch {
    #[new]
    fn new(
        py: Python<'_>,
        sources: Vec<PathBuf>,
        output: PathBuf,
        keywords: &Bound<'_, PyDict>,
        retry: bool,
        changed: bool,
    ) -> PyResult<Self> {
        let given = options::read(keywords, None)?;
        api::check_options(&given.options).map_err(usage)?;
        // Paths are absolute, since tasks run in other working directories.
        let rows = TABLE
            .iter()
            .filter(|row| given.names.contains(row.about.name));
        let absolute = rows.map(|row| {
            let value = row
                .about
                .kind
                .absolute(&row.get(&given.options), Path::new(""))?;
            Ok((row.about.name.to_owned(), value))
        });
        let given: BTreeMap<String, Value> =
            absolute.collect::<Result<_, String>>().map_err(usage)?;
        let output = Output::absolute(&output).map_err(|error| usage(error.to_string()))?;
        run(py, &AtomicBool::new(false), None, |_| {
            let opened = Output::open(&output, Shard::WHOLE).map_err(|fault| found(&[fault]))?;
            let (sources, mirrors) = download(&sources).map_err(|fault| found(&[fault]))?;
            let settings = Settings {
                retry,
                changed,
                ..settings(opened, &given, &mirrors).map_err(usage)?
            };
            let items = items::find(&sources, settings.output.folder());
            let mut items = items.map_err(|faults| found(&faults))?;
            set_origins(&mut items, &mirrors);
            for item in &items {
                let checked = item.options(&settings.options);
                let checked = checked.and_then(|options| api::check_options(&options));
                checked.map_err(|why| usage(format!("{}: {why}", item.key)))?;
            }
            let open = Open::new(&items, &settings).map_err(|fault| found(&[fault]))?;
            let mirrors = mirrors.into_iter();
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let common = Common {
                output,
                options: given,
                mirrors: mirrors.map(|mirror| (mirror.url, mirror.folder)).collect(),
                batch: format!(
                    "{}-{}",
                    std::process::id(),
                    now.unwrap_or_default().as_nanos()
                ),
            };
            let task = |item: &Item| Task {
                robot: item.to_json(),
                common: common.clone(),
            };
            let tasks = open.items.iter().map(|(item, _)| {
                serde_json::to_string(&task(item)).map_err(|error| defect(&error.to_string()))
            });
            let tasks = tasks.collect::<PyResult<_>>()?;
            let keys = open.items.iter().map(|(item, _)| item.key.clone());
            let journal = Mutex::new(Some((open.journal, keys.collect())));
            let done = open.done;
            Ok(Self {
                items,
                output: settings.output,
                journal,
                tasks,
                done,
            })
        })?
    }

    /// Returns the conversions to run.
    fn tasks(&self) -> Vec<String> {
        self.tasks.clone()
    }

    /// Returns the number of robots that an earlier run has converted.
    fn done(&self) -> usize {
        self.done
    }

    /// Appends the row of a robot, as JSON, to the journal.
    fn record(&self, py: Python<'_>, row: &str) -> PyResult<()> {
        let row: Row = serde_json::from_str(row).map_err(|error| usage(format!("row: {error}")))?;
        py.detach(|| {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((journal, awaited)) = journal.as_mut() else {
                return Err(usage("the batch is finished"));
            };
            if !awaited.contains(&row.key) {
                return Err(usage(format!("{} is not to be converted", row.key)));
            }
            let recorded = self.output.record(journal, &row);
            recorded.map_err(|fault| found(&[fault]))?;
            awaited.remove(&row.key);
            Ok(())
        })
    }

    /// Closes the journal and writes the report; returns its numbers as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let summary = py.detach(|| {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            *journal = None;
            report::write(&self.output, &self.items)
        });
        let summary = summary.map_err(|fault| found(&[fault]))?;
        serde_json::to_string(&summary).map_err(|error| defect(&error.to_string()))
    }
}

/// Converts a robot in a worker process, and returns its row as JSON.
///
/// `interpreter` is the command line that runs this program; without it, a crash of the conversion
/// is one of this process.
#[pyfunction]
pub fn convert_robot(py: Python<'_>, task: &str, interpreter: Vec<OsString>) -> PyResult<String> {
    let task: Task = serde_json::from_str(task).map_err(|error| usage(format!("task: {error}")))?;
    let workers = workers(interpreter);
    let row = run(py, &AtomicBool::new(false), None, |_| {
        let (settings, mirrors) = shared_settings(&task.common)?;
        let mut robot = task.robot;
        for ((_, theirs), ours) in task.common.mirrors.iter().zip(mirrors.iter()) {
            replace_folder(&mut robot, theirs, &ours.folder);
        }
        let item = Item::parse(&robot.to_string(), Path::new(""));
        let mut item = item.map_err(|(_, why)| usage(format!("task: {why}")))?;
        set_origins(std::slice::from_mut(&mut item), &mirrors);
        convert(&item, &settings, &workers).map_err(|fault| found(&[fault]))
    })??;
    serde_json::to_string(&row).map_err(|error| defect(&error.to_string()))
}

/// Replaces a folder at the start of the paths in a robot.
fn replace_folder(robot: &mut Json, theirs: &Path, ours: &Path) {
    match robot {
        Json::String(text) => {
            let path = Path::new(text).strip_prefix(theirs);
            if let Ok(path) = path.map(|path| ours.join(path)) {
                *text = path.to_string_lossy().into_owned();
            }
        }
        Json::Array(values) => {
            for value in values {
                replace_folder(value, theirs, ours);
            }
        }
        Json::Object(fields) => {
            for value in fields.values_mut() {
                replace_folder(value, theirs, ours);
            }
        }
        _ => {}
    }
}

/// The settings of a batch, and its downloaded sources.
type Shared = (Arc<Settings>, Arc<[Mirror]>);

/// Settings with the process and the tasks that they were made in and from.
struct Made {
    process: u32,
    common: Common,
    shared: Shared,
}

static SETTINGS: Mutex<Option<Made>> = Mutex::new(None);

/// Returns the settings of a task; those of the last task are cached, since opening an object store
/// connects to it, and sources there are downloaded. Connections do not survive a fork.
fn shared_settings(common: &Common) -> PyResult<Shared> {
    let lock = || SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(before) = lock().as_ref()
        && (before.process, &before.common) == (process, common)
    {
        return Ok(before.shared.clone());
    }
    // Without the lock: a fork meanwhile would leave it locked in the child.
    let output = Output::open(&common.output, Shard::WHOLE).map_err(|fault| found(&[fault]))?;
    let addresses: Vec<PathBuf> = common.mirrors.iter().map(|(url, _)| url.into()).collect();
    let (_, mirrors) = download(&addresses).map_err(|fault| found(&[fault]))?;
    let settings = settings(output, &common.options, &mirrors).map_err(usage)?;
    let shared: Shared = (Arc::new(settings), mirrors.into());
    let before = lock().replace(Made {
        process,
        common: common.clone(),
        shared: shared.clone(),
    });
    // Dropping connections of the parent process would wait for its threads.
    std::mem::forget(before.filter(|before| before.process != process));
    Ok(shared)
}

/// Workers with what they were started by.
struct Started {
    process: u32,
    interpreter: Vec<OsString>,
    workers: Arc<Workers>,
}

static WORKERS: Mutex<Option<Started>> = Mutex::new(None);

/// Returns the workers of this process. Those of its parent, from before a fork, belong to it alone.
fn workers(interpreter: Vec<OsString>) -> Arc<Workers> {
    let mut started = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(before) = started.as_ref()
        && (before.process, &before.interpreter) == (process, &interpreter)
    {
        return before.workers.clone();
    }
    let mut arguments = interpreter.iter().cloned();
    let workers = match arguments.next() {
        Some(executable) => {
            let program = Program::new(executable).with_arguments(arguments.collect());
            Workers::new(program, 1, CACHE)
        }
        None => Workers::here(),
    };
    let workers = Arc::new(workers);
    let before = started.replace(Started {
        process,
        interpreter,
        workers: workers.clone(),
    });
    // Dropping workers of the parent process would end them.
    std::mem::forget(before.filter(|before| before.process != process));
    workers
}
