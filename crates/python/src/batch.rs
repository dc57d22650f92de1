//! Batches, whose robots a driver in Python has converted in any process or machine.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use urdf_usd_batch::items::{self, Item};
use urdf_usd_batch::journal::{Journal, Row};
use urdf_usd_batch::{
    Open, Output, Settings, Shard, convert, download, remote_source, report, set_defaults,
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
    /// The folder of the batch, or its address.
    output: PathBuf,
    /// The options of the batch that are given.
    options: BTreeMap<String, Value>,
}

/// Returns the settings of a batch with these options.
fn settings(output: Output, given: &BTreeMap<String, Value>) -> Result<Settings, String> {
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
        if let Some(address) = remote_source(&sources) {
            // Each machine would need a mirror of its own, and tasks have paths.
            return Err(usage(format!(
                "{address}: sources in an object store are for `urdf_usd batch`; for a batch in \
                 Python, download them to a folder that all machines have at the same path"
            )));
        }
        let given = options::read(keywords, None)?;
        api::check_options(&given.options).map_err(usage)?;
        // Paths are absolute, since tasks run in other working directories.
        let rows = TABLE
            .iter()
            .filter(|row| given.names.contains(row.about.name));
        let absolute = rows.map(|row| {
            let value = row.about.kind.absolute(&row.get(&given.options))?;
            Ok((row.about.name.to_owned(), value))
        });
        let given: BTreeMap<String, Value> =
            absolute.collect::<Result<_, String>>().map_err(usage)?;
        let output = Output::absolute(&output).map_err(|error| usage(error.to_string()))?;
        run(py, &AtomicBool::new(false), None, |_| {
            let opened = Output::open(&output, Shard::WHOLE).map_err(|fault| found(&[fault]))?;
            let settings = Settings {
                retry,
                changed,
                ..settings(opened, &given).map_err(usage)?
            };
            let (sources, _) = download(&sources).map_err(|fault| found(&[fault]))?;
            let items = items::find(&sources, settings.output.folder());
            let items = items.map_err(|faults| found(&faults))?;
            for item in &items {
                let checked = item.options(&settings.options);
                let checked = checked.and_then(|options| api::check_options(&options));
                checked.map_err(|why| usage(format!("{}: {why}", item.key)))?;
            }
            let open = Open::new(&items, &settings).map_err(|fault| found(&[fault]))?;
            let task = |item: &Item| Task {
                robot: item.to_json(),
                output: output.clone(),
                options: given.clone(),
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
    let item = Item::parse(&task.robot.to_string(), Path::new(""));
    let item = item.map_err(|(_, why)| usage(format!("task: {why}")))?;
    let workers = workers(interpreter);
    let row = run(py, &AtomicBool::new(false), None, |_| {
        let settings = shared_settings(&task)?;
        convert(&item, &settings, &workers).map_err(|fault| found(&[fault]))
    })??;
    serde_json::to_string(&row).map_err(|error| defect(&error.to_string()))
}

/// Settings with the process and the task that they were made in and from.
struct Made {
    process: u32,
    output: PathBuf,
    options: BTreeMap<String, Value>,
    settings: Arc<Settings>,
}

static SETTINGS: Mutex<Option<Made>> = Mutex::new(None);

/// Returns the settings of a task; those of the last task are cached, since opening an object store
/// connects to it. Connections do not survive a fork.
fn shared_settings(task: &Task) -> PyResult<Arc<Settings>> {
    let lock = || SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(before) = lock().as_ref()
        && (before.process, &before.output, &before.options)
            == (process, &task.output, &task.options)
    {
        return Ok(before.settings.clone());
    }
    // Without the lock: a fork meanwhile would leave it locked in the child.
    let output = Output::open(&task.output, Shard::WHOLE).map_err(|fault| found(&[fault]))?;
    let settings = Arc::new(settings(output, &task.options).map_err(usage)?);
    let before = lock().replace(Made {
        process,
        output: task.output.clone(),
        options: task.options.clone(),
        settings: settings.clone(),
    });
    // Dropping connections of the parent process would wait for its threads.
    std::mem::forget(before.filter(|before| before.process != process));
    Ok(settings)
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
