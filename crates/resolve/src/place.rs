//! Opening files such that what is judged is what is read.
//!
//! A path is walked from the root, one component at a time and each relative to the descriptor of
//! the folder before it, with `O_NOFOLLOW`: symbolic links are read and followed here, not by the
//! kernel. So the path that comes of it has no link in it, and the file is opened by the descriptor
//! of the very folder that the path ends in. Whoever exchanges a file or folder for a link
//! meanwhile has the walk end somewhere else, and *that* is judged; nothing is looked up a second
//! time.
//!
//! `openat2` with `RESOLVE_BENEATH` was not taken: links between several allowed roots are
//! legitimate (`colcon build --symlink-install` makes packages of absolute ones), which it refuses;
//! and it is missing on macOS and behind older container runtimes, so the walk would be needed
//! beside it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

/// Maximum number of symbolic links on the way to one file: Linux's own limit.
const MAX_LINKS: usize = 40;
/// Maximum number of steps on the way to one file. `..` starts again at the root, so links could
/// otherwise ask for millions.
const MAX_STEPS: usize = 10_000;
/// How often a file is looked for again that became a link between the walk and the opening of it.
const MAX_TRIES: usize = 100;

/// How folders on the way are opened: on Linux, passing through them takes no right to list them.
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

/// How files are opened: `O_NONBLOCK` because a pipe that took a file's place would wait for its
/// other end.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open regular file.
#[derive(Debug)]
pub struct Opened {
    /// Where it is, symbolic links resolved.
    pub path: PathBuf,
    /// The descriptor, at the file's beginning.
    pub file: fs::File,
    /// What the descriptor says of it.
    pub meta: Metadata,
}

impl Opened {
    /// Opens the regular file that `path` leads to, wherever that is: judge [`Self::path`] before
    /// reading.
    ///
    /// # Errors
    /// If there is none, or it can't be opened. What is no regular file is
    /// [`io::ErrorKind::InvalidInput`].
    pub fn at(path: &Path) -> io::Result<Self> {
        Place::opened(path, &|_| Ok(()))
    }
}

/// A place in the file system that a path led to.
#[derive(Debug)]
pub(super) struct Place {
    /// The path, symbolic links resolved.
    pub path: PathBuf,
    /// What it was when it was walked to.
    pub kind: FileType,
    /// The folder that it is in, and its name there; of a folder, itself and `.`.
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    /// Walks to what `path` leads to, as [`fs::canonicalize`] does.
    #[cfg(test)]
    pub fn of(path: &Path) -> io::Result<Self> {
        Walk::new(path)?.run(MAX_LINKS)
    }

    /// The file that `path` leads to, once `judge` has nothing against where it is.
    ///
    /// # Errors
    /// Those of `judge`, and of looking for it and opening it.
    pub fn opened<E: From<io::Error>>(
        path: &Path,
        judge: &dyn Fn(&Self) -> Result<(), E>,
    ) -> Result<Opened, E> {
        Self::opened_by(path, MAX_LINKS, judge)
    }

    /// The same for a `path` that was judged before: no link is followed, so the file is there and
    /// nowhere else.
    ///
    /// # Errors
    /// Those of [`Self::opened`], and if there is a link on the way.
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
        // Asked before it is opened: opening a device may do something.
        let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
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

/// A walk from the root, under way.
struct Walk {
    /// Where it is.
    path: PathBuf,
    folder: OwnedFd,
    /// The components that are left, the next one last.
    left: Vec<OsString>,
    /// Whether the end has to be a folder, by a slash after it.
    to_folder: bool,
}

impl Walk {
    fn new(path: &Path) -> io::Result<Self> {
        let to_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let mut walk = Self {
            path: PathBuf::new(),
            folder: root()?,
            left: Vec::new(),
            to_folder,
        };
        walk.go(&std::path::absolute(path)?)?;
        Ok(walk)
    }

    /// Puts the components of `path` before those that are left; an absolute one starts at the
    /// root.
    fn go(&mut self, path: &Path) -> io::Result<()> {
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
                // A folder that was moved has another parent by now than the one that was walked
                // through: so that one is walked to again.
                let mut above = std::mem::take(&mut self.path);
                above.pop();
                self.go(&above)?;
                continue;
            }
            match openat(&self.folder, &*name, FOLDER, Mode::empty()) {
                Ok(folder) => {
                    self.folder = folder;
                    self.path.push(name);
                }
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    match readlinkat(&self.folder, &*name, Vec::new()) {
                        Ok(target) => {
                            links += 1;
                            if links > max_links {
                                return Err(Errno::LOOP.into());
                            }
                            self.go(Path::new(OsStr::from_bytes(target.as_bytes())))?;
                        }
                        // No link, or no more.
                        Err(Errno::INVAL) => {
                            let meta = statat(&self.folder, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
                            match FileType::from_raw_mode(meta.st_mode) {
                                FileType::Directory | FileType::Symlink => self.left.push(name),
                                kind if self.left.is_empty() && !self.to_folder => {
                                    self.path.push(&name);
                                    return Ok(Place {
                                        path: self.path,
                                        kind,
                                        folder: self.folder,
                                        name,
                                    });
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
}

fn root() -> io::Result<OwnedFd> {
    Ok(openat(CWD, "/", FOLDER, Mode::empty())?)
}
