//! Publishes a revision of an asset atomically.
//!
//! A revision is staged in a directory beside the asset's, and replaces it in one operation of the
//! file system (`renameat2` with `RENAME_EXCHANGE`). Renaming alone would not do: it can't replace
//! a directory that is not empty, and two renames leave a moment without an asset. A process that
//! is killed at any time leaves the last complete revision; the next publication cleans up the
//! rest. Unchanged files are hard links to the last revision's, so they keep their modification
//! times and cost no writing; without support for hard links they are copied.
//!
//! Files that users put into the directory are linked into the new revision before it replaces the
//! last one. Files that they save meanwhile follow afterwards: the replaced directory is emptied
//! entry by entry, and nothing is deleted that is not known to be in the new one. This module knows
//! only files and bytes, not their meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File, FileTimes, FileType, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rayon::prelude::*;
use rustix::fs::{
    CWD, RenameFlags, XattrFlags, getxattr, listxattr, removexattr, renameat_with, setxattr,
};
use serde::{Deserialize, Serialize};

use super::REPORT;
use urdf_usd_resolve::{Opened, States};
use urdf_usd_robot::CacheEvicted;
use urdf_usd_store::Content;

/// Maximum number of times that the replaced directory is emptied because files were saved into it
/// meanwhile.
const MAX_PASSES: usize = 10;
/// Maximum size in Linux of the list of a file's extended attributes, and of each value, in bytes.
const MAX_XATTR_BYTES: usize = 64 << 10;
/// Number of bytes of two files that are compared at a time.
const COMPARED_BYTES: usize = 128 << 10;
/// Length from which the space of a file is reserved before it is written, and freed after its removal, in bytes.
const LARGE_BYTES: u64 = 1 << 20;
/// Maximum number of removed files whose space is freed later: each takes a descriptor.
const MAX_HELD: usize = 16;
/// Permissions that the owner needs to work in a folder.
const OWNER_RWX: u32 = 0o700;

/// The files of a revision: relative paths with forward slashes, and contents.
pub(super) type Files = BTreeMap<String, Content>;

/// Cached knowledge about the files of the published revision, valid without reading them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// SHA-256 of each file in lower-case hex, by relative path; valid …
    pub sha256: BTreeMap<String, String>,
    /// … while the files have these states.
    pub states: States,
}

impl Known {
    /// Returns whether the file at `path`, `relative` in the asset, is known to have this
    /// `content`.
    fn has_content(&self, path: &Path, relative: &str, content: &Content) -> bool {
        let known = self.sha256.get(relative).map(String::as_str);
        known.is_some() && known == content.known_sha256() && self.states.is_unchanged(path)
    }
}

/// System calls of Linux that save time and nothing else, so that errors don't matter.
#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fstatfs, open};

    /// The type of file systems in memory (statfs(2)): each page would be cleared before it is written.
    const TMPFS: i64 = 0x0102_1994;

    /// Reserves space of a file that is about to be written. If ext4 finds it block by block while writing, 10 MB
    /// take 2.1 ms (6 in one of ten cases) instead of 1.4 (1.5).
    pub(super) fn reserve(file: &File, length: u64) {
        if fstatfs(file).is_ok_and(|system| system.f_type != TMPFS) {
            let _ = fallocate(file, FallocateFlags::empty(), 0, length);
        }
    }

    /// Keeps the space of a file until the result is dropped, without opening the file: it may be a pipe.
    pub(super) fn hold(path: &Path) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        open(path, flags, Mode::empty()).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::path::Path;

    pub(super) fn reserve(_: &File, _: u64) {}

    pub(super) fn hold(_: &Path) -> Option<File> {
        None
    }
}

/// Returns the bytes of `content` in chunks. An error wraps a [`CacheEvicted`].
fn chunks(content: &Content) -> impl Iterator<Item = io::Result<Bytes>> {
    content
        .chunks()
        .map(|chunk| chunk.ok_or_else(|| io::Error::other(CacheEvicted)))
}

/// Separates failures of the cache from those of a file.
///
/// # Errors
/// Returns the [`CacheEvicted`] that `error` wraps, if it does.
pub(super) fn unless_evicted(error: &io::Error) -> Result<(), CacheEvicted> {
    let evicted = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<CacheEvicted>());
    evicted.map_or(Ok(()), |evicted| Err(*evicted))
}

/// Writes `content` to a file.
///
/// # Errors
/// Fails if writing does, or if `content` is no longer in the cache ([`unless_evicted`]).
pub(super) fn write(content: &Content, path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    if content.length() >= LARGE_BYTES {
        system::reserve(&file, content.length());
    }
    chunks(content).try_for_each(|chunk| file.write_all(&chunk?))
}

/// Returns whether the file consists of exactly these bytes.
///
/// # Errors
/// If `content` is no longer in the cache.
pub(super) fn file_equals(content: &Content, path: &Path) -> Result<bool, CacheEvicted> {
    if !fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.len() == content.length())
    {
        return Ok(false);
    }
    begins_with(path, content).or_else(|error| unless_evicted(&error).map(|()| false))
}

/// Returns whether the file begins with these bytes. It is read in steps, because most differences
/// are near the beginning.
fn begins_with(path: &Path, content: &Content) -> io::Result<bool> {
    let (mut file, mut read) = (Opened::at(path)?.file, vec![0; COMPARED_BYTES]);
    for chunk in chunks(content) {
        for bytes in chunk?.chunks(COMPARED_BYTES) {
            let Some(read) = read.get_mut(..bytes.len()) else {
                return Ok(false);
            };
            file.read_exact(read)?;
            if read != bytes {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// An operation on a path that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct Error {
    /// The operation: `create`, `write`.
    pub action: &'static str,
    /// The path that it failed for.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl Error {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::StorageFull => {
                "the disk is full: free some space, or choose an output directory on another disk; the new revision was discarded"
            }
            io::ErrorKind::QuotaExceeded => {
                "your disk quota is exhausted: free some space, or choose an output directory on another disk"
            }
            io::ErrorKind::FileTooLarge => {
                "the file system or a limit of the process (ulimit -f) does not allow a file of this size: choose another output directory, \
                 or raise the limit"
            }
            _ => "choose another output directory, or make this one writable",
        }
    }
}

