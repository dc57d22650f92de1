//! Opens files so that the file read is the file whose place was checked.
//!
//! A path is walked from the root, one component at a time, relative to the descriptor of the
//! previous folder and with `O_NOFOLLOW`: symbolic links are resolved here, not by the kernel. The
//! resulting path therefore contains no link, and the file is opened relative to the descriptor of
//! the very folder that the path ends in. If a file or folder is exchanged for a link meanwhile,
//! the walk ends elsewhere, and *that* place is checked; nothing is looked up twice.
//!
//! On Linux, one call of `openat2` with `RESOLVE_NO_SYMLINKS` opens the last folder of a path without
//! links, or finds that it is missing. The path is walked only if that fails otherwise.
//! `RESOLVE_BENEATH` does not fit instead of the walk: it refuses links between several allowed
//! roots, which are legitimate (`colcon build --symlink-install` creates absolute ones).

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use rustix::io::Errno;

/// Maximum number of symbolic links on the way to a file: Linux's own limit.
const MAX_LINKS: usize = 40;
/// Maximum number of steps on the way to a file. `..` restarts at the root, so links could
/// otherwise cause millions.
const MAX_STEPS: usize = 10_000;
/// Maximum number of attempts, if the file becomes a link between the walk and opening it.
const MAX_TRIES: usize = 100;

/// Flags for opening the folders on the way. With `O_PATH`, on Linux, no read permission is needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Flags for opening files. `O_NONBLOCK` keeps a pipe that replaced a file from blocking.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open regular file.
#[derive(Debug)]
pub struct Opened {
    /// Path with symbolic links resolved.
    pub path: PathBuf,
    /// Descriptor, at the beginning of the file.
    pub file: fs::File,
    /// Metadata of the descriptor.
    pub meta: Metadata,
}

impl Opened {
    /// Opens the regular file that `path` leads to, wherever it is: check [`Self::path`] before
    /// reading.
    ///
    /// # Errors
    /// Returns an error if there is no such file or it can't be opened;
    /// [`io::ErrorKind::InvalidInput`] if it is no regular file.
    pub fn at(path: &Path) -> io::Result<Self> {
        Place::opened(path, &|_| Ok(()))
    }
}

/// A place in the file system that a path leads to.
#[derive(Debug)]
pub(super) struct Place {
    /// The path, symbolic links resolved.
    pub path: PathBuf,
    /// Type of the file during the walk.
    pub kind: FileType,
    /// Descriptor of the containing folder, and name in it; for a folder, its own descriptor and
    /// `.`.
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    /// Walks to the place that `path` leads to, like [`fs::canonicalize`].
    #[cfg(test)]
    pub fn walk(path: &Path) -> io::Result<Self> {
        Walk::new(path)?.run(MAX_LINKS)
    }

    /// Opens the file that `path` leads to if `judge` accepts its place.
    ///
    /// # Errors
    /// Returns the errors of `judge`, of the walk and of opening the file.
    pub fn opened<E: From<io::Error>>(
        path: &Path,
        judge: &dyn Fn(&Self) -> Result<(), E>,
    ) -> Result<Opened, E> {
        Self::opened_by(path, MAX_LINKS, judge)
    }

    /// Opens a file whose `path` was checked before, without following any link.
    ///
    /// # Errors
    /// Returns the errors of [`Self::opened`], and an error if there is a link on the way.
    pub fn opened_exactly<E: From<io::Error>>(
        path: &Path,
        judge: &dyn Fn(&Self) -> Result<(), E>,
    ) -> Result<Opened, E> {
        Self::opened_by(path, 0, judge)
    }

    fn opened_by<E: From<io::Error>>(
        path: &Path,
        max_links: usize,
        judge: &dyn Fn(&Self) -> Result<(), E>,
    ) -> Result<Opened, E> {
        for _ in 0..MAX_TRIES {
            let place = Walk::new(path)?.run(max_links)?;
            judge(&place)?;
            match place.open() {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {}
                opened => return Ok(opened?),
            }
        }
        Err(io::Error::from(Errno::LOOP).into())
    }

    fn open(self) -> io::Result<Opened> {
        // Checked before opening: opening a device may have side effects.
        let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        if self.kind != FileType::RegularFile {
            return Err(no_file());
        }
        let file = fs::File::from(openat(&self.folder, &*self.name, FILE, Mode::empty())?);
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(no_file());
        }
        Ok(Opened {
            path: self.path,
            file,
            meta,
        })
    }
}

