//! In what state files are, and whether they still are: told by what the file system says of them,
//! without reading them.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// How coarsely file systems note times, the coarsest of them.
pub const COARSE: Duration = Duration::from_secs(2);

/// The states of files at some time; and where paths led to then, symbolic links resolved, if that
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
        /// The same for what is known of the file: a time that somebody set shows here.
        changed: (i64, i64),
    },
    /// What was read of it can't be told.
    Unsure,
}

impl State {
    fn of(path: &Path) -> Self {
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

/// What tells the content of a file from others that it may have had: its path and state, by which
/// make and git go too. `None` if it changed so lately that another change might not show.
pub(super) fn stamp(path: &Path, meta: &Metadata) -> Option<String> {
    let (state, now) = (State::from(meta), SystemTime::now());
    (!state.is_young(now - COARSE, now)).then(|| format!("{path:?} {state:?}"))
}

impl State {
    /// Whether the file was changed, moved or replaced from `since` to `now`, by what it says
    /// itself. A time in the future proves nothing, and would never come to rest.
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
    /// The states of `paths`, which were read from `started` on. Files that may have changed
    /// meanwhile are in no state to rely on.
    pub fn take<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, started: SystemTime) -> Self {
        Self::now(paths).since(started)
    }

    /// The states of `paths` as they are.
    pub fn now<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self(
            paths
                .into_iter()
                .map(|path| (path.clone(), State::of(path)))
                .collect(),
            Vec::new(),
        )
    }

    /// The same with paths and where they are, symbolic links resolved; `None` where there is
    /// nothing.
    pub(super) fn with_real(
        mut self,
        real: impl IntoIterator<Item = (PathBuf, Option<PathBuf>)>,
    ) -> Self {
        self.1.extend(real);
        self
    }

    /// The same, but for what may have changed from `since` on, by the times of files or by what
    /// they are now.
    pub(super) fn since(mut self, since: SystemTime) -> Self {
        let now = SystemTime::now();
        for (path, state) in &mut self.0 {
            if state.is_young(since, now) || State::of(path) != *state {
                *state = State::Unsure;
            }
        }
        self
    }

    /// The same without files that were written to since they were in the states `before`.
    #[must_use]
    pub fn unless_written_since(mut self, before: &Self) -> Self {
        let is_written = |(path, now): &(PathBuf, State)| {
            let was = before
                .0
                .iter()
                .find(|(known, _)| known == path)
                .map(|(_, state)| *state);
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

    /// Whether they can be relied on.
    pub fn are_sure(&self) -> bool {
        self.0.iter().all(|(_, state)| *state != State::Unsure)
    }

    /// Whether `path` is among them and is what it was, and that is sure.
    pub fn holds(&self, path: &Path) -> bool {
        let known = self.0.iter().find(|(known, _)| known == path);
        known.is_some_and(|(_, state)| *state != State::Unsure && State::of(path) == *state)
    }

    /// Whether they are what they were, and that is sure.
    pub fn hold(&self) -> bool {
        self.are_sure()
            && self.0.iter().all(|(path, state)| State::of(path) == *state)
            && self
                .1
                .iter()
                .all(|(path, real)| path.canonicalize().ok() == *real)
    }
}

/// The states of paths when each was first looked at.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<PathBuf, State>);

impl Seen {
    pub fn note(&mut self, path: &Path) {
        if !self.0.contains_key(path) {
            self.0.insert(path.to_owned(), State::of(path));
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
    fn what_was_written_to_since_is_left_out_and_what_took_its_place_is_not() {
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
        let now = States::now(&paths).unless_written_since(&before);
        assert_eq!(
            paths.each_ref().map(|path| now.holds(path)),
            [true, false, true, true]
        );
    }
}