/// Adds the action and the path to an I/O error.
fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + use<'a> {
    move |source| Error {
        action,
        path: path.to_owned(),
        source,
    }
}

/// The paths that belong to an asset, relative to its directory. All others in the directory belong
/// to users.
struct AssetPaths<'a> {
    files: HashSet<&'a Path>,
    folders: HashSet<&'a Path>,
}

impl<'a> AssetPaths<'a> {
    fn new(files: impl Iterator<Item = &'a str>) -> Self {
        let files: HashSet<&Path> = files.map(Path::new).collect();
        let folders = files
            .iter()
            .flat_map(|file| file.ancestors().skip(1))
            .collect();
        Self { files, folders }
    }
}

/// Files and folders of users that were carried over into the new revision, by relative path.
#[derive(Default)]
struct CarriedOver {
    files: HashMap<PathBuf, Stamp>,
    folders: HashSet<PathBuf>,
}

/// Identifies a file and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    /// Time of modification, in seconds and nanoseconds.
    modified: (i64, i64),
}

impl Stamp {
    /// Reads the stamp of the file at `path`; `None` if there is none.
    fn read(path: &Path) -> Result<Option<Self>, Error> {
        match fs::symlink_metadata(path) {
            Ok(meta) => {
                let modified = (meta.mtime(), meta.mtime_nsec());
                Ok(Some(Self {
                    inode: meta.ino(),
                    bytes: meta.len(),
                    modified,
                }))
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(at("read", path)(error)),
        }
    }
}

/// Returns the names of assets in `parent` that have staging directories, left by an active or a
/// killed writer.
pub(super) fn interrupted(parent: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix('.')?;
        name.strip_suffix(".staging")
            .or_else(|| name.strip_suffix(".retired"))
            .map(str::to_owned)
    });
    names.collect()
}

/// The directory of one robot's asset, locked against other writers until dropped.
pub(super) struct Slot {
    parent: PathBuf,
    name: String,
    /// Cached knowledge about the published files.
    known: Known,
    /// Creates a hard link; replaced in tests.
    link: fn(&Path, &Path) -> io::Result<()>,
    // Held until the slot is dropped.
    _lock: Lock,
}

