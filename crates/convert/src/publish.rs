//! Puts a revision in the place of the last one, whole or not at all.
//!
//! A revision is staged in a directory of its own beside the asset's and takes its place in one step of the file system
//! (`renameat2` with exchange). A kill at any instant leaves the last whole revision; what it may leave beside it is cleared away
//! by the next publication. Files whose content did not change are hard links to the last revision's, so they keep their
//! modification time. This module knows files and bytes, nothing of what is in them.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// The files of a revision: relative paths with forward slashes, and contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// An operation on a path that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct Error {
    /// What was tried: `create`, `write`.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// Adds the action and the path to an I/O error.
fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + use<'a> {
    move |source| Error { action, path: path.to_owned(), source }
}

/// The place of one robot's asset, locked against other writers until dropped.
pub(super) struct Slot {
    parent: PathBuf,
    name: String,
    // Held for its lock; the file itself is never removed, or two writers could hold locks on two files of one name.
    _lock: File,
}

impl Slot {
    /// Makes `parent` if need be, waits until no other process writes this asset, and clears away what a killed one left.
    pub(super) fn lock(parent: &Path, name: &str) -> Result<Self, Error> {
        // A file where the directory should be: the operating system's word for it, "file exists", helps nobody.
        let blocking = parent.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir());
        if let Some(file) = blocking {
            return Err(at("make a directory of", file)(io::ErrorKind::NotADirectory.into()));
        }
        fs::create_dir_all(parent).map_err(at("create", parent))?;
        let path = parent.join(format!(".{name}.lock"));
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(at("write", &path))?;
        lock.lock().map_err(at("lock", &path))?;
        let slot = Self { parent: parent.to_owned(), name: name.to_owned(), _lock: lock };
        for leftover in [slot.staging(), slot.retired()] {
            remove(&leftover)?;
        }
        Ok(slot)
    }

    /// Where the asset is.
    pub(super) fn directory(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    fn staging(&self) -> PathBuf {
        self.parent.join(format!(".{}.staging", self.name))
    }

    fn retired(&self) -> PathBuf {
        self.parent.join(format!(".{}.retired", self.name))
    }

    /// Whether the published revision holds exactly `files` beside `extra` (and whatever else people put there).
    pub(super) fn holds(&self, files: &Files, previous: &[String]) -> bool {
        previous.len() == files.len()
            && previous.iter().all(|path| files.contains_key(path))
            && files.iter().all(|(path, bytes)| same(&self.directory().join(path), bytes))
    }

    /// Publishes `files` as the asset. `previous` names the files of the last revision: those that are not in `files` go;
    /// everything else that stands in the directory was put there by people and stays.
    pub(super) fn publish(&self, files: &Files, previous: &[String]) -> Result<(), Error> {
        let (directory, staging) = (self.directory(), self.staging());
        fs::create_dir(&staging).map_err(at("create", &staging))?;
        let ours: HashSet<&str> = previous.iter().map(String::as_str).chain(files.keys().map(String::as_str)).collect();
        keep_others(&directory, &staging, &ours)?;
        for (path, bytes) in files {
            let (old, new) = (directory.join(path), staging.join(path));
            if let Some(folder) = new.parent() {
                fs::create_dir_all(folder).map_err(at("create", folder))?;
            }
            if same(&old, bytes) && fs::hard_link(&old, &new).is_ok() {
                continue;
            }
            fs::write(&new, bytes).map_err(at("write", &new))?;
        }
        self.take_over()
    }

    fn take_over(&self) -> Result<(), Error> {
        let (directory, staging) = (self.directory(), self.staging());
        match renameat_with(CWD, &staging, CWD, &directory, RenameFlags::EXCHANGE) {
            Ok(()) => return remove(&staging),
            Err(rustix::io::Errno::NOENT) => return fs::rename(&staging, &directory).map_err(at("create", &directory)),
            // Not every file system can exchange: there, a reader may for an instant find no asset.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(at("replace", &directory)(error.into())),
        }
        let retired = self.retired();
        fs::rename(&directory, &retired).map_err(at("replace", &directory))?;
        fs::rename(&staging, &directory).map_err(at("replace", &directory))?;
        remove(&retired)
    }
}

/// Whether the file holds exactly these bytes.
fn same(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64)
        && fs::read(path).is_ok_and(|old| old == bytes)
}

/// Hard-links into `staging` whatever stands in `directory` and is not ours, however deep.
fn keep_others(directory: &Path, staging: &Path, ours: &HashSet<&str>) -> Result<(), Error> {
    let mut folders = vec![(directory.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(at("read", &folder)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(at("read", &folder))?;
            let relative = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let (from, to) = (entry.path(), staging.join(&relative));
            let kind = entry.file_type().map_err(at("read", &from))?;
            if kind.is_dir() {
                folders.push((from, format!("{relative}/")));
            } else if !ours.contains(relative.as_str()) {
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder).map_err(at("create", folder))?;
                }
                fs::hard_link(&from, &to).map_err(at("keep", &from))?;
            }
        }
    }
    Ok(())
}

fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at("remove", directory)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Slot};
    use std::fs;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_revision_replaces_the_last_and_keeps_what_is_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        let slot = Slot::lock(parent.path(), "arm").unwrap();
        let first = files(&[("arm.usda", "one"), ("textures/a.png", "same"), ("gone.usda", "x")]);
        slot.publish(&first, &[]).unwrap();
        let texture = slot.directory().join("textures/a.png");
        let written = fs::metadata(&texture).unwrap().modified().unwrap();
        fs::write(slot.directory().join("notes.txt"), "mine").unwrap();
        let previous: Vec<String> = first.keys().cloned().collect();
        assert!(slot.holds(&first, &previous));

        let second = files(&[("arm.usda", "two"), ("textures/a.png", "same")]);
        assert!(!slot.holds(&second, &previous));
        slot.publish(&second, &previous).unwrap();
        assert_eq!(fs::read_to_string(slot.directory().join("arm.usda")).unwrap(), "two");
        assert_eq!(fs::metadata(&texture).unwrap().modified().unwrap(), written);
        assert!(!slot.directory().join("gone.usda").exists());
        assert_eq!(fs::read_to_string(slot.directory().join("notes.txt")).unwrap(), "mine");
    }

    #[test]
    fn what_a_killed_writer_left_is_cleared_away() {
        let parent = tempfile::tempdir().unwrap();
        let left = Slot::lock(parent.path(), "arm").unwrap().staging();
        fs::create_dir(&left).unwrap();
        fs::write(left.join("half"), "…").unwrap();
        let slot = Slot::lock(parent.path(), "arm").unwrap();
        assert!(!left.exists());
        slot.publish(&files(&[("arm.usda", "one")]), &[]).unwrap();
        assert_eq!(fs::read_dir(slot.directory()).unwrap().count(), 1);
    }
}
