//! The journal of a batch: a row of JSON for each finished robot, appended as it finishes.
//!
//! A row that was not written whole, because the process was killed or the disk was full, is cut off.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use urdf_usd_convert::Counts;
use urdf_usd_diagnostic::{Diagnostic, Place};

use crate::codes::{self, JOURNAL, STOPPED};

/// The folder of the journals in that of the batch.
const FOLDER: &str = "journal";

/// The outcome of a robot's conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Converted without findings.
    Ok,
    /// Converted with warnings.
    Warnings,
    /// Converted in part, with errors.
    Errors,
    /// Not converted: nothing was written.
    Failed,
    /// Not converted within the time limit.
    TimedOut,
    /// Not converted within the memory limit.
    OutOfMemory,
    /// The worker process ended by a fault of the program.
    Crashed,
}

impl Status {
    /// Returns whether the robot has an asset without errors.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Ok | Self::Warnings)
    }

    /// Returns the words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warnings => "with warnings",
            Self::Errors => "with errors",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "out of memory",
            Self::Crashed => "crashed",
        }
    }
}

/// A finished robot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name in the batch.
    pub key: String,
    /// The absolute path of the description, or its address.
    #[serde(serialize_with = "lossy")]
    pub source: PathBuf,
    /// The hash of the inputs: description, arguments, options, version of the program. Meshes and
    /// included files are no part of it.
    pub inputs: String,
    /// The result.
    pub status: Status,
    /// The robot's name; `None` if it was not converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robot: Option<String>,
    /// The asset's folder in that of the batch; `None` without an asset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// Numbers of the robot's elements.
    #[serde(default)]
    pub counts: Counts,
    /// Size of the asset's files, in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Numbers of findings by code.
    #[serde(default)]
    pub findings: BTreeMap<String, usize>,
    /// The first error, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// All files that the conversion read or looked for, with their states. The report omits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<Used>,
    /// Time of the end, in seconds since 1970.
    pub finished: f64,
    /// The picture of an asset in an object store: its path in the batch's folder.
    #[serde(skip)]
    pub picture: Option<String>,
}

/// Writes a path, of which JSON can't hold every one.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The state of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Size in bytes and time of the last change in nanoseconds since 1970; `None` if it does not
    /// exist. The time is 0 for a file that changed while it was in use.
    pub state: Option<(u64, u64)>,
}

impl Used {
    /// Returns the state of a file that was in use from `started` on.
    pub fn since(path: PathBuf, started: SystemTime) -> Self {
        let mut used = Self::of(path);
        let started = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        if let Some((_, changed)) = &mut used.state
            && u128::from(*changed) >= started.as_nanos()
        {
            *changed = 0;
        }
        used
    }

    fn of(path: PathBuf) -> Self {
        let state = fs::metadata(&path).ok().map(|meta| {
            let changed = meta.modified().ok();
            let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let nanoseconds = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
            (meta.len(), nanoseconds.unwrap_or_default())
        });
        Self { path, state }
    }

    /// Returns whether the file is as it was.
    pub fn is_current(&self) -> bool {
        Self::of(self.path.clone()) == *self
    }
}

/// The journal of a shard, which one process writes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Locked until it is closed.
    file: File,
    /// Length of the whole rows.
    length: u64,
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Diagnostic {
    let message = format!("{what}: {error}");
    Diagnostic::new(codes::of(error), Place::file(path), message)
        .help("make room or the folder writable, then run the command again: it goes on from here")
}