/// The lock file beside an asset.
///
/// The writer that holds the lock deletes the file. After locking a file, a writer checks that the
/// path still refers to it, so no two writers can hold locks on different files of one name.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks the file at `path`, which is created if necessary, by `lock`.
    fn acquire(path: PathBuf, lock: impl Fn(&File) -> io::Result<()>) -> io::Result<Self> {
        loop {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            lock(&file)?;
            let of = |meta: &Metadata| (meta.dev(), meta.ino());
            match fs::metadata(&path) {
                Ok(meta) if of(&meta) == of(&file.metadata()?) => {
                    return Ok(Self { path, _file: file });
                }
                // Another writer deleted the file before releasing it.
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Slot {
    /// Creates `parent` if necessary, waits for the lock of the asset, and cleans up after a killed
    /// writer.
    ///
    /// `listed` returns the files of the revision in a directory, from its report.
    pub(super) fn lock(
        parent: &Path,
        name: &str,
        listed: impl Fn(&Path) -> Vec<String>,
    ) -> Result<Self, Error> {
        // If a file is in the way of the directory, the system's own message, "file exists", would
        // mislead.
        let blocking = parent
            .ancestors()
            .find(|path| path.exists())
            .filter(|path| !path.is_dir());
        if let Some(file) = blocking {
            return Err(at("make a directory of", file)(
                io::ErrorKind::NotADirectory.into(),
            ));
        }
        fs::create_dir_all(parent).map_err(at("create", parent))?;
        let path = parent.join(format!(".{name}.lock"));
        let lock = Lock::acquire(path.clone(), File::lock).map_err(at("lock", &path))?;
        Self::locked(parent, name, lock, listed)
    }

    /// Locks the slot without waiting; fails with [`io::ErrorKind::WouldBlock`] if another process
    /// holds the lock.
    pub(super) fn try_lock(
        parent: &Path,
        name: &str,
        listed: impl Fn(&Path) -> Vec<String>,
    ) -> Result<Self, Error> {
        let path = parent.join(format!(".{name}.lock"));
        let lock = Lock::acquire(path.clone(), |file| Ok(file.try_lock()?));
        Self::locked(parent, name, lock.map_err(at("lock", &path))?, listed)
    }

    /// Cleans up after a killed writer; the caller holds the lock.
    fn locked(
        parent: &Path,
        name: &str,
        lock: Lock,
        listed: impl Fn(&Path) -> Vec<String>,
    ) -> Result<Self, Error> {
        let link = |from: &Path, to: &Path| fs::hard_link(from, to);
        let slot = Self {
            parent: parent.to_owned(),
            name: name.to_owned(),
            known: Known::default(),
            link,
            _lock: lock,
        };
        // A kill leaves one of three states: an incomplete staging directory, which is deleted; a
        // retired revision without a successor (only where the file system can't exchange), which is
        // restored; or both revisions, where emptying the retired one continues.
        remove(&slot.staging())?;
        let retired = slot.retired();
        if Stamp::read(&retired)?.is_some() {
            if Stamp::read(&slot.directory())?.is_none() {
                // The writer was killed before the new revision was in place.
                fs::rename(&retired, slot.directory()).map_err(at("restore", &retired))?;
            } else {
                let listed = listed(&retired);
                slot.retire(
                    &AssetPaths::new(listed.iter().map(String::as_str)),
                    &CarriedOver::default(),
                )?;
            }
        }
        Ok(slot)
    }

    /// Sets the cached knowledge about the published files.
    pub(super) fn with_known(self, known: Known) -> Self {
        Self { known, ..self }
    }

    /// Returns whether the file `relative` of the published revision has this `content`.
    fn has(&self, relative: &str, content: &Content) -> Result<bool, CacheEvicted> {
        let path = self.directory().join(relative);
        if self.known.has_content(&path, relative, content) {
            Ok(true)
        } else {
            file_equals(content, &path)
        }
    }

    /// Returns the asset's directory.
    pub(super) fn directory(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    fn staging(&self) -> PathBuf {
        self.parent.join(format!(".{}.staging", self.name))
    }

    fn retired(&self) -> PathBuf {
        self.parent.join(format!(".{}.retired", self.name))
    }

    /// Returns whether the published revision consists of exactly `files` (beside files of users).
    ///
    /// # Errors
    /// If the content of a file is no longer in the cache.
    pub(super) fn holds(&self, files: &Files, previous: &[String]) -> Result<bool, CacheEvicted> {
        // Most changes affect small files, so these are compared first.
        let mut smallest_first: Vec<_> = files.iter().collect();
        smallest_first.sort_by_key(|(_, content)| content.length());
        if previous.len() != files.len() || !previous.iter().all(|path| files.contains_key(path)) {
            return Ok(false);
        }
        for (path, content) in smallest_first {
            if !self.has(path, content)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stages a revision of `files` beside the last one.
    ///
    /// `previous` names the files of the last revision; those that are not in `files` are dropped.
    /// All other files in the directory belong to users and are carried over.
    pub(super) fn stage<'a>(
        &'a self,
        files: &'a Files,
        previous: &'a [String],
    ) -> Result<Staged<'a>, Error> {
        self.staged(files, previous).inspect_err(|_| self.abandon())
    }

    /// Deletes a revision that can't be completed: on a full disk, it would occupy the space that
    /// is missing.
    fn abandon(&self) {
        // On failure, the next publication cleans up.
        let _ = remove(&self.staging());
    }

    fn staged<'a>(&'a self, files: &'a Files, previous: &'a [String]) -> Result<Staged<'a>, Error> {
        let directory = self.directory();
        if fs::metadata(&directory).is_ok_and(|there| !there.is_dir()) {
            // A file of the user's, which must not be replaced.
            return Err(at("replace", &directory)(
                io::ErrorKind::NotADirectory.into(),
            ));
        }
        let ours = AssetPaths::new(previous.iter().chain(files.keys()).map(String::as_str));
        let mut made = Vec::new();
        self.make_folder(Path::new(""), &mut made)?;
        let kept = self.carry_over(&ours, &mut made)?;
        for folder in files
            .keys()
            .map(|path| folder_of(path))
            .collect::<BTreeSet<&Path>>()
        {
            self.make_folder(folder, &mut made)?;
        }
        // One file per core at a time: most of the time is spent copying large files to the system.
        let files: Vec<(&String, &Content)> = files.iter().collect();
        // Results are collected first, so that the error returned is the first one by path,
        // whichever thread fails first.
        let put: Vec<Result<(), Error>> = files
            .into_par_iter()
            .with_max_len(1)
            .map(|(path, content)| self.put(path, content))
            .collect();
        put.into_iter().collect::<Result<(), Error>>()?;
        Ok(Staged {
            slot: self,
            ours,
            kept,
            made,
        })
    }

    /// Adds a file to the new revision, whose folder exists.
    fn put(&self, path: &str, content: &Content) -> Result<(), Error> {
        let (old, new) = (self.directory().join(path), self.staging().join(path));
        let has = self
            .has(path, content)
            .map_err(|evicted| at("write", &new)(io::Error::other(evicted)))?;
        if has && self.link_or_copy(&old, &new) {
            return Ok(());
        }
        write(content, &new).map_err(at("write", &new))
    }

    /// Creates a folder of the new revision and its parents.
    ///
    /// Each gets the mode of the last revision's folder, its owner if permitted, its access control
    /// lists and other extended attributes.
    fn make_folder(&self, relative: &Path, made: &mut Vec<PathBuf>) -> Result<(), Error> {
        let (directory, staging) = (self.directory(), self.staging());
        let above: Vec<&Path> = relative.ancestors().collect();
        for folder in above.into_iter().rev() {
            let path = staging.join(folder);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let old = directory.join(folder);
                    if let Ok(meta) = fs::metadata(&old) {
                        copy_attributes(&old, &meta, &path);
                        // Writable by the owner while it is filled; `finish` sets the final mode.
                        let _ = fs::set_permissions(
                            &path,
                            Permissions::from_mode(meta.mode() | OWNER_RWX),
                        );
                    }
                    made.push(folder.to_owned());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at("create", &path)(error)),
            }
        }
        Ok(())
    }

    /// Carries files of users over into the new revision, at any depth.
    fn carry_over(
        &self,
        ours: &AssetPaths<'_>,
        made: &mut Vec<PathBuf>,
    ) -> Result<CarriedOver, Error> {
        let (directory, staging) = (self.directory(), self.staging());
        let mut kept = CarriedOver::default();
        for (relative, kind) in entries(&directory, false)? {
            if kind.is_dir() {
                // An empty folder of the asset is dropped.
                if !ours.folders.contains(&*relative) && !ours.files.contains(&*relative) {
                    self.make_folder(&relative, made)?;
                    kept.folders.insert(relative);
                }
            } else if !ours.files.contains(&*relative) {
                let (from, to) = (directory.join(&relative), staging.join(&relative));
                self.make_folder(relative.parent().unwrap_or(Path::new("")), made)?;
                // A file that can't be copied either, such as a socket or one without permission to
                // read, is moved after the exchange.
                if self.link_or_copy(&from, &to)
                    && let Some(stamp) = Stamp::read(&to)?
                {
                    kept.files.insert(relative, stamp);
                }
            }
        }
        Ok(kept)
    }

    /// Puts a file at `to` as well: as a hard link, or as a copy if the file system or its rules
    /// forbid that. Returns whether it succeeded.
    fn link_or_copy(&self, from: &Path, to: &Path) -> bool {
        (self.link)(from, to).is_ok()
            || copy(from, to)
                .inspect_err(|_| drop(fs::remove_file(to)))
                .is_ok()
    }

    /// Puts the new revision in place. Returns whether there was one before, which is now retired.
    fn swap_in(&self) -> Result<bool, Error> {
        let (directory, staging, retired) = (self.directory(), self.staging(), self.retired());
        match renameat_with(CWD, &staging, CWD, &directory, RenameFlags::EXCHANGE) {
            // The staging path now holds the last revision, which the next writer would delete
            // there: it is renamed at once.
            Ok(()) => fs::rename(&staging, &retired).map_err(at("replace", &staging))?,
            Err(rustix::io::Errno::NOENT) => {
                fs::rename(&staging, &directory)
                    .inspect_err(|_| self.abandon())
                    .map_err(at("create", &directory))?;
                return Ok(false);
            }
            // Some file systems can't exchange (such as NFS): there, a reader may find no asset
            // for a moment.
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP,
            ) => {
                fs::rename(&directory, &retired).map_err(at("replace", &directory))?;
                if let Err(error) = fs::rename(&staging, &directory) {
                    // If this fails too, the next writer restores the retired revision.
                    let _ = fs::rename(&retired, &directory);
                    return Err(at("replace", &directory)(error));
                }
            }
            Err(error) => {
                self.abandon();
                return Err(at("replace", &directory)(error.into()));
            }
        }
        Ok(true)
    }

    /// Moves files that users saved into the retired revision to the one that replaced it, and
    /// deletes the rest.
    fn retire(&self, ours: &AssetPaths<'_>, kept: &CarriedOver) -> Result<(), Error> {
        let retired = self.retired();
        if fs::symlink_metadata(&retired).is_ok_and(|meta| meta.is_symlink()) {
            // The asset's directory was a symbolic link; its target is the user's, and stays.
            return fs::remove_file(&retired).map_err(at("remove", &retired));
        }
        // Programs may still save here, such as a shell whose working directory it is. Removing the
        // tree at once would lose such files, so each pass moves new ones and then removes only
        // empty folders.
        for _ in 0..MAX_PASSES {
            let folders = self.empty(ours, kept)?;
            if remove_folders(&folders)? {
                return Ok(());
            }
        }
        // Files keep arriving; the next publication continues.
        Ok(())
    }

    /// Empties the retired revision once. Returns its folders, parents first.
    fn empty(&self, ours: &AssetPaths<'_>, kept: &CarriedOver) -> Result<Vec<PathBuf>, Error> {
        let (directory, retired) = (self.directory(), self.retired());
        let (mut folders, mut old) = (vec![retired.clone()], Vec::new());
        for (relative, kind) in entries(&retired, true)? {
            let (from, to) = (retired.join(&relative), directory.join(&relative));
            if kind.is_dir() {
                let is_known =
                    ours.folders.contains(&*relative) || kept.folders.contains(&relative);
                if is_known {
                    folders.push(from);
                } else if !move_unless_there(&from, &to)? {
                    // If the new revision has this folder, its contents are merged into it; if it
                    // has a file of that name, the folder is renamed.
                    if to.is_dir() {
                        folders.push(from);
                    } else {
                        move_unless_there(&from, &free_name(&to))?;
                    }
                }
            } else if ours.files.contains(&*relative) {
                old.push(relative);
            } else {
                move_saved(&from, &to, kept.files.get(&relative))?;
            }
        }
        // The report lists the asset's files, which a writer after a kill needs, so it is deleted
        // last.
        old.sort_by_key(|relative| relative == Path::new(REPORT));
        let mut held = Vec::new();
        for relative in old {
            let path = retired.join(relative);
            let is_held = held.len() < MAX_HELD
                && fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() >= LARGE_BYTES);
            held.extend(is_held.then(|| system::hold(&path)).flatten());
            remove_file(&path)?;
        }
        // The system frees the space of a file when it is closed, which takes 0.1 ms a megabyte.
        if !held.is_empty() {
            rayon::spawn(|| drop(held));
        }
        Ok(folders)
    }
}

