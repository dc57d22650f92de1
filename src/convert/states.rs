//! In what state files are, and whether they still are: told by what the file system says of them, without reading them.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// The states of files at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct States(Vec<(PathBuf, State)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Absent,
    Folder,
    File {
        bytes: u64,
        inode: u64,
        /// Seconds and nanoseconds.
        modified: (i64, i64),
        /// The same for what is known of the file: a time that somebody set shows here.
        changed: (i64, i64),
    },
    /// What was read of it can't be told.
    Unsure,
}

impl State {
    fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Self::Folder,
            Ok(meta) => Self::File {
                bytes: meta.len(),
                inode: meta.ino(),
                modified: (meta.mtime(), meta.mtime_nsec()),
                changed: (meta.ctime(), meta.ctime_nsec()),
            },
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Self::Absent,
            Err(_) => Self::Unsure,
        }
    }
}

impl States {
    /// The states of `paths`, which were read from `started` on. Files that may have changed meanwhile are in no state to rely on;
    /// `margin` is how exact the file system's times are.
    pub fn take<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, started: SystemTime, margin: Duration) -> Self {
        let now = SystemTime::now();
        let is_young = |path: &Path| {
            let modified = fs::metadata(path).and_then(|meta: Metadata| meta.modified());
            // A time in the future proves nothing, and would never come to rest.
            modified.is_ok_and(|modified| modified + margin >= started && modified <= now)
        };
        let state = |path: &PathBuf| match State::of(path) {
            State::File { .. } if is_young(path) => State::Unsure,
            state => state,
        };
        Self(paths.into_iter().map(|path| (path.clone(), state(path))).collect())
    }

    /// The states of `paths` as they are.
    pub fn now<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), State::of(path))).collect())
    }

    /// Whether they can be relied on.
    pub fn are_sure(&self) -> bool {
        self.0.iter().all(|(_, state)| *state != State::Unsure)
    }

    /// Whether they are what they were, and that is sure.
    pub fn hold(&self) -> bool {
        self.are_sure() && self.0.iter().all(|(path, state)| State::of(path) == *state)
    }
}
