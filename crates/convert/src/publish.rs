//! Puts a revision in the place of the last one, whole or not at all.
//!
//! A revision is staged in a directory of its own beside the asset's and takes its place in one
//! step of the file system (`renameat2` with exchange). A kill at any instant leaves the last whole
//! revision; what it may leave beside it is cleared away by the next publication. Files whose
//! content did not change are hard links to the last revision's, so they keep their modification
//! time. Where there can be no hard links they are copied.
//!
//! What people put into the directory is in the new one before that takes its place. What they
//! saved meanwhile follows: the last revision's directory is emptied entry by entry, and nothing
//! that is not known to be in the new one is removed. This module knows files and bytes, nothing of
//! what is in them.

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

/// How often the last revision's directory is emptied once more because something was saved into it
/// meanwhile.
const PASSES: usize = 10;
/// How many bytes all names of a file's extended attributes have at most in Linux, and each value.
const MOST_XATTR: usize = 64 << 10;
/// How many bytes of two files are compared at a time.
const COMPARED: usize = 128 << 10;
/// What the owner needs to work in a folder.
const WORKABLE: u32 = 0o700;

/// The files of a revision: relative paths with forward slashes, and contents.
pub(super) type Files = BTreeMap<String, Content>;

/// What is known of the files of the published revision without reading them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// Their SHA-256 in lower-case hex, by relative path …
    pub sha256: BTreeMap<String, String>,
    /// … while they are in these states.
    pub states: States,
}

impl Known {
    /// Whether the file at `path`, `relative` in the asset, is known to hold `content`.
    fn says(&self, path: &Path, relative: &str, content: &Content) -> bool {
        let known = self.sha256.get(relative).map(String::as_str);
        known.is_some() && known == content.known_sha256() && self.states.is_unchanged(path)
    }
}

/// The bytes of `content`, one part after the other. An error carries a [`CacheEvicted`].
fn chunks(content: &Content) -> impl Iterator<Item = io::Result<Bytes>> {
    content
        .chunks()
        .map(|chunk| chunk.ok_or_else(|| io::Error::other(CacheEvicted)))
}

/// Tells the failures of a file apart from those of the cache.
///
/// # Errors
/// If `error` carries a [`CacheEvicted`].
pub(super) fn unless_evicted(error: &io::Error) -> Result<(), CacheEvicted> {
    let evicted = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<CacheEvicted>());
    evicted.map_or(Ok(()), |evicted| Err(*evicted))
}

/// Writes `content` to a file.
///
/// # Errors
/// If that fails, or `content` is no longer in the cache ([`unless_evicted`]).
pub(super) fn write(content: &Content, path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    chunks(content).try_for_each(|chunk| file.write_all(&chunk?))
}

/// Whether the file holds exactly these bytes.
///
/// # Errors
/// If `content` is no longer in the cache.
pub(super) fn is_in(content: &Content, path: &Path) -> Result<bool, CacheEvicted> {
    if !fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.len() == content.length())
    {
        return Ok(false);
    }
    begins_with(path, content).or_else(|error| unless_evicted(&error).map(|()| false))
}

