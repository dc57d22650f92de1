//! Converts the robots of a batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use urdf_usd_convert::option::{Kind, Value};
use urdf_usd_convert::options::{NOT_OF_THE_ASSET, TABLE};
use urdf_usd_convert::{self as convert, Context, Existing, Failure, Job, Options, Report, codes};
use urdf_usd_diagnostic::{Code, Diagnostic, Place, Severity};
use urdf_usd_worker::{DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, Workers};

use crate::codes::MANIFEST;
use crate::items::Item;
use crate::journal::{Journal, Row, Status, Used};
use crate::output::Output;

/// Interval of [`Event::Waiting`].
const INTERVAL: Duration = Duration::from_secs(5);
/// The folder of the assets in that of the batch.
pub(crate) const ASSETS: &str = "assets";

/// A part of a batch: every `of`-th robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `of`.
    pub number: usize,
    /// The number of shards.
    pub of: usize,
}

impl Shard {
    /// The whole batch.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Parses `3/8`.
    ///
    /// # Errors
    /// Returns the reason for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected NUMBER/OF, from 1/8 to 8/8".to_owned()),
        }
    }

    /// Returns whether the robot at this index of the batch is part of it.
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }

    pub(crate) fn label(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }
}

/// The settings of a run.
#[derive(Debug)]
pub struct Settings {
    /// The place of the batch.
    pub output: Output,
    /// The options of all conversions.
    pub options: Options,
    /// The part of the batch to convert.
    pub shard: Shard,
    /// The number of conversions at a time.
    pub jobs: usize,
    /// True to convert robots that failed again.
    pub retry: bool,
    /// True to convert again after a change of a mesh or included file.
    pub changed: bool,
    /// The version of the program: results depend on it.
    pub version: String,
}

/// Sets options that are not given to the defaults of a batch: limits, since one robot that takes
/// forever, or all memory, must not hold up the others (zero is no limit), and pictures for the
/// report.
pub fn set_defaults(options: &mut Options, given: &BTreeSet<String>) {
    if !given.contains("time_limit") {
        options.time_limit = Some(DEFAULT_TIME_LIMIT);
    }
    if !given.contains("memory_limit") {
        options.memory_limit = Some(DEFAULT_MEMORY_LIMIT);
    }
    options.thumbnail |= !given.contains("thumbnail");
}

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The robots to convert are known: their number, and that of those that are done.
    Begun {
        /// Robots to convert.
        open: usize,
        /// Robots that an earlier run has converted.
        done: usize,
    },
    /// A robot is finished.
    Finished(&'a Row),
    /// No robot finished within the interval.
    Waiting,
}

/// The part of a batch that is still to be done.
#[derive(Debug)]
pub struct Open<'a> {
    /// The journal, which takes the rows of finished robots unless the batch is in an object store,
    /// whose pointers have them; it then only excludes other processes of this machine.
    pub journal: Journal,
    /// The robots to convert, each with the hash of its inputs.
    pub items: Vec<(&'a Item, String)>,
    /// The number of robots that an earlier run has converted.
    pub done: usize,
    /// The number of these without an asset, or with errors.
    pub bad: usize,
}

impl<'a> Open<'a> {
    /// Opens the journal of a shard, and selects its robots that have no valid row.
    ///
    /// # Errors
    /// If the rows can't be read, or the journal can't be written.
    pub fn new(items: &'a [Item], settings: &Settings) -> Result<Self, Diagnostic> {
        let output = &settings.output;
        let mut open = Self {
            journal: Journal::open(output.folder(), &settings.shard.label())?,
            items: Vec::new(),
            done: 0,
            bad: 0,
        };
        output.clear();
        let all = items.iter().enumerate();
        let own = all.filter(|(index, _)| settings.shard.has(*index));
        let rows = output.rows(own.clone().map(|(_, item)| item), settings.changed)?;
        let missing = match settings.retry {
            true => output.missing(rows.values())?,
            false => BTreeSet::new(),
        };
        for (_, item) in own {
            let inputs = inputs(item, settings);
            match rows.get(&item.key) {
                Some(row)
                    if is_done(row, item, &inputs, settings) && !missing.contains(&item.key) =>
                {
                    open.done += 1;
                    open.bad += usize::from(!row.status.is_good());
                }
                _ => open.items.push((item, inputs)),
            }
        }
        Ok(open)
    }
}

