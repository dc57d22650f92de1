//! Converts the robots of a batch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Instant, SystemTime};

use urdf_usd_convert::{self as convert, Context, Existing, Failure, Job, Options, Report, codes};
use urdf_usd_diagnostic::{Diagnostic, Severity};
use urdf_usd_worker::Workers;

use crate::items::Item;
use crate::journal::{self, Journal, Row, Status, Used};

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

    fn label(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }
}

/// The settings of a run.
#[derive(Debug)]
pub struct Settings {
    /// The folder of the batch.
    pub folder: PathBuf,
    /// The options of all conversions.
    pub options: Options,
    /// The part of the batch to convert.
    pub shard: Shard,
    /// The number of conversions at a time.
    pub jobs: usize,
    /// Whether robots that failed are converted again.
    pub retry: bool,
    /// Whether robots are converted again if a mesh or an included file has changed.
    pub changed: bool,
    /// The version of the program, upon which results depend.
    pub version: String,
}

/// What happens during a run.
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
    Finished(&'a Row, &'a [Diagnostic]),
    /// Nothing happened for a while.
    Waiting,
}

/// Converts the robots of a shard that its journal does not have. `tell` is called on this thread.
///
/// # Errors
/// If the journal can't be read or written. Conversions that have begun are finished first.
pub fn run(
    items: &[Item],
    settings: &Settings,
    workers: &Workers,
    mut tell: impl FnMut(Event<'_>),
) -> Result<(), Diagnostic> {
    let mut journal = Journal::open(&settings.folder, &settings.shard.label())?;
    let rows = journal::read(&settings.folder)?;
    let own = items
        .iter()
        .enumerate()
        .filter(|(index, _)| settings.shard.has(*index));
    let mut done = 0;
    let mut open: Vec<(&Item, String)> = Vec::new();
    for (_, item) in own {
        let inputs = inputs(item, settings);
        if rows
            .get(&item.key)
            .is_some_and(|row| is_done(row, &inputs, settings))
        {
            done += 1;
        } else {
            open.push((item, inputs));
        }
    }
    tell(Event::Begun {
        open: open.len(),
        done,
    });
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, finished) = channel();
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, open.len().max(1)) {
            let (sender, next, is_over, open) = (sender.clone(), &next, &is_over, &open);
            scope.spawn(move || work(open, settings, workers, (next, is_over), &sender));
        }
        drop(sender);
        let mut failed = Ok(());
        loop {
            match finished.recv_timeout(crate::report::INTERVAL) {
                Ok((row, found)) => {
                    if failed.is_ok() {
                        failed = journal.append(&row);
                        is_over.store(failed.is_err(), Ordering::Relaxed);
                    }
                    tell(Event::Finished(&row, &found));
                }
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => tell(Event::Waiting),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return failed,
            }
        }
    })
}

/// Returns whether a robot needs no conversion.
fn is_done(row: &Row, inputs: &str, settings: &Settings) -> bool {
    let is_there = || {
        let asset = row.asset.as_ref().map(|asset| settings.folder.join(asset));
        asset.is_none_or(|asset| asset.join(convert::REPORT).is_file())
    };
    row.inputs == inputs
        && (row.status.is_good() || row.status == Status::Errors || !settings.retry)
        && (!settings.changed || row.used.iter().all(Used::is_current))
        && is_there()
}

/// Returns the hash of what the result for a robot depends on.
fn inputs(item: &Item, settings: &Settings) -> String {
    let mut hasher = blake3::Hasher::new();
    // A file that can't be read is reported by its conversion.
    let description = std::fs::read(&item.source).unwrap_or_default();
    hasher
        .update(&(description.len() as u64).to_le_bytes())
        .update(&description);
    let options = convert::options::TABLE.iter().map(|row| {
        let value = item.options.get(row.about.name).cloned();
        format!(
            "{}={:?}",
            row.about.name,
            value.unwrap_or_else(|| row.get(&settings.options))
        )
    });
    let arguments = item.arguments.iter().map(ToString::to_string);
    for text in options.chain(arguments).chain([settings.version.clone()]) {
        hasher.update(text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// Converts robots until there are none left, or the run is over.
fn work(
    open: &[(&Item, String)],
    settings: &Settings,
    workers: &Workers,
    (next, is_over): (&AtomicUsize, &AtomicBool),
    sender: &Sender<(Row, Vec<Diagnostic>)>,
) {
    while !is_over.load(Ordering::Relaxed) {
        let Some((item, inputs)) = open.get(next.fetch_add(1, Ordering::Relaxed)) else {
            return;
        };
        let folder = settings.folder.join(ASSETS).join(&item.key);
        let began = Instant::now();
        let result = match item.options(&settings.options) {
            Ok(options) => {
                let job = Job {
                    options,
                    existing: Existing::Replace,
                    ..Job::new(item.to_source(), &folder)
                };
                workers.convert(&job, &Context::default())
            }
            // Manifests have been checked; the options of the program may differ since.
            Err(message) => Err(Failure {
                diagnostics: vec![Diagnostic::new(
                    &crate::codes::MANIFEST,
                    urdf_usd_diagnostic::Place::file(&item.source),
                    message,
                )],
                used: Vec::new(),
            }),
        };
        let seconds = began.elapsed().as_secs_f64();
        if sender.send(finish(item, inputs, result, seconds)).is_err() {
            return;
        }
    }
}

/// Returns the row of a conversion, with its findings.
fn finish(
    item: &Item,
    inputs: &str,
    result: Result<Report, Failure>,
    seconds: f64,
) -> (Row, Vec<Diagnostic>) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut row = Row {
        key: item.key.clone(),
        source: item.source.clone(),
        inputs: inputs.to_owned(),
        status: Status::Failed,
        robot: None,
        asset: None,
        counts: convert::Counts::default(),
        bytes: 0,
        seconds,
        findings: BTreeMap::new(),
        message: None,
        used: Vec::new(),
        finished: now.map(|now| now.as_secs_f64()).unwrap_or_default(),
    };
    let (found, used) = match result {
        Ok(report) => {
            row.status = match report.status {
                convert::Status::Ok => Status::Ok,
                convert::Status::Warnings => Status::Warnings,
                convert::Status::Errors => Status::Errors,
            };
            row.asset = Some(Path::new(ASSETS).join(&item.key).join(&report.name));
            row.robot = Some(report.robot);
            row.counts = report.counts;
            row.bytes = report.files.iter().map(|file| file.bytes).sum();
            (report.diagnostics, report.used)
        }
        Err(failure) => {
            let has = |code: &urdf_usd_diagnostic::Code| {
                failure
                    .diagnostics
                    .iter()
                    .any(|found| found.code == code.id)
            };
            row.status = if has(&codes::TIMED_OUT) {
                Status::TimedOut
            } else if has(&codes::OUT_OF_MEMORY) {
                Status::OutOfMemory
            } else if has(&codes::CRASHED) {
                Status::Crashed
            } else {
                Status::Failed
            };
            (failure.diagnostics, failure.used)
        }
    };
    for one in &found {
        *row.findings.entry(one.code.to_string()).or_default() += 1;
    }
    row.message = found
        .iter()
        .find(|one| one.severity == Severity::Error)
        .map(Diagnostic::to_sentence);
    let mut used: Vec<PathBuf> = used;
    used.sort();
    used.dedup();
    row.used = used.into_iter().map(Used::of).collect();
    (row, found)
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