/// A walk from the root.
struct Walk {
    /// Path walked so far.
    path: PathBuf,
    folder: OwnedFd,
    /// Remaining components, the next one last.
    left: Vec<OsString>,
    /// Whether the path ends in a slash and must lead to a folder.
    to_folder: bool,
}

impl Walk {
    fn new(path: &Path) -> io::Result<Self> {
        let to_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let path = std::path::absolute(path)?;
        #[cfg(target_os = "linux")]
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
            // Their parent is known only after following the links before them.
            && !parent.components().any(|part| part == Component::ParentDir)
        {
            match openat2(
                CWD,
                parent,
                FOLDER,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS,
            ) {
                Ok(folder) => {
                    return Ok(Self {
                        path: parent.to_owned(),
                        folder,
                        left: vec![name.to_owned()],
                        to_folder,
                    });
                }
                // No link comes before the missing folder, so a walk would not find it either.
                Err(Errno::NOENT) => return Err(Errno::NOENT.into()),
                Err(_) => {}
            }
        }
        let mut walk = Self {
            path: PathBuf::new(),
            folder: root()?,
            left: Vec::new(),
            to_folder,
        };
        walk.prepend(&path)?;
        Ok(walk)
    }

    /// Prepends the components of `path` to the remaining ones; an absolute path restarts at the
    /// root.
    fn prepend(&mut self, path: &Path) -> io::Result<()> {
        for component in path.components().rev() {
            match component {
                Component::RootDir => {
                    self.folder = root()?;
                    self.path = PathBuf::from("/");
                }
                Component::Normal(name) => self.left.push(name.to_owned()),
                Component::ParentDir => self.left.push("..".into()),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(())
    }

    fn run(mut self, max_links: usize) -> io::Result<Place> {
        let (mut links, mut steps) = (0, 0);
        while let Some(name) = self.left.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return Err(Errno::LOOP.into());
            }
            if name == OsStr::new("..") {
                // A folder that was moved meanwhile has another parent than the one walked through:
                // walk to the recorded parent again.
                let mut above = std::mem::take(&mut self.path);
                above.pop();
                self.prepend(&above)?;
                continue;
            }
            // Most paths end in a file, which is known after one call instead of three.
            if self.left.is_empty()
                && !self.to_folder
                && self.kind(&name).is_ok_and(FileType::is_file)
            {
                return Ok(self.end(FileType::RegularFile, name));
            }
            match openat(&self.folder, &*name, FOLDER, Mode::empty()) {
                Ok(folder) => {
                    self.folder = folder;
                    self.path.push(name);
                }
                // Not a folder, or a link: with `O_DIRECTORY | O_NOFOLLOW` systems report a link as
                // ENOTDIR (Linux), ELOOP (POSIX) or EMLINK (FreeBSD).
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    match readlinkat(&self.folder, &*name, Vec::new()) {
                        Ok(target) => {
                            links += 1;
                            if links > max_links {
                                return Err(Errno::LOOP.into());
                            }
                            self.prepend(Path::new(OsStr::from_bytes(target.as_bytes())))?;
                        }
                        // Not a link, or no longer one.
                        Err(Errno::INVAL) => {
                            match self.kind(&name)? {
                                // It changed since `openat`: look again, up to `MAX_STEPS` times.
                                FileType::Directory | FileType::Symlink => self.left.push(name),
                                kind if self.left.is_empty() && !self.to_folder => {
                                    return Ok(self.end(kind, name));
                                }
                                _ => return Err(Errno::NOTDIR.into()),
                            }
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Place {
            path: self.path,
            kind: FileType::Directory,
            folder: self.folder,
            name: ".".into(),
        })
    }

    fn kind(&self, name: &OsStr) -> io::Result<FileType> {
        let meta = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(meta.st_mode))
    }

    /// Returns the place of an entry of the folder that was walked to.
    fn end(mut self, kind: FileType, name: OsString) -> Place {
        self.path.push(&name);
        Place {
            path: self.path,
            kind,
            folder: self.folder,
            name,
        }
    }
}

fn root() -> io::Result<OwnedFd> {
    Ok(openat(CWD, "/", FOLDER, Mode::empty())?)
}