/// Converts a robot, and returns its row, which is published if the batch is in an object store.
///
/// # Errors
/// If the asset can't be published.
pub fn convert(item: &Item, settings: &Settings, workers: &Workers) -> Result<Row, Diagnostic> {
    let Made { row, report } = make(item, &inputs(item, settings), settings, workers);
    settings.output.publish(row, report.as_ref())
}

fn make(item: &Item, inputs: &str, settings: &Settings, workers: &Workers) -> Made {
    let started = SystemTime::now();
    let result = write(item, settings, workers);
    let report = result.as_ref().ok().cloned();
    let row = row_of(item, inputs, result, started);
    Made { row, report }
}

/// Converts the robots of a shard that have no current row. Calls `on_event` on the calling
/// thread. Returns how many robots of the shard have no asset, or one with errors.
///
/// # Errors
/// If the journal can't be read or written, or an asset can't be published. Conversions that have
/// begun are finished first.
pub fn run(
    items: &[Item],
    settings: &Settings,
    workers: &Workers,
    mut on_event: impl FnMut(Event<'_>),
) -> Result<usize, Diagnostic> {
    let output = &settings.output;
    let Open {
        mut journal,
        items: open,
        done,
        mut bad,
    } = Open::new(items, settings)?;
    on_event(Event::Begun {
        open: open.len(),
        done,
    });
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, finished) = channel();
    // Bounded: conversions wait for uploads, since assets that wait fill the disk.
    let (made, to_publish) = sync_channel(settings.jobs);
    let to_publish = Mutex::new(to_publish);
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, open.len().max(1)) {
            let (made, next, is_over, open) = (made.clone(), &next, &is_over, &open);
            let take = move || {
                let index = next.fetch_add(1, Ordering::Relaxed);
                (!is_over.load(Ordering::Relaxed)).then(|| open.get(index))?
            };
            scope.spawn(move || work(take, settings, workers, &made));
        }
        drop(made);
        for _ in 0..output.publishers() {
            let (sender, to_publish, is_over) = (sender.clone(), &to_publish, &is_over);
            scope.spawn(move || {
                let next = || {
                    to_publish
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv()
                };
                while let Ok(Made { row, report }) = next() {
                    // After a failure, the next run converts it again.
                    if is_over.load(Ordering::Relaxed) {
                        continue;
                    }
                    let published = output.publish(row, report.as_ref());
                    if published.is_err() {
                        is_over.store(true, Ordering::Relaxed);
                    }
                    if sender.send(published).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut failed = Ok(());
        loop {
            match finished.recv_timeout(INTERVAL) {
                Ok(Ok(row)) => {
                    if failed.is_ok() {
                        failed = output.record(&mut journal, &row);
                        is_over.fetch_or(failed.is_err(), Ordering::Relaxed);
                    }
                    bad += usize::from(!row.status.is_good());
                    on_event(Event::Finished(&row));
                }
                Ok(Err(fault)) => failed = failed.and(Err(fault)),
                Err(RecvTimeoutError::Timeout) => on_event(Event::Waiting),
                Err(RecvTimeoutError::Disconnected) => return failed.map(|()| bad),
            }
        }
    })
}

/// A conversion that has ended.
struct Made {
    row: Row,
    /// `None` if there is no asset.
    report: Option<Report>,
}

/// Returns whether a robot needs no conversion.
fn is_done(row: &Row, item: &Item, inputs: &str, settings: &Settings) -> bool {
    let is_there = || {
        row.asset
            .as_ref()
            .is_none_or(|asset| settings.output.has(asset))
    };
    row.inputs == inputs
        && row.source.to_string_lossy() == item.place().to_string_lossy()
        && (row.status.is_good() || row.status == Status::Errors || !settings.retry)
        && (!settings.changed || row.used.iter().all(Used::is_current))
        && is_there()
}

/// Returns the hash of what the result for a robot depends on. Locations of packages and limits are
/// no part of it.
fn inputs(item: &Item, settings: &Settings) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add_file = |path: &Path| {
        // A file that can't be read is reported by its conversion.
        let _ = File::open(path).and_then(|file| hasher.update_reader(file).map(|_| ()));
        hasher.update(&hasher.count().to_le_bytes());
    };
    add_file(&item.source);
    let mut texts: Vec<String> = item.arguments.iter().map(ToString::to_string).collect();
    for row in TABLE {
        let name = row.about.name;
        if NOT_OF_THE_ASSET.contains(&name) && !["check", "strict"].contains(&name) {
            continue;
        }
        let value = item.options.get(name).cloned();
        let value = value.unwrap_or_else(|| row.get(&settings.options));
        match (row.about.kind, &value) {
            // Its content, not its location, which differs between machines that download it.
            (Kind::File, Value::Text(path)) if !path.is_empty() => {
                add_file(Path::new(path));
                texts.push(name.to_owned());
            }
            _ => texts.push(format!("{name}={value:?}")),
        }
    }
    for text in texts.iter().chain([&settings.version]) {
        hasher.update(text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// Converts the robots that `take` returns.
fn work<'a>(
    take: impl Fn() -> Option<&'a (&'a Item, String)>,
    settings: &Settings,
    workers: &Workers,
    sender: &SyncSender<Made>,
) {
    while let Some((item, inputs)) = take() {
        let made = make(item, inputs, settings, workers);
        if sender.send(made).is_err() {
            return;
        }
    }
}

/// Writes the asset of a robot.
fn write(item: &Item, settings: &Settings, workers: &Workers) -> Result<Report, Failure> {
    let options = item.options(&settings.options).map_err(|message| Failure {
        diagnostics: vec![Diagnostic::new(
            &MANIFEST,
            Place::file(&item.source),
            message,
        )],
        used: Vec::new(),
    })?;
    let job = Job {
        options,
        existing: Existing::Replace,
        ..Job::new(
            item.to_source(),
            settings.output.folder().join(ASSETS).join(&item.key),
        )
    };
    workers.convert(&job, &Context::default())
}

/// Returns the row of a conversion that began at `started`.
fn row_of(item: &Item, inputs: &str, result: Result<Report, Failure>, started: SystemTime) -> Row {
    let finished = SystemTime::now();
    let mut row = Row {
        key: item.key.clone(),
        source: item.place(),
        inputs: inputs.to_owned(),
        status: Status::Failed,
        robot: None,
        asset: None,
        counts: convert::Counts::default(),
        bytes: 0,
        seconds: finished
            .duration_since(started)
            .unwrap_or_default()
            .as_secs_f64(),
        findings: BTreeMap::new(),
        message: None,
        used: Vec::new(),
        finished: finished
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64(),
        picture: None,
    };
    let (found, mut used) = match result {
        Ok(report) => {
            row.status = match report.status {
                convert::Status::Ok => Status::Ok,
                convert::Status::Warnings => Status::Warnings,
                convert::Status::Errors => Status::Errors,
            };
            row.asset = Some([ASSETS, &item.key, &report.name].join("/"));
            row.robot = Some(report.robot);
            row.counts = report.counts;
            row.bytes = report.files.iter().map(|file| file.bytes).sum();
            (report.diagnostics, report.used)
        }
        Err(failure) => {
            let has = |code: &Code| {
                failure
                    .diagnostics
                    .iter()
                    .any(|found| found.code == code.id)
            };
            let ends = [
                (&codes::TIMED_OUT, Status::TimedOut),
                (&codes::OUT_OF_MEMORY, Status::OutOfMemory),
                (&codes::CRASHED, Status::Crashed),
            ];
            if let Some((_, status)) = ends.into_iter().find(|(code, _)| has(code)) {
                row.status = status;
            }
            (failure.diagnostics, failure.used)
        }
    };
    for one in &found {
        *row.findings.entry(one.code.to_string()).or_default() += 1;
    }
    let error = found.iter().find(|one| one.severity == Severity::Error);
    row.message = error.map(Diagnostic::to_sentence);
    used.sort();
    used.dedup();
    let used = used.into_iter().map(|path| Used::since(path, started));
    row.used = used.collect();
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_a_partition() {
        for of in 1..5 {
            let shards: Vec<Shard> = (1..=of).map(|number| Shard { number, of }).collect();
            for index in 0..20 {
                assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1);
            }
        }
        for (text, is_valid) in [
            ("1/1", true),
            ("8/8", true),
            ("0/8", false),
            ("9/8", false),
            ("1/0", false),
            ("x", false),
        ] {
            assert_eq!(Shard::parse(text).is_ok(), is_valid, "{text}");
        }
    }
}
