//! States of files, compared by metadata without reading them.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Resolution of the coarsest timestamps of file systems (FAT).
pub const TIMESTAMP_RESOLUTION: Duration = Duration::from_secs(2);

/// States of files at some time, and the targets of paths with symbolic links resolved, if they
/// mattered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct States(Vec<(PathBuf, State)>, Vec<(PathBuf, Option<PathBuf>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Absent,
    Folder,
    File {
        bytes: u64,
        inode: u64,
        /// Seconds and nanoseconds.
        modified: (i64, i64),
        /// The same for metadata (ctime), which also changes if the modification time is set back.
        changed: (i64, i64),
    },
    /// Changed while it was read, or not accessible: nothing can be concluded.
    Unsure,
}

impl State {
    fn read(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(meta) => Self::from(&meta),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Self::Absent
            }
            Err(_) => Self::Unsure,
        }
    }
}

impl From<&Metadata> for State {
    fn from(meta: &Metadata) -> Self {
        if meta.is_dir() {
            // Without times: they change with every entry, and entries that matter have states.
            return Self::Folder;
        }
        Self::File {
            bytes: meta.len(),
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Returns an identifier of the file's present content: its path and metadata, the criterion of
/// make and git. `None` if the file changed so recently that a further change might not alter its
/// times.
pub(super) fn stamp(path: &Path, meta: &Metadata) -> Option<String> {
    let (state, now) = (State::from(meta), SystemTime::now());
    (!state.is_young(now - TIMESTAMP_RESOLUTION, now)).then(|| format!("{path:?} {state:?}"))
}

impl State {
    /// Returns whether the file was changed, moved or replaced between `since` and `now`, by its
    /// own times. Times in the future are ignored: they prove nothing, and the file would stay
    /// unreliable for as long.
    fn is_young(&self, since: SystemTime, now: SystemTime) -> bool {
        let Self::File {
            modified, changed, ..
        } = self
        else {
            return false;
        };
        let time = |(seconds, nanoseconds): (i64, i64)| {
            let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
            SystemTime::UNIX_EPOCH
                + seconds
                + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default())
        };
        [*modified, *changed]
            .map(time)
            .iter()
            .any(|time| (since..=now).contains(time))
    }
}

impl States {
    /// Returns the states of `paths`, which were read from `started` on. Files that may have
    /// changed meanwhile are marked as unreliable.
    pub fn snapshot<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, started: SystemTime) -> Self {
        Self::now(paths).since(started)
    }

    /// Returns the present states of `paths`.
    pub fn now<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self(
            paths
                .into_iter()
                .map(|path| (path.clone(), State::read(path)))
                .collect(),
            Vec::new(),
        )
    }

    /// Adds paths and their targets with symbolic links resolved; `None` if a path does not exist.
    pub(super) fn with_real(
        mut self,
        real: impl IntoIterator<Item = (PathBuf, Option<PathBuf>)>,
    ) -> Self {
        self.1.extend(real);
        self
    }

    /// Marks files as unreliable that may have changed from `since` on, by their times or by their
    /// present state.
    pub(super) fn since(mut self, since: SystemTime) -> Self {
        let now = SystemTime::now();
        for (path, state) in &mut self.0 {
            if state.is_young(since, now) || State::read(path) != *state {
                *state = State::Unsure;
            }
        }
        self
    }

    /// Leaves out files that were written to in place after the states `before`.
    #[must_use]
    pub fn without_written_since(mut self, before: &Self) -> Self {
        let is_written = |(path, now): &(PathBuf, State)| {
            let was = before
                .0
                .iter()
                .find(|(known, _)| known == path)
                .map(|(_, state)| *state);
            // Publication replaces a file or links it unchanged. If its inode stays while its
            // length or time changes, another program wrote to it.
            match (was, *now) {
                (
                    Some(State::File {
                        bytes,
                        inode,
                        modified,
                        ..
                    }),
                    State::File {
                        bytes: bytes_now,
                        inode: inode_now,
                        modified: modified_now,
                        ..
                    },
                ) => inode == inode_now && (bytes, modified) != (bytes_now, modified_now),
                _ => false,
            }
        };
        self.0.retain(|state| !is_written(state));
        self
    }

    /// Returns whether all states are reliable.
    pub fn are_reliable(&self) -> bool {
        self.0.iter().all(|(_, state)| *state != State::Unsure)
    }

    /// Returns whether the state of `path` is known, reliable and unchanged.
    pub fn is_unchanged(&self, path: &Path) -> bool {
        let known = self.0.iter().find(|(known, _)| known == path);
        known.is_some_and(|(_, state)| *state != State::Unsure && State::read(path) == *state)
    }

    /// Returns whether all states are reliable and unchanged.
    pub fn are_unchanged(&self) -> bool {
        self.are_reliable()
            && self
                .0
                .iter()
                .all(|(path, state)| State::read(path) == *state)
            && self
                .1
                .iter()
                .all(|(path, real)| path.canonicalize().ok() == *real)
    }
}

/// States of paths, each from when it was first examined.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<PathBuf, State>);

impl Seen {
    pub fn note(&mut self, path: &Path) {
        if !self.0.contains_key(path) {
            self.0.insert(path.to_owned(), State::read(path));
        }
    }

    pub fn states(&self) -> States {
        States(
            self.0
                .iter()
                .map(|(path, state)| (path.clone(), *state))
                .collect(),
            Vec::new(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::States;

    #[test]
    fn files_written_in_place_are_left_out_but_not_replaced_ones() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, written, replaced, new] =
            ["kept", "written", "replaced", "new"].map(|name| folder.path().join(name));
        for path in [&kept, &written, &replaced] {
            fs::write(path, "one").unwrap();
        }
        let paths = [kept, written, replaced, new];
        let before = States::now(&paths);
        fs::write(&paths[1], "other").unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::rename(&other, &paths[2]).unwrap();
        fs::write(&paths[3], "other").unwrap();
        let now = States::now(&paths).without_written_since(&before);
        assert_eq!(
            paths.each_ref().map(|path| now.is_unchanged(path)),
            [true, false, true, true]
        );
    }
}