impl Journal {
    /// Opens the journal of the shard with this label in a batch's folder.
    ///
    /// # Errors
    /// If it can't be written, or another process does.
    pub fn open(folder: &Path, label: &str) -> Result<Self, Diagnostic> {
        let path = folder.join(FOLDER).join(format!("{label}.jsonl"));
        let opened = fs::create_dir_all(folder.join(FOLDER)).and_then(|()| {
            let mut options = OpenOptions::new();
            options
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)
        });
        let mut file = opened.map_err(|error| failed(&path, "it can't be opened", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = "another process converts this shard of the batch";
                return Err(Diagnostic::new(&STOPPED, Place::file(&path), message)
                    .help("wait until it has ended, or give each process another --shard"));
            }
            Err(TryLockError::Error(error)) => {
                return Err(failed(&path, "it can't be locked", &error));
            }
        }
        let mut content = Vec::new();
        let whole = file.read_to_end(&mut content).and_then(|_| {
            let end = content
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            file.set_len(end as u64)?;
            file.seek(SeekFrom::Start(end as u64))
        });
        let length = whole.map_err(|error| failed(&path, "it can't be read", &error))?;
        Ok(Self { path, file, length })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If it can't be written; then nothing of it is.
    pub fn append(&mut self, row: &Row) -> Result<(), Diagnostic> {
        let mut line = serde_json::to_vec(row)
            .map_err(|error| failed(&self.path, "a row can't be written", &error.into()))?;
        line.push(b'\n');
        let written = self.file.write_all(&line);
        if let Err(error) = written {
            // The next run would cut it off, too.
            let _ = self
                .file
                .set_len(self.length)
                .and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(failed(&self.path, "a row can't be written", &error));
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Returns the last row of each robot in all journals of a batch, by key; with the files that were
/// used only if `has_used`, since these are the most of it.
///
/// # Errors
/// If a journal can't be read, or has a line that is no row.
pub fn read(folder: &Path, has_used: bool) -> Result<BTreeMap<String, Row>, Diagnostic> {
    let folder = folder.join(FOLDER);
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let files = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(rows),
        files => files.map_err(|error| failed(&folder, "it can't be read", &error))?,
    };
    let mut paths: Vec<PathBuf> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    paths.sort();
    for path in paths {
        let unreadable = |error: io::Error| failed(&path, "it can't be read", &error);
        let mut file = BufReader::new(File::open(&path).map_err(unreadable)?);
        let (mut line, mut number) = (Vec::new(), 0);
        // A row that is being written has no end yet.
        while file.read_until(b'\n', &mut line).map_err(unreadable)? > 0 && line.ends_with(b"\n") {
            number += 1;
            let mut row: Row = serde_json::from_slice(&line).map_err(|error| {
                let place = Place {
                    line: number,
                    ..Place::file(&path)
                };
                let message = format!("the row can't be read: {error}");
                Diagnostic::new(&JOURNAL, place, message)
                    .help("delete the line: its robot is then converted again")
            })?;
            line.clear();
            if !has_used {
                row.used = Vec::new();
            }
            let is_newer = rows
                .get(&row.key)
                .is_none_or(|other| row.finished >= other.finished);
            if is_newer {
                rows.insert(row.key.clone(), row);
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(key: &str, status: Status, finished: f64) -> Row {
        Row {
            key: key.to_owned(),
            source: PathBuf::from(format!("{key}.urdf")),
            inputs: "0".to_owned(),
            status,
            robot: None,
            asset: None,
            counts: Counts::default(),
            bytes: 0,
            seconds: 1.0,
            findings: BTreeMap::new(),
            message: None,
            used: Vec::new(),
            finished,
            picture: None,
        }
    }

    #[test]
    fn a_row_that_is_not_whole_is_cut_off_and_the_last_of_a_robot_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), "1-of-2").expect("new");
        journal.append(&row("a", Status::Failed, 1.0)).unwrap();
        journal.append(&row("a", Status::Ok, 2.0)).unwrap();
        let second = Journal::open(folder.path(), "1-of-2").expect_err("locked");
        assert!(
            second.message.contains("another process"),
            "{}",
            second.message
        );
        drop(journal);
        let path = folder.path().join("journal/1-of-2.jsonl");
        let mut torn = fs::read(&path).unwrap();
        torn.extend(b"{\"key\": \"b\", \"sou");
        fs::write(&path, torn).unwrap();
        assert_eq!(read(folder.path(), true).expect("valid").len(), 1);
        Journal::open(folder.path(), "1-of-2")
            .expect("cut")
            .append(&row("b", Status::Ok, 3.0))
            .unwrap();
        Journal::open(folder.path(), "2-of-2")
            .expect("new")
            .append(&row("a", Status::Crashed, 0.5))
            .unwrap();
        let rows = read(folder.path(), true).expect("valid");
        let states: Vec<_> = rows
            .values()
            .map(|row| (row.key.as_str(), row.status))
            .collect();
        assert_eq!(states, [("a", Status::Ok), ("b", Status::Ok)]);
        fs::write(&path, "{}\n").unwrap();
        assert_eq!(read(folder.path(), true).expect_err("no row").place.line, 1);
    }
}