/// A revision that is not in place yet.
pub(super) struct Staged<'a> {
    slot: &'a Slot,
    ours: AssetPaths<'a>,
    kept: CarriedOver,
    /// The folders created for it, parents first.
    made: Vec<PathBuf>,
}

impl Staged<'_> {
    /// Adds a file that belongs to this revision or the last one.
    pub(super) fn add(&mut self, path: &str, content: &Content) -> Result<(), Error> {
        let made = self.slot.make_folder(folder_of(path), &mut self.made);
        made.and_then(|()| self.slot.put(path, content))
            .inspect_err(|_| self.slot.abandon())
    }

    /// Replaces the last revision by this one.
    pub(super) fn publish(self) -> Result<(), Error> {
        self.finish();
        if self.slot.swap_in()? {
            self.slot.retire(&self.ours, &self.kept)
        } else {
            Ok(())
        }
    }

    /// Gives its folders the modes of the last revision's, innermost first, because a mode may
    /// remove the owner's permission to write.
    fn finish(&self) {
        for folder in self.made.iter().rev() {
            if let Ok(meta) = fs::metadata(self.slot.directory().join(folder))
                && meta.mode() & OWNER_RWX != OWNER_RWX
            {
                let _ = fs::set_permissions(self.slot.staging().join(folder), meta.permissions());
            }
        }
    }
}

/// Returns the folder of a file, as relative as its path.
fn folder_of(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new(""))
}