/// Whether the file begins with these bytes. It is read in steps: most that differ do so early.
fn begins_with(path: &Path, content: &Content) -> io::Result<bool> {
    let (mut file, mut read) = (Opened::at(path)?.file, vec![0; COMPARED]);
    for chunk in chunks(content) {
        for bytes in chunk?.chunks(COMPARED) {
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
    /// What was tried: `create`, `write`.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::StorageFull => {
                "no space is left there: free some, or choose an output directory on another disk; nothing of the new revision is kept"
            }
            io::ErrorKind::QuotaExceeded => {
                "your quota there is used up: free some space, or choose an output directory on another disk"
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

/// What belongs to an asset, by relative path. Everything else in its directory was put there by
/// people.
struct Ours<'a> {
    files: HashSet<&'a Path>,
    folders: HashSet<&'a Path>,
}

impl<'a> Ours<'a> {
    fn new(files: impl Iterator<Item = &'a str>) -> Self {
        let files: HashSet<&Path> = files.map(Path::new).collect();
        let folders = files
            .iter()
            .flat_map(|file| file.ancestors().skip(1))
            .collect();
        Self { files, folders }
    }
}

/// What people put into the last revision's directory that is in the new one too, by relative path.
#[derive(Default)]
struct Kept {
    files: HashMap<PathBuf, Stamp>,
    folders: HashSet<PathBuf>,
}

/// Tells a file from another one, and from itself when it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Stamp {
    /// Of what stands at `path`; `None` if nothing does.
    fn of(path: &Path) -> Result<Option<Self>, Error> {
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

/// Returns the names of assets in `parent` with staging files beside them, left by an active or a
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

/// The place of one robot's asset, locked against other writers until dropped.
pub(super) struct Slot {
    parent: PathBuf,
    name: String,
    /// What is known of what is there.
    known: Known,
    /// Makes a hard link.
    link: fn(&Path, &Path) -> io::Result<()>,
    // Held until the slot is dropped.
    _lock: Lock,
}

/// The locked file beside an asset. It is removed only where there is no asset, and whoever locks a
/// file looks whether it still has its name: so no two writers hold locks on two files of one name.
struct Lock {
    path: PathBuf,
    /// The asset's directory.
    directory: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks the file at `path`, which is made if need be, once no other process has it locked.
    fn take(path: &Path, directory: PathBuf) -> io::Result<Self> {
        loop {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(path)?;
            file.lock()?;
            let of = |meta: &Metadata| (meta.dev(), meta.ino());
            match fs::metadata(path) {
                Ok(meta) if of(&meta) == of(&file.metadata()?) => {
                    return Ok(Self {
                        path: path.to_owned(),
                        directory,
                        _file: file,
                    });
                }
                // Whoever had it locked has removed it.
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A conversion that came to nothing leaves nothing.
        if matches!(Stamp::of(&self.directory), Ok(None)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Slot {
    /// Makes `parent` if need be, waits until no other process writes this asset, and clears away
    /// what a killed one left. `listed`: the files of the revision in a directory, by its report.
    pub(super) fn lock(
        parent: &Path,
        name: &str,
        listed: impl Fn(&Path) -> Vec<String>,
    ) -> Result<Self, Error> {
        // A file where the directory should be: the operating system's word for it, "file exists",
        // helps nobody.
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
        let lock = Lock::take(&path, parent.join(name)).map_err(at("lock", &path))?;
        Self::locked(parent, name, lock, listed)
    }

    /// Locks the slot without blocking; `None` if another process holds the lock or the asset was
    /// never written.
    pub(super) fn try_lock(
        parent: &Path,
        name: &str,
        listed: impl Fn(&Path) -> Vec<String>,
    ) -> Result<Option<Self>, Error> {
        let path = parent.join(format!(".{name}.lock"));
        let file = File::options()
            .write(true)
            .open(&path)
            .map_err(at("write", &path))?;
        let is_locked = file.try_lock().is_ok();
        let lock = Lock {
            path,
            directory: parent.join(name),
            _file: file,
        };
        is_locked
            .then(|| Self::locked(parent, name, lock, listed))
            .transpose()
    }

    /// Removes the remains of a killed writer while holding the lock.
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
        remove(&slot.staging())?;
        let retired = slot.retired();
        if Stamp::of(&retired)?.is_some() {
            if Stamp::of(&slot.directory())?.is_none() {
                // It was killed before the new one was in place.
                fs::rename(&retired, slot.directory()).map_err(at("restore", &retired))?;
            } else {
                let listed = listed(&retired);
                slot.retire(
                    &Ours::new(listed.iter().map(String::as_str)),
                    &Kept::default(),
                )?;
            }
        }
        Ok(slot)
    }

    /// The same with what is known of the published revision.
    pub(super) fn knowing(self, known: Known) -> Self {
        Self { known, ..self }
    }

    /// Whether the file `relative` of the published revision holds `content`.
    fn has(&self, relative: &str, content: &Content) -> Result<bool, CacheEvicted> {
        let path = self.directory().join(relative);
        if self.known.says(&path, relative, content) {
            Ok(true)
        } else {
            is_in(content, &path)
        }
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

    /// Whether the published revision holds exactly `files` beside `extra` (and whatever else
    /// people put there).
    ///
    /// # Errors
    /// If the content of a file is no longer in the cache.
    pub(super) fn holds(&self, files: &Files, previous: &[String]) -> Result<bool, CacheEvicted> {
        // A change mostly shows in small files.
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

    /// Makes a revision of `files` beside the last one. `previous` names the files of that: those
    /// that are not in `files` are not in the new one; everything else that stands in the directory
    /// was put there by people and stays.
    pub(super) fn stage<'a>(
        &'a self,
        files: &'a Files,
        previous: &'a [String],
    ) -> Result<Staged<'a>, Error> {
        self.staged(files, previous).inspect_err(|_| self.abandon())
    }

    /// Removes a revision that can't be finished: on a full disk it would hold the very space that
    /// is missing.
    fn abandon(&self) {
        // The next publication tries again.
        let _ = remove(&self.staging());
    }

    fn staged<'a>(&'a self, files: &'a Files, previous: &'a [String]) -> Result<Staged<'a>, Error> {
        let directory = self.directory();
        if fs::metadata(&directory).is_ok_and(|there| !there.is_dir()) {
            // Somebody's file, and not for us to move away.
            return Err(at("replace", &directory)(
                io::ErrorKind::NotADirectory.into(),
            ));
        }
        let ours = Ours::new(previous.iter().chain(files.keys()).map(String::as_str));
        let mut made = Vec::new();
        self.make_folder(Path::new(""), &mut made)?;
        let kept = self.keep_others(&ours, &mut made)?;
        for folder in files
            .keys()
            .map(|path| folder_of(path))
            .collect::<BTreeSet<&Path>>()
        {
            self.make_folder(folder, &mut made)?;
        }
        // As many at a time as there are cores: what takes long is to copy large ones to the
        // system.
        let files: Vec<(&String, &Content)> = files.iter().collect();
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

    /// Puts a file into the new revision, whose folder is there.
    fn put(&self, path: &str, content: &Content) -> Result<(), Error> {
        let (old, new) = (self.directory().join(path), self.staging().join(path));
        let has = self
            .has(path, content)
            .map_err(|evicted| at("write", &new)(io::Error::other(evicted)))?;
        if has && self.keep(&old, &new) {
            return Ok(());
        }
        write(content, &new).map_err(at("write", &new))
    }

    /// Makes a folder of the new revision and those above it. Each is like the last revision's: its
    /// mode, its owner as far as that is allowed, its access control lists and other extended
    /// attributes.
    fn make_folder(&self, relative: &Path, made: &mut Vec<PathBuf>) -> Result<(), Error> {
        let (directory, staging) = (self.directory(), self.staging());
        let above: Vec<&Path> = relative.ancestors().collect();
        for folder in above.into_iter().rev() {
            let path = staging.join(folder);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let old = directory.join(folder);
                    if let Ok(meta) = fs::metadata(&old) {
                        take_attributes(&old, &meta, &path);
                        let _ = fs::set_permissions(
                            &path,
                            Permissions::from_mode(meta.mode() | WORKABLE),
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

    /// Puts what stands in the directory and is not ours, however deep, into the new revision.
    fn keep_others(&self, ours: &Ours<'_>, made: &mut Vec<PathBuf>) -> Result<Kept, Error> {
        let (directory, staging) = (self.directory(), self.staging());
        let mut kept = Kept::default();
        for (relative, kind) in entries(&directory, false)? {
            if kind.is_dir() {
                // An empty one of ours is no longer needed.
                if !ours.folders.contains(&*relative) && !ours.files.contains(&*relative) {
                    self.make_folder(&relative, made)?;
                    kept.folders.insert(relative);
                }
            } else if !ours.files.contains(&*relative) {
                let (from, to) = (directory.join(&relative), staging.join(&relative));
                self.make_folder(relative.parent().unwrap_or(Path::new("")), made)?;
                // What can't be copied either, a socket or somebody else's secret, is moved when
                // the new revision is in place.
                if self.keep(&from, &to)
                    && let Some(stamp) = Stamp::of(&to)?
                {
                    kept.files.insert(relative, stamp);
                }
            }
        }
        Ok(kept)
    }

    /// Puts a file at `to` too: the same one, or a copy where the file system or its rules allow no
    /// second link. Whether it is there.
    fn keep(&self, from: &Path, to: &Path) -> bool {
        (self.link)(from, to).is_ok()
            || copy(from, to)
                .inspect_err(|_| drop(fs::remove_file(to)))
                .is_ok()
    }

    /// Puts the new revision in place. Whether there was one before, which is retired now.
    fn take_over(&self) -> Result<bool, Error> {
        let (directory, staging, retired) = (self.directory(), self.staging(), self.retired());
        match renameat_with(CWD, &staging, CWD, &directory, RenameFlags::EXCHANGE) {
            Ok(()) => fs::rename(&staging, &retired).map_err(at("replace", &staging))?,
            Err(rustix::io::Errno::NOENT) => {
                fs::rename(&staging, &directory)
                    .inspect_err(|_| self.abandon())
                    .map_err(at("create", &directory))?;
                return Ok(false);
            }
            // Not every file system can exchange: there, a reader may for an instant find no asset.
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP,
            ) => {
                fs::rename(&directory, &retired).map_err(at("replace", &directory))?;
                if let Err(error) = fs::rename(&staging, &directory) {
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

    /// Moves what people saved into the retired revision to the one that took its place, and
    /// removes the rest.
    fn retire(&self, ours: &Ours<'_>, kept: &Kept) -> Result<(), Error> {
        let retired = self.retired();
        if fs::symlink_metadata(&retired).is_ok_and(|meta| meta.is_symlink()) {
            // The directory that somebody named here stays as it is.
            return fs::remove_file(&retired).map_err(at("remove", &retired));
        }
        for _ in 0..PASSES {
            let folders = self.empty(ours, kept)?;
            if remove_folders(&folders)? {
                return Ok(());
            }
        }
        // The next publication goes on.
        Ok(())
    }

    /// Empties the retired revision once. Its folders, those above others first.
    fn empty(&self, ours: &Ours<'_>, kept: &Kept) -> Result<Vec<PathBuf>, Error> {
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
                    // What is in it goes into the one that is there, unless that is a file.
                    if to.is_dir() {
                        folders.push(from);
                    } else {
                        move_unless_there(&from, &free_name(&to))?;
                    }
                }
            } else if ours.files.contains(&*relative) {
                old.push(relative);
            } else {
                follow(&from, &to, kept.files.get(&relative))?;
            }
        }
        // The report says which files are ours, so it goes last.
        old.sort_by_key(|relative| relative == Path::new(REPORT));
        for relative in old {
            remove_file(&retired.join(relative))?;
        }
        Ok(folders)
    }
}

/// A revision that is not in its place yet.
pub(super) struct Staged<'a> {
    slot: &'a Slot,
    ours: Ours<'a>,
    kept: Kept,
    /// Its folders, those above others first.
    made: Vec<PathBuf>,
}

impl Staged<'_> {
    /// Adds a file that is among those of this revision or the last one.
    pub(super) fn add(&mut self, path: &str, content: &Content) -> Result<(), Error> {
        let made = self.slot.make_folder(folder_of(path), &mut self.made);
        made.and_then(|()| self.slot.put(path, content))
            .inspect_err(|_| self.slot.abandon())
    }

    /// Puts it in the place of the last revision.
    pub(super) fn publish(self) -> Result<(), Error> {
        self.finish();
        if self.slot.take_over()? {
            self.slot.retire(&self.ours, &self.kept)
        } else {
            Ok(())
        }
    }

    /// Gives its folders the modes of the last revision's. The innermost first, since the owner may
    /// take the right to write from themselves.
    fn finish(&self) {
        for folder in self.made.iter().rev() {
            if let Ok(meta) = fs::metadata(self.slot.directory().join(folder))
                && meta.mode() & WORKABLE != WORKABLE
            {
                let _ = fs::set_permissions(self.slot.staging().join(folder), meta.permissions());
            }
        }
    }
}

/// The folder that a file is in, as relative as its path.
fn folder_of(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new(""))
}

/// Brings a file of people from the retired revision to its place in the new one, unless what
/// stands there came later. `kept`: what was put there before.
fn follow(from: &Path, to: &Path, kept: Option<&Stamp>) -> Result<(), Error> {
    let Some(now) = Stamp::of(from)? else {
        return Ok(());
    };
    match (Stamp::of(to)?, kept) {
        // One more link to the same file.
        (Some(there), _) if there.inode == now.inode => remove_file(from),
        (Some(_), _) if to.is_dir() => move_unless_there(from, &free_name(to)).map(drop),
        // An older one, or a copy.
        (Some(there), Some(kept)) if there == *kept => {
            fs::rename(from, to).map_err(at("keep", from))
        }
        (Some(there), None) if there.modified < now.modified => {
            fs::rename(from, to).map_err(at("keep", from))
        }
        // What somebody saved here, or removed from here, since the new revision is in place.
        (Some(_), _) | (None, Some(_)) => remove_file(from),
        (None, None) => move_unless_there(from, to).map(drop),
    }
}

/// A name beside `path` that is not taken.
fn free_name(path: &Path) -> PathBuf {
    let mut free = path.with_added_extension("saved");
    while fs::symlink_metadata(&free).is_ok() {
        free.add_extension("saved");
    }
    free
}

/// Moves a file or folder to where nothing stands. Whether it did, or found nothing to move.
fn move_unless_there(from: &Path, to: &Path) -> Result<bool, Error> {
    use rustix::io::Errno;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(at("create", folder))?;
    }
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if Stamp::of(to)?.is_some() => {
            Ok(false)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(from, to)
            .map(|()| true)
            .map_err(at("keep", from)),
        Err(error) => Err(at("keep", from)(error.into())),
    }
}

/// Copies a file or link with its times, mode and extended attributes, and its owner as far as that
/// is allowed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !meta.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    fs::copy(from, to)?;
    take_attributes(from, &meta, to);
    let times = FileTimes::new()
        .set_accessed(meta.accessed()?)
        .set_modified(meta.modified()?);
    File::open(to)?.set_times(times)?;
    fs::set_permissions(to, meta.permissions())
}

/// Takes over the owner and the extended attributes, access control lists among them, as far as the
/// system allows it.
fn take_attributes(from: &Path, meta: &Metadata, to: &Path) {
    let is_own = fs::metadata(to).is_ok_and(|to| (to.uid(), to.gid()) == (meta.uid(), meta.gid()));
    // Who may not give it away may still give it to another group of theirs.
    if !is_own && chown(to, Some(meta.uid()), Some(meta.gid())).is_err() {
        let _ = chown(to, None, Some(meta.gid()));
    }
    let (old, new) = (xattrs(from), xattrs(to));
    for name in new.iter().filter(|name| !old.contains(name)) {
        let _ = removexattr(to, name.as_slice());
    }
    let mut value = vec![0; if old.is_empty() { 0 } else { MOST_XATTR }];
    for name in old {
        if let Ok(length) = getxattr(from, name.as_slice(), value.as_mut_slice())
            && let Some(value) = value.get(..length)
        {
            let _ = setxattr(to, name.as_slice(), value, XattrFlags::empty());
        }
    }
}

/// The names of the extended attributes.
fn xattrs(path: &Path) -> Vec<Vec<u8>> {
    let mut names = vec![0; MOST_XATTR];
    let length = listxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default();
    names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Whatever stands in a directory, however deep, by relative path; folders before what is in them.
/// Nothing if there is none. Where `unlock` is set the folders are made such that they can be
/// emptied.
fn entries(root: &Path, unlock: bool) -> Result<Vec<(PathBuf, FileType)>, Error> {
    let (mut all, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(relative) = open.pop() {
        let folder = root.join(&relative);
        if unlock
            && let Ok(meta) = fs::symlink_metadata(&folder)
            && meta.is_dir()
            && meta.mode() & WORKABLE != WORKABLE
        {
            let _ = fs::set_permissions(&folder, Permissions::from_mode(meta.mode() | WORKABLE));
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
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

/// Removes folders that are empty; those in others come after them. Whether all are gone.
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
        COMPARED, Content, Files, Known, Slot, is_in, remove_folders, take_attributes, write,
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
    fn a_revision_replaces_the_last_and_keeps_what_is_not_ours() {
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
        // A folder of ours that is needed no more is none of people's.
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
        // What was published stays, and its lock with it.
        let slot = lock(parent.path());
        publish(&slot, &staged, &[]);
        assert!(slot.stage(&unwritable, &names(&staged)).is_err());
        drop(slot);
        let mut left: Vec<_> = fs::read_dir(parent.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, [".arm.lock", "arm"]);
    }

    #[test]
    fn what_is_full_is_not_to_be_made_writable() {
        let help = |kind: io::ErrorKind| super::at("write", Path::new("a"))(kind.into()).help();
        assert!(help(io::ErrorKind::StorageFull).starts_with("no space is left"));
        assert!(help(io::ErrorKind::QuotaExceeded).contains("quota"));
        assert!(help(io::ErrorKind::FileTooLarge).contains("ulimit"));
        assert!(help(io::ErrorKind::PermissionDenied).contains("make this one writable"));
    }

    #[test]
    fn a_file_of_pieces_is_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        let content = |last: u8| {
            Content::from_pieces(
                [
                    b"head".to_vec(),
                    [vec![7; 2 * COMPARED], vec![last]].concat(),
                ],
                None,
            )
        };
        write(&content(1), &path).unwrap();
        assert_eq!(
            fs::read(&path).unwrap(),
            [b"head".to_vec(), vec![7; 2 * COMPARED], vec![1]].concat()
        );
        assert!(is_in(&content(1), &path).unwrap() && !is_in(&content(2), &path).unwrap());
        // A beginning is not the whole, on either side.
        assert!(!is_in(&"head".into(), &path).unwrap() && !is_in(&"".into(), &path).unwrap());
        fs::write(&path, "head").unwrap();
        assert!(!is_in(&content(1), &path).unwrap() && is_in(&"head".into(), &path).unwrap());
    }

    #[test]
    fn a_file_whose_hash_is_known_is_not_read_while_nobody_touches_it() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        publish(&slot, &files(&[("arm.usda", "one")]), &[]);
        let path = slot.directory().join("arm.usda");
        let known = || Known {
            sha256: [("arm.usda".to_owned(), "hash".to_owned())].into(),
            states: States::now([&path]),
        };
        let content = |sha256: &str| Content::from_pieces(["two"], Some(sha256.to_owned()));
        let slot = slot.knowing(known());
        // What it holds does not count then.
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
    fn what_a_killed_writer_left_is_cleared_away() {
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
    fn what_people_saved_is_still_there_after_a_kill() {
        let parent = tempfile::tempdir().unwrap();
        let slot = lock(parent.path());
        let (directory, retired) = (slot.directory(), slot.retired());
        drop(slot);
        // Where nothing can be exchanged: killed before the new revision was in place …
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

    /// With links and without.
    #[test]
    fn what_people_save_while_a_revision_is_written_stays() {
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
            // As an editor does it, and as `cp -p` of an old file does.
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
            // What is ours is ours.
            fs::write(there("arm.usda"), "modified").unwrap();

            assert!(slot.take_over().unwrap());
            // What people do in the new one counts more than what they did in the old one.
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
    fn what_people_save_while_the_last_revision_is_removed_stays() {
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
        assert!(slot.take_over().unwrap());
        let folders = slot.empty(&staged.ours, &staged.kept).unwrap();
        // By a shell that is in there.
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
                    // The folder that it was on its way to may just be gone; then it is told so.
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
    fn names_that_are_no_unicode_stay_as_they_are() {
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
    fn without_links_files_are_copied_with_all_that_they_have() {
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
            // Only root may.
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
        // What the old one does not have, the new one does not get from the folder above.
        let (bare, with) = (parent.path().join("bare"), folders[0].0.clone());
        fs::create_dir(&bare).unwrap();
        take_attributes(&bare, &fs::metadata(&bare).unwrap(), &with);
        assert!(getxattr(&with, "user.tag", [0; 8].as_mut_slice()).is_err());
    }
}