/// Moves a user's file from the retired revision to its place in the new one, unless the file there
/// is newer.
///
/// `kept` is the stamp of the file that was carried over.
fn move_saved(from: &Path, to: &Path, kept: Option<&Stamp>) -> Result<(), Error> {
    let Some(now) = Stamp::read(from)? else {
        return Ok(());
    };
    match (Stamp::read(to)?, kept) {
        // Another link to the same file.
        (Some(there), _) if there.inode == now.inode => remove_file(from),
        (Some(_), _) if to.is_dir() => move_unless_there(from, &free_name(to)).map(drop),
        // The file there is older, or a copy made before the exchange.
        (Some(there), Some(kept)) if there == *kept => {
            fs::rename(from, to).map_err(at("move", from))
        }
        (Some(there), None) if there.modified < now.modified => {
            fs::rename(from, to).map_err(at("move", from))
        }
        // A user saved or deleted the file in the new revision after the exchange.
        (Some(_), _) | (None, Some(_)) => remove_file(from),
        (None, None) => move_unless_there(from, to).map(drop),
    }
}

/// Returns a path beside `path` that does not exist.
fn free_name(path: &Path) -> PathBuf {
    let mut free = path.with_added_extension("saved");
    while fs::symlink_metadata(&free).is_ok() {
        free.add_extension("saved");
    }
    free
}

/// Moves a file or folder to a path unless that exists. Returns whether it moved, or found nothing
/// to move.
fn move_unless_there(from: &Path, to: &Path) -> Result<bool, Error> {
    use rustix::io::Errno;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(at("create", folder))?;
    }
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        // The file system has no `RENAME_NOREPLACE`: check and rename are two steps, and a file
        // saved between them is replaced.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if Stamp::read(to)?.is_some() => {
            Ok(false)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(from, to)
            .map(|()| true)
            .map_err(at("move", from)),
        Err(error) => Err(at("move", from)(error.into())),
    }
}

/// Copies a file or symbolic link with its times, mode and extended attributes, and its owner if
/// permitted.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !meta.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    fs::copy(from, to)?;
    copy_attributes(from, &meta, to);
    let times = FileTimes::new()
        .set_accessed(meta.accessed()?)
        .set_modified(meta.modified()?);
    File::open(to)?.set_times(times)?;
    // The mode comes last: a change of owner clears the set-user-ID bits (chown(2)).
    fs::set_permissions(to, meta.permissions())
}

/// Copies the owner and the extended attributes, including access control lists, as far as the
/// system permits.
fn copy_attributes(from: &Path, meta: &Metadata, to: &Path) {
    let is_own = fs::metadata(to).is_ok_and(|to| (to.uid(), to.gid()) == (meta.uid(), meta.gid()));
    // Without the permission to change the owner, the group may still be changed to one of the
    // user's own.
    if !is_own && chown(to, Some(meta.uid()), Some(meta.gid())).is_err() {
        let _ = chown(to, None, Some(meta.gid()));
    }
    let (old, new) = (xattrs(from), xattrs(to));
    // A new file or folder inherits default access control lists (acl(5)) that the original may
    // not have.
    for name in new.iter().filter(|name| !old.contains(name)) {
        let _ = removexattr(to, name.as_slice());
    }
    let mut value = vec![0; if old.is_empty() { 0 } else { MAX_XATTR_BYTES }];
    for name in old {
        if let Ok(length) = getxattr(from, name.as_slice(), value.as_mut_slice())
            && let Some(value) = value.get(..length)
        {
            let _ = setxattr(to, name.as_slice(), value, XattrFlags::empty());
        }
    }
}

/// Returns the names of the extended attributes.
fn xattrs(path: &Path) -> Vec<Vec<u8>> {
    let mut names = vec![0; MAX_XATTR_BYTES];
    let length = listxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default();
    names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns everything in a directory by relative path, at any depth, folders before their contents.
///
/// Empty if the directory does not exist. With `unlock`, folders are made writable so that they can
/// be emptied.
fn entries(root: &Path, unlock: bool) -> Result<Vec<(PathBuf, FileType)>, Error> {
    let (mut all, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(relative) = open.pop() {
        let folder = root.join(&relative);
        if unlock
            && let Ok(meta) = fs::symlink_metadata(&folder)
            && meta.is_dir()
            && meta.mode() & OWNER_RWX != OWNER_RWX
        {
            let _ = fs::set_permissions(&folder, Permissions::from_mode(meta.mode() | OWNER_RWX));
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // A user deleted it meanwhile.
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(at("read", &folder)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(at("read", &folder))?;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(at("read", &entry.path())(error)),
            };
            let relative = relative.join(entry.file_name());
            if kind.is_dir() {
                open.push(relative.clone());
            }
            all.push((relative, kind));
        }
    }
    Ok(all)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => Err(at("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Deletes empty folders; parents must come first in the list. Returns whether all are gone.
fn remove_folders(folders: &[PathBuf]) -> Result<bool, Error> {
    let mut are_gone = true;
    for folder in folders.iter().rev() {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => are_gone = false,
            Err(error) if !is_absent(&error) => return Err(at("remove", folder)(error)),
            _ => {}
        }
    }
    Ok(are_gone)
}

fn remove(directory: &Path) -> Result<(), Error> {
    // Called for its side effect: `remove_dir_all` needs folders that are writable.
    entries(directory, true)?;
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(at("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        COMPARED_BYTES, Content, Files, Known, Slot, copy_attributes, file_equals, remove_folders,
        write,
    };
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use std::ffi::OsString;
    use std::fs;
    use std::io;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;
    use std::time::{Duration, SystemTime};
    use urdf_usd_resolve::States;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec().into()))
            .collect()
    }

    fn names(files: &Files) -> Vec<String> {
        files.keys().cloned().collect()
    }

    fn publish(slot: &Slot, files: &Files, previous: &[String]) {
        slot.stage(files, previous).unwrap().publish().unwrap();
    }

    fn lock(parent: &Path) -> Slot {
        Slot::lock(parent, "arm", |_| {
            vec!["arm.usda".to_owned(), "report.json".to_owned()]
        })
        .unwrap()
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn no_links(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    #[test]
    fn a_revision_replaces_the_last_and_keeps_files_of_users() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let first = files(&[
            ("arm.usda", "one"),
            ("textures/a.png", "same"),
            ("gone.usda", "x"),
        ]);
        publish(&slot, &first, &[]);
        let texture = slot.directory().join("textures/a.png");
        let written = fs::metadata(&texture).unwrap().modified().unwrap();
        fs::write(slot.directory().join("notes.txt"), "mine").unwrap();
        let previous = names(&first);
        assert!(slot.holds(&first, &previous).unwrap());

        let second = files(&[("arm.usda", "two"), ("textures/a.png", "same")]);
        assert!(!slot.holds(&second, &previous).unwrap());
        publish(&slot, &second, &previous);
        assert_eq!(read(&slot.directory().join("arm.usda")), "two");
        assert_eq!(fs::metadata(&texture).unwrap().modified().unwrap(), written);
        assert!(!slot.directory().join("gone.usda").exists());
        assert_eq!(read(&slot.directory().join("notes.txt")), "mine");
        assert!(!slot.staging().exists() && !slot.retired().exists());
        // A folder of the asset that is no longer needed does not belong to users.
        let previous = names(&second);
        publish(&slot, &files(&[("arm.usda", "three")]), &previous);
        assert!(!slot.directory().join("textures").exists());
    }

    #[test]
    fn a_revision_that_cannot_be_finished_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let unwritable = files(&[("arm.usda", "one"), (&"x".repeat(300), "two")]);
        assert!(slot.stage(&unwritable, &[]).is_err());
        assert!(!slot.staging().exists());
        let staged = files(&[("arm.usda", "one")]);
        assert!(
            slot.stage(&staged, &[])
                .unwrap()
                .add(&"x".repeat(300), &"two".into())
                .is_err()
        );
        drop(slot);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        // The published revision stays; the lock file goes with the writer.
        let slot = lock(parent.path());
        publish(&slot, &staged, &[]);
        assert!(slot.stage(&unwritable, &names(&staged)).is_err());
        drop(slot);
        let mut left: Vec<_> = fs::read_dir(parent.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["arm"]);
    }

    #[test]
    fn a_full_disk_has_its_own_remedy() {
        let help = |kind: io::ErrorKind| super::at("write", Path::new("a"))(kind.into()).help();
        assert!(help(io::ErrorKind::StorageFull).starts_with("the disk is full"));
        assert!(help(io::ErrorKind::QuotaExceeded).contains("quota"));
        assert!(help(io::ErrorKind::FileTooLarge).contains("ulimit"));
        assert!(help(io::ErrorKind::PermissionDenied).contains("make this one writable"));
    }

    #[test]
    fn files_in_pieces_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        let content = |last: u8| {
            Content::from_pieces(
                [
                    b"head".to_vec(),
                    [vec![7; 2 * COMPARED_BYTES], vec![last]].concat(),
                ],
                None,
            )
        };
        write(&content(1), &path).unwrap();
        assert_eq!(
            fs::read(&path).unwrap(),
            [b"head".to_vec(), vec![7; 2 * COMPARED_BYTES], vec![1]].concat()
        );
        assert!(
            file_equals(&content(1), &path).unwrap() && !file_equals(&content(2), &path).unwrap()
        );
        // A prefix is not equal, in either direction.
        assert!(
            !file_equals(&"head".into(), &path).unwrap()
                && !file_equals(&"".into(), &path).unwrap()
        );
        fs::write(&path, "head").unwrap();
        assert!(
            !file_equals(&content(1), &path).unwrap()
                && file_equals(&"head".into(), &path).unwrap()
        );
    }

    #[test]
    fn an_untouched_file_with_a_known_hash_is_not_read() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        publish(&slot, &files(&[("arm.usda", "one")]), &[]);
        let path = slot.directory().join("arm.usda");
        let known = || Known {
            sha256: [("arm.usda".to_owned(), "hash".to_owned())].into(),
            states: States::now([&path]),
        };
        let content = |sha256: &str| Content::from_pieces(["two"], Some(sha256.to_owned()));
        let slot = slot.with_known(known());
        // The cached hash does not apply then.
        assert!(
            slot.has("arm.usda", &content("hash")).unwrap()
                && !slot.has("arm.usda", &content("other")).unwrap()
        );
        assert!(
            !slot.has("arm.usda", &"two".into()).unwrap()
                && slot.has("arm.usda", &"one".into()).unwrap()
        );
        fs::File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        assert!(!slot.has("arm.usda", &content("hash")).unwrap());
    }

    #[test]
    fn remains_of_a_killed_writer_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = lock(parent.path()).staging();
        fs::create_dir(&left).unwrap();
        fs::write(left.join("half"), "…").unwrap();
        let slot = lock(parent.path());
        assert!(!left.exists());
        publish(&slot, &files(&[("arm.usda", "one")]), &[]);
        assert_eq!(fs::read_dir(slot.directory()).unwrap().count(), 1);
    }

    #[test]
    fn saved_files_survive_a_kill() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let (directory, retired) = (slot.directory(), slot.retired());
        drop(slot);
        // Without exchange: killed before the new revision was in place …
        fs::create_dir(&retired).unwrap();
        fs::write(retired.join("arm.usda"), "one").unwrap();
        fs::write(retired.join("notes.txt"), "mine").unwrap();
        drop(lock(parent.path()));
        assert_eq!(
            (
                read(&directory.join("arm.usda")),
                read(&directory.join("notes.txt"))
            ),
            ("one".into(), "mine".into())
        );
        // … and killed before the last one was emptied.
        fs::create_dir_all(retired.join("sub")).unwrap();
        for (path, text) in [
            ("arm.usda", "old"),
            ("report.json", "{}"),
            ("saved.txt", "late"),
            ("sub/saved.txt", "late too"),
        ] {
            fs::write(retired.join(path), text).unwrap();
        }
        fs::hard_link(directory.join("notes.txt"), retired.join("notes.txt")).unwrap();
        drop(lock(parent.path()));
        assert!(!retired.exists() && !directory.join("report.json").exists());
        for (path, text) in [
            ("arm.usda", "one"),
            ("notes.txt", "mine"),
            ("saved.txt", "late"),
            ("sub/saved.txt", "late too"),
        ] {
            assert_eq!(read(&directory.join(path)), text);
        }
    }

    /// With and without hard links.
    #[test]
    fn files_saved_while_a_revision_is_written_stay() {
        let with_links: fn(&Path, &Path) -> io::Result<()> = |from, to| fs::hard_link(from, to);
        for link in [with_links, no_links] {
            let parent = tempfile::tempdir().unwrap();
            let slot = Slot {
                link,
                ..lock(parent.path())
            };
            let there = |path: &str| slot.directory().join(path);
            let first = files(&[
                ("arm.usda", "one"),
                ("textures/a.png", "same"),
                ("report.json", "1"),
            ]);
            publish(&slot, &first, &[]);
            for path in [
                "written.txt",
                "replaced.txt",
                "gone.txt",
                "moved.txt",
                "becomes a folder",
            ] {
                fs::write(there(path), "before").unwrap();
            }
            fs::create_dir_all(there("folder/empty")).unwrap();

            let second = files(&[("arm.usda", "two"), ("report.json", "2")]);
            let previous = names(&first);
            let staged = slot.stage(&second, &previous).unwrap();
            fs::write(there("new.txt"), "after").unwrap();
            fs::write(there("written.txt"), "after").unwrap();
            // As an editor saves it, and as `cp -p` of an old file does.
            fs::write(there(".replaced.tmp"), "after").unwrap();
            let old = SystemTime::now() - Duration::from_secs(3600);
            fs::File::open(there(".replaced.tmp"))
                .unwrap()
                .set_modified(old)
                .unwrap();
            fs::rename(there(".replaced.tmp"), there("replaced.txt")).unwrap();
            fs::rename(there("moved.txt"), there("folder/moved.txt")).unwrap();
            fs::write(there("textures/mine.png"), "after").unwrap();
            fs::create_dir_all(there("textures/also empty")).unwrap();
            fs::create_dir_all(there("new folder/empty")).unwrap();
            fs::write(there("new folder/new.txt"), "after").unwrap();
            fs::remove_file(there("becomes a folder")).unwrap();
            fs::create_dir(there("becomes a folder")).unwrap();
            fs::write(there("becomes a folder/new.txt"), "after").unwrap();
            // Files of the asset are not carried over.
            fs::write(there("arm.usda"), "modified").unwrap();

            assert!(slot.swap_in().unwrap());
            // Changes of users in the new revision win over those in the old one.
            fs::remove_file(there("gone.txt")).unwrap();
            slot.retire(&staged.ours, &staged.kept).unwrap();
            assert!(!slot.retired().exists());
            for (path, text) in [
                ("arm.usda", "two"),
                ("report.json", "2"),
                ("new.txt", "after"),
                ("written.txt", "after"),
                ("replaced.txt", "after"),
                ("folder/moved.txt", "before"),
                ("textures/mine.png", "after"),
                ("new folder/new.txt", "after"),
                ("becomes a folder", "before"),
                ("becomes a folder.saved/new.txt", "after"),
            ] {
                assert_eq!(read(&there(path)), text, "{path}");
            }
            assert!(!there("gone.txt").exists() && !there("textures/a.png").exists());
            for folder in ["folder/empty", "textures/also empty", "new folder/empty"] {
                assert!(there(folder).is_dir(), "{folder}");
            }
        }
    }

    #[test]
    fn files_saved_while_the_last_revision_is_removed_stay() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let first = files(&[("arm.usda", "one"), ("report.json", "1")]);
        publish(&slot, &first, &[]);
        fs::create_dir(slot.directory().join("sub")).unwrap();
        let (second, previous) = (
            files(&[("arm.usda", "two"), ("report.json", "2")]),
            names(&first),
        );
        let staged = slot.stage(&second, &previous).unwrap();
        assert!(slot.swap_in().unwrap());
        let folders = slot.empty(&staged.ours, &staged.kept).unwrap();
        // By a shell whose working directory it is.
        fs::write(slot.retired().join("sub/late.txt"), "late").unwrap();
        assert!(!remove_folders(&folders).unwrap());
        slot.retire(&staged.ours, &staged.kept).unwrap();
        assert_eq!(read(&slot.directory().join("sub/late.txt")), "late");
        assert!(!slot.retired().exists());
    }

    #[test]
    fn no_file_is_lost_among_many_revisions() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let revision = |n: usize| -> Files {
            (0..20)
                .map(|file| (format!("{file}.usda"), vec![b'x'; n + 1].into()))
                .chain([("report.json".into(), vec![b'0'; n].into())])
                .collect()
        };
        let previous: Vec<String> = revision(0).into_keys().collect();
        publish(&slot, &revision(0), &[]);
        let directory = slot.directory();
        let saved = std::thread::scope(|scope| {
            let saving = scope.spawn(|| {
                let mut saved = 0;
                for _ in 0..300 {
                    // The target folder may just be gone, which is reported as an error.
                    saved += usize::from(
                        fs::write(directory.join(format!("saved {saved}.txt")), "mine").is_ok(),
                    );
                    std::thread::sleep(Duration::from_micros(500));
                }
                saved
            });
            let mut n = 0;
            while !saving.is_finished() {
                n += 1;
                publish(&slot, &revision(n), &previous);
            }
            saving.join().unwrap()
        });
        let lost: Vec<usize> = (0..saved)
            .filter(|n| !directory.join(format!("saved {n}.txt")).exists())
            .collect();
        assert!(saved > 0 && lost.is_empty(), "of {saved}: {lost:?}");
    }

    #[test]
    fn names_that_are_not_unicode_stay() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let first = files(&[("arm.usda", "one")]);
        publish(&slot, &first, &[]);
        let name = |last: u8| OsString::from_vec(vec![b'a', 0xff, last]);
        for last in [0xfe, 0xfd] {
            fs::write(slot.directory().join(name(last)), [last]).unwrap();
            fs::create_dir_all(slot.directory().join("sub").join(name(last))).unwrap();
        }
        publish(
            &slot,
            &files(&[("arm.usda", "two")]),
            &["arm.usda".to_owned()],
        );
        for last in [0xfe, 0xfd] {
            assert_eq!(fs::read(slot.directory().join(name(last))).unwrap(), [last]);
            assert!(slot.directory().join("sub").join(name(last)).is_dir());
        }
        assert_eq!(fs::read_dir(slot.directory()).unwrap().count(), 4);
    }

    #[test]
    fn without_hard_links_files_are_copied_with_their_attributes() {
        let parent = tempfile::tempdir().unwrap();
        let slot = Slot {
            link: no_links,
            ..lock(parent.path())
        };
        let there = |path: &str| slot.directory().join(path);
        let first = files(&[("arm.usda", "one"), ("same.usda", "same")]);
        publish(&slot, &first, &[]);
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::write(there("run.sh"), "mine").unwrap();
        symlink("nowhere", there("link")).unwrap();
        setxattr(there("run.sh"), "user.tag", b"red", XattrFlags::empty()).unwrap();
        fs::set_permissions(there("run.sh"), fs::Permissions::from_mode(0o550)).unwrap();
        for path in ["run.sh", "same.usda"] {
            fs::File::open(there(path))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        let previous = names(&first);
        let is_whole = |folder: &Path| {
            let meta = fs::metadata(folder.join("run.sh")).unwrap();
            let mut tag = [0; 8];
            let length = getxattr(folder.join("run.sh"), "user.tag", tag.as_mut_slice()).unwrap();
            assert_eq!(
                (
                    meta.mode() & 0o7777,
                    meta.modified().unwrap(),
                    &tag[..length]
                ),
                (0o550, old, &b"red"[..])
            );
            assert_eq!(
                fs::metadata(folder.join("same.usda"))
                    .unwrap()
                    .modified()
                    .unwrap(),
                old
            );
            assert_eq!(
                fs::read_link(folder.join("link")).unwrap(),
                Path::new("nowhere")
            );
        };
        slot.stage(
            &files(&[("arm.usda", "two"), ("same.usda", "same")]),
            &previous,
        )
        .unwrap();
        is_whole(&slot.staging());
        fs::remove_dir_all(slot.staging()).unwrap();
        for n in ["three", "four"] {
            publish(
                &slot,
                &files(&[("arm.usda", n), ("same.usda", "same")]),
                &previous,
            );
            is_whole(&slot.directory());
            assert_eq!(read(&there("run.sh")), "mine");
        }
    }

    #[test]
    fn folders_keep_mode_owner_and_access_control() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let first = files(&[("arm.usda", "one"), ("textures/a.png", "x")]);
        publish(&slot, &first, &[]);
        let folders = [
            (slot.directory(), 0o2750),
            (slot.directory().join("textures"), 0o775),
            (slot.directory().join("mine"), 0o500),
        ];
        // A default access control list: user::rwx, user:1234:rwx, group::r-x, mask::rwx,
        // other::---.
        let entry = |tag: u16, rights: u16, id: u32| {
            [
                &tag.to_le_bytes()[..],
                &rights.to_le_bytes(),
                &id.to_le_bytes(),
            ]
            .concat()
        };
        let list = [
            2u32.to_le_bytes().to_vec(),
            entry(1, 7, u32::MAX),
            entry(2, 7, 1234),
            entry(4, 5, u32::MAX),
            entry(0x10, 7, u32::MAX),
            entry(0x20, 0, u32::MAX),
        ]
        .concat();
        fs::create_dir(slot.directory().join("mine")).unwrap();
        let mut had = Vec::new();
        for (folder, mode) in &folders {
            setxattr(folder, "user.tag", b"red", XattrFlags::empty()).unwrap();
            let lists = setxattr(
                folder,
                "system.posix_acl_default",
                &list,
                XattrFlags::empty(),
            )
            .is_ok();
            // Only root has the permission.
            let _ = std::os::unix::fs::chown(folder, Some(1234), Some(1234));
            fs::set_permissions(folder, fs::Permissions::from_mode(*mode)).unwrap();
            let meta = fs::metadata(folder).unwrap();
            had.push((lists, meta.uid(), meta.gid(), meta.mode()));
        }
        let previous = names(&first);
        publish(
            &slot,
            &files(&[("arm.usda", "two"), ("textures/a.png", "y")]),
            &previous,
        );
        for ((folder, _), (lists, uid, gid, mode)) in folders.iter().zip(had) {
            let (meta, mut value) = (fs::metadata(folder).unwrap(), vec![0; 1000]);
            assert_eq!(
                (meta.uid(), meta.gid(), meta.mode()),
                (uid, gid, mode),
                "{}",
                folder.display()
            );
            let length = getxattr(folder, "user.tag", value.as_mut_slice()).unwrap();
            assert_eq!(&value[..length], b"red");
            if lists {
                let length =
                    getxattr(folder, "system.posix_acl_default", value.as_mut_slice()).unwrap();
                assert_eq!(&value[..length], list);
            }
        }
        // Attributes that the old folder lacks are not inherited from the parent.
        let (bare, with) = (parent.path().join("bare"), folders[0].0.clone());
        fs::create_dir(&bare).unwrap();
        copy_attributes(&bare, &fs::metadata(&bare).unwrap(), &with);
        assert!(getxattr(&with, "user.tag", [0; 8].as_mut_slice()).is_err());
    }
}
