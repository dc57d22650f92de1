//! Opens the files that references name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::fs::FileType;

use super::candidates::near_names;
use super::lookups::Lookups;
use super::package::{Search, manifests_around, package_around};
use super::place::{Opened, Place};
use super::roots::Roots;
use super::states::{Seen, States, stamp};
use super::uri::{Reference, join_inside, normalised, parse};
use super::{Error, Package, Resolver, codes, is_out_of_descriptors};
use urdf_usd_diagnostic::did_you_mean;

/// Maximum size of a file: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// The start of a Git LFS pointer.
pub const LFS_START: &[u8] = b"version https://git-lfs.github.com";
/// The remedy for a Git LFS pointer.
pub const LFS_HELP: &str = "run `git lfs pull` in the repository that the file came from";

/// The remedy for a reference to a file that does not exist.
const PUT_IT_THERE: &str = "correct the reference, or put the file there";

/// A file with its content.
#[derive(Clone, Debug)]
pub struct File {
    /// Path with symbolic links resolved.
    pub path: PathBuf,
    /// Content.
    pub bytes: Arc<[u8]>,
}

/// A file that exists and may be read.
#[derive(Clone, Debug)]
pub struct Located {
    /// Path with symbolic links resolved.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Identifier of the file's present content: its path, length, inode and times. `None` if the
    /// file changed so recently that a further change might not alter its times.
    pub stamp: Option<String>,
}

impl From<&Opened> for Located {
    fn from(Opened { path, meta, .. }: &Opened) -> Self {
        Self {
            stamp: stamp(path, meta),
            bytes: meta.len(),
            path: path.clone(),
        }
    }
}

/// The files of one conversion.
///
/// Each file is read once, so that all readers see the same content, unless it is released by
/// [`Files::forget`]. All paths are recorded, as dependencies of the conversion.
///
/// Threads share it; the result for a reference does not depend on files opened before.
#[derive(Debug)]
pub struct Files {
    resolver: Arc<Resolver>,
    lookups: Lookups,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folders: Vec<PathBuf>,
    /// Packages found so far.
    packages: HashMap<String, Package>,
    read: HashMap<PathBuf, Arc<[u8]>>,
    used: BTreeSet<PathBuf>,
    /// States of all files opened, and of all paths that decided what references mean, when each
    /// was first examined; `None` if they are not recorded.
    seen: Option<Seen>,
    /// Ancestors of refused paths, with symbolic links resolved, up to the deepest one that exists.
    /// Empty if nothing was refused.
    refused: BTreeMap<PathBuf, Option<PathBuf>>,
    lacked_descriptors: bool,
}

impl State {
    /// Records that `path` was opened or looked for.
    fn note(&mut self, path: PathBuf) {
        self.see(&path);
        self.used.insert(path);
    }

    /// Records the state of `path`.
    fn see(&mut self, path: &Path) {
        if let Some(seen) = &mut self.seen {
            seen.note(path);
        }
    }
}

impl Files {
    /// Creates an empty set of files.
    pub fn new(resolver: Arc<Resolver>) -> Self {
        Self {
            resolver,
            lookups: Lookups::default(),
            state: Mutex::new(State {
                seen: Some(Seen::default()),
                ..State::default()
            }),
        }
    }

    /// Does not record states, which [`Self::states`] lacks then: they take a system call for each path,
    /// and only caches of outcomes need them.
    #[must_use]
    pub fn without_states(self) -> Self {
        self.state().seen = None;
        self
    }

    /// Allows reading from the URDF's `folder`, and from the package that contains it.
    pub fn allow(&self, folder: &Path) {
        let mut state = self.state();
        // The path as given, for a package installed by links, and with symbolic links resolved.
        for folder in [
            absolute(folder),
            self.lookups.real(folder).unwrap_or_default(),
        ] {
            manifests_around(&folder, &self.lookups)
                .iter()
                .for_each(|manifest| state.see(manifest));
            // A folder with `..` is added in its resolved form only: roots are compared by their
            // components. An unresolvable folder is empty here, thus relative.
            let settled =
                !folder.components().any(|c| c == Component::ParentDir) && folder.is_absolute();
            if settled && !state.folders.contains(&folder) {
                state.folders.push(folder);
            }
        }
    }

    /// Opens the input file that the user named, wherever it is, and allows its folder (see
    /// [`Files::allow`]).
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is no regular file, is unreadable, or is larger
    /// than [`MAX_BYTES`].
    pub fn input(&self, path: &Path) -> Result<File, Error> {
        self.input_within(path, MAX_BYTES)
    }

    /// Opens an input file like [`Self::input`], with a limit of `most` bytes; nothing is read of a
    /// larger file.
    ///
    /// # Errors
    /// Returns the errors of [`Files::input`].
    pub fn input_within(&self, path: &Path, max_bytes: u64) -> Result<File, Error> {
        let opened = self.open_input(path, max_bytes)?;
        self.content(opened)
    }

    /// Finds an input file like [`Self::input_within`] without reading it.
    ///
    /// # Errors
    /// Returns the errors of [`Files::input`], except those of reading.
    pub fn find_input(&self, path: &Path, max_bytes: u64) -> Result<Located, Error> {
        self.open_input(path, max_bytes)
            .map(|opened| Located::from(&opened))
    }

    fn open_input(&self, path: &Path, max_bytes: u64) -> Result<Opened, Error> {
        let path = &absolute(path);
        let shown = path.display().to_string();
        // Also if it does not exist: a watcher tries again when it does.
        self.state().note(path.clone());
        let is_exact = self.resolver.options.exact_inputs.contains(path);
        let open = if is_exact {
            Place::opened_exactly
        } else {
            Place::opened
        };
        let opened =
            open(path, &|place| self.check(&shown, place)).map_err(|fault| match fault {
                Fault::Refused(error) => error,
                Fault::Io(error) if is_absent(&error) => missing_input(path),
                Fault::Io(error) => self.unreadable(path, &error),
            })?;
        for folder in [path.parent(), opened.path.parent()].into_iter().flatten() {
            self.allow(folder);
        }
        let bytes = opened.meta.len();
        if bytes > MAX_BYTES {
            return Err(too_large(&opened.path));
        }
        if bytes > max_bytes {
            let message = format!(
                "{shown} has {bytes} bytes; the limit is {} MiB",
                max_bytes >> 20
            );
            return Err(Error::new(
                &codes::TOO_LARGE,
                message,
                "check that this is the right file: no such file needs to be that large",
            ));
        }
        Ok(opened)
    }

    /// Records that the result depends on `path`, which another program read or looked for.
    pub fn rely_on(&self, path: &Path) {
        let path = absolute(path);
        let real = path.canonicalize();
        let mut state = self.state();
        state.note(path);
        real.into_iter().for_each(|real| state.note(real));
    }

    /// Returns the package that contains `folder`, as [`package_of`](super::package_of), and its
    /// version. Each package.xml is read once.
    pub fn package_of(&self, folder: &Path) -> Option<(Package, Option<String>)> {
        let package = package_around(folder, &self.lookups)?;
        let version = self.lookups.manifest_version(&package.folder);
        Some((package, version))
    }

    /// Returns the resolver of the references.
    pub fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// Opens the file that `uri` refers to: `package://NAME/path`, `file:///path`, an absolute
    /// path, or a path relative to the folder `base`. Percent-encoding is decoded; if no such file
    /// exists, the undecoded name is tried.
    ///
    /// # Errors
    /// Returns an error with a code of [`super::codes`]; the message names the reference and the
    /// places searched, the help the remedy.
    pub fn open(&self, uri: &str, base: Option<&Path>) -> Result<File, Error> {
        let opened = self.find(uri, base)?;
        self.content(opened)
    }

    /// Finds the file that `uri` refers to like [`Self::open`], without reading it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`], except those of reading.
    pub fn locate(&self, uri: &str, base: Option<&Path>) -> Result<Located, Error> {
        self.find(uri, base).map(|opened| Located::from(&opened))
    }

    /// Opens the file at `path`, which is not a URI: nothing is decoded. The file may have any
    /// size, and its content is not cached.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`].
    pub fn open_path(&self, path: &Path) -> Result<Opened, Error> {
        let folders = self.state().folders.clone();
        self.open_first(
            &path.display().to_string(),
            &[absolute(path)],
            None,
            &folders,
        )
    }

    fn find(&self, uri: &str, base: Option<&Path>) -> Result<Opened, Error> {
        let folders = self.state().folders.clone();
        let (candidates, package) = match parse(uri)? {
            Reference::Package { name, spellings } => {
                let package = self.package(&name, &folders, uri)?;
                let inside: Option<Vec<PathBuf>> = spellings
                    .iter()
                    .map(|path| join_inside(&package.folder, path))
                    .collect();
                let Some(inside) = inside else {
                    let message = format!("\"{uri}\" leads out of the package \"{name}\"");
                    return Err(Error::new(
                        &codes::ESCAPE,
                        message,
                        "name the package that holds the file: package://NAME/path",
                    ));
                };
                (inside, Some(package))
            }
            Reference::Path { spellings } => (located(uri, &spellings, base)?, None),
        };
        let opened = self.open_first(uri, &candidates, package, &folders)?;
        if opened.meta.len() > MAX_BYTES {
            Err(too_large(&opened.path))
        } else {
            Ok(opened)
        }
    }

    /// Opens the first of `candidates` that exists, if it may be read. `folders` are those of the
    /// URDF.
    fn open_first(
        &self,
        uri: &str,
        candidates: &[PathBuf],
        package: Option<Package>,
        folders: &[PathBuf],
    ) -> Result<Opened, Error> {
        let roots = Roots {
            options: &self.resolver.options,
            folders,
            lookups: &self.lookups,
            seen: RefCell::default(),
        };
        let package_roots = package
            .map(|package| package.roots(&self.lookups))
            .unwrap_or_default();
        let allowed = |path: &Path| {
            let allowed =
                package_roots.iter().any(|root| path.starts_with(root)) || roots.allow(path);
            roots
                .seen
                .take()
                .iter()
                .for_each(|place| self.state().see(place));
            allowed
        };
        for candidate in candidates {
            let mut state = self.state();
            state.note(normalised(candidate));
            // The kernel resolves `..` after a symbolic link, so `normalised` may name another
            // file.
            state.see(candidate);
            drop(state);
            // The place is checked before the file is opened, and the file is opened relative to
            // the checked folder: see `place`.
            let judged = Place::opened(candidate, &|place| match allowed(&place.path) {
                true => self.check(uri, place),
                false => Err(self.refused(uri, (candidate, &place.path), &roots).into()),
            });
            match judged {
                Ok(opened) => return Ok(opened),
                Err(Fault::Refused(error)) => return Err(error),
                Err(Fault::Io(error)) if is_absent(&error) => {}
                // Outside of the allowed folders, this error would reveal what exists there.
                Err(Fault::Io(error))
                    if existing_part(candidate).is_some_and(|real| allowed(&real)) =>
                {
                    return Err(self.unreadable(candidate, &error));
                }
                Err(Fault::Io(_)) => {
                    return Err(self.refused(uri, (candidate, &normalised(candidate)), &roots));
                }
            }
        }
        let candidate = normalised(candidates.first().map_or(Path::new(""), PathBuf::as_path));
        // Do not reveal whether files outside the allowed folders exist: the error is the same for
        // a missing file.
        if existing_part(&candidate).is_some_and(|real| allowed(&real)) {
            Err(missing(uri, &candidate))
        } else {
            Err(self.refused(uri, (&candidate, &candidate), &roots))
        }
    }

    /// Returns all paths that were opened or looked for in vain, sorted: the paths to watch for
    /// changes. A file reached through symbolic links is listed under both paths.
    pub fn used(&self) -> Vec<PathBuf> {
        self.state().used.iter().cloned().collect()
    }

    /// Returns the states of all paths that decided how references resolve, each from when it was
    /// first examined. Anything that changed since `started` is marked as unreliable.
    pub fn states(&self, started: SystemTime) -> States {
        let state = self.state();
        let seen = state.seen.as_ref().map(Seen::states);
        let states = seen.unwrap_or_default().since(started);
        // A refusal also depends on where the allowed folders lead.
        let roots = if state.refused.is_empty() {
            Vec::new()
        } else {
            self.lookups.real_paths()
        };
        states.with_real(state.refused.clone().into_iter().chain(roots))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements, so a panic elsewhere does not damage
        // it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn package(&self, name: &str, folders: &[PathBuf], uri: &str) -> Result<Package, Error> {
        // A package found once stays valid: further URDF folders come last in the search order.
        if let Some(package) = self.state().packages.get(name) {
            return Ok(package.clone());
        }
        // The lock is not held meanwhile: the search reads from disk, and other threads open files.
        let mut search = Search::new(name, &self.lookups);
        let found = search.run(&self.resolver.options, folders);
        let mut state = self.state();
        search.seen.iter().for_each(|place| state.see(place));
        let Some(package) = found else {
            state
                .used
                .extend(search.looked.iter().map(|(place, _)| place.clone()));
            return Err(search.error(uri));
        };
        state.packages.insert(name.to_owned(), package.clone());
        Ok(package)
    }

    /// Returns the error for `path`, which `candidate` led to and which is outside the `roots`.
    /// Records where the ancestors of `candidate` lead, up to the deepest one that exists: the
    /// refusal depends on them.
    fn refused(&self, uri: &str, (candidate, path): (&Path, &Path), roots: &Roots) -> Error {
        let mut state = self.state();
        for part in candidate.ancestors() {
            let real = part.canonicalize().ok();
            let is_there = real.is_some();
            state.refused.insert(part.to_owned(), real);
            if is_there {
                break;
            }
        }
        drop(state);
        not_allowed(uri, path, roots)
    }

    /// Records that a permitted file was examined, and checks that it is a regular file.
    fn check(&self, uri: &str, place: &Place) -> Result<(), Fault> {
        self.state().note(place.path.clone());
        let what = match place.kind {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => "a folder",
            _ => "a special file",
        };
        let message = format!(
            "\"{uri}\" leads to {}, which is {what}, not a regular file",
            place.path.display()
        );
        Err(Error::new(&codes::NOT_A_FILE, message, "name a file").into())
    }

    /// Reads a file that was located before. Another file may have replaced it meanwhile and is
    /// read instead; a symbolic link in its place is not followed.
    ///
    /// # Errors
    /// Returns an error if the file can't be read or is larger than [`MAX_BYTES`].
    pub fn read(&self, located: &Located) -> Result<File, Error> {
        let path = &located.path;
        if let Some(bytes) = self.state().read.get(path) {
            return Ok(File {
                bytes: bytes.clone(),
                path: path.clone(),
            });
        }
        let opened = Place::opened_exactly(path, &|_| Ok::<_, io::Error>(()));
        self.content(opened.map_err(|error| self.unreadable(path, &error))?)
    }

    /// Returns the content of an open file, as of the first read of its path.
    fn content(&self, opened: Opened) -> Result<File, Error> {
        let Opened { path, file, meta } = opened;
        if let Some(bytes) = self.state().read.get(&path) {
            return Ok(File {
                bytes: bytes.clone(),
                path,
            });
        }
        let bytes = content(file, meta.len())
            .map_err(|error| self.unreadable(&path, &error))?
            .ok_or_else(|| too_large(&path))?;
        if is_lfs_pointer(&bytes) {
            let message = format!(
                "{} is a Git LFS pointer, not the file itself",
                path.display()
            );
            return Err(Error::new(&codes::GIT_LFS, message, LFS_HELP));
        }
        // If two threads read the file at once, the first content is kept: all readers see the
        // same bytes.
        let bytes = self
            .state()
            .read
            .entry(path.clone())
            .or_insert(bytes)
            .clone();
        Ok(File { path, bytes })
    }

    /// Returns the error for an unreadable file; records a lack of file descriptors.
    fn unreadable(&self, path: &Path, error: &io::Error) -> Error {
        self.note_failure(error);
        unreadable(path, error)
    }

    /// Records whether an operation on a file failed for lack of file descriptors.
    pub fn note_failure(&self, error: &io::Error) {
        if is_out_of_descriptors(error) {
            self.state().lacked_descriptors = true;
        }
    }

    /// Returns whether a file could not be opened because too many files were open: a later attempt
    /// may succeed.
    pub fn lacked_descriptors(&self) -> bool {
        self.state().lacked_descriptors
    }

    /// Releases the cached content of a file that is not needed again, to save memory. A later read
    /// returns the content of the file at that time.
    pub fn forget(&self, located: &Located) {
        self.state().read.remove(&located.path);
    }
}

/// The reason why a file is not read.
enum Fault {
    /// Reading it is not allowed.
    Refused(Error),
    /// An I/O error.
    Io(io::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Reads a file that had `length` bytes; `None` if it is larger than [`MAX_BYTES`].
fn content(mut file: fs::File, length: u64) -> io::Result<Option<Arc<[u8]>>> {
    // Read straight into the shared buffer, to avoid a copy. The length is right unless the file is
    // being written.
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(
        0,
        usize::try_from(length.min(MAX_BYTES)).unwrap_or_default(),
    )
    .collect();
    let buffer = Arc::get_mut(&mut bytes).unwrap_or_default();
    let mut filled = 0;
    while let Some(free) = buffer.get_mut(filled..).filter(|free| !free.is_empty()) {
        match file.read(free) {
            Ok(0) => return Ok(Some(buffer.get(..filled).unwrap_or_default().into())),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut more = Vec::new();
    // One byte more than the limit distinguishes a file at the limit from a larger one.
    file.take((MAX_BYTES + 1).saturating_sub(filled as u64))
        .read_to_end(&mut more)?;
    if more.is_empty() {
        return Ok(Some(bytes));
    }
    let all = [&*bytes, &more].concat();
    Ok((all.len() as u64 <= MAX_BYTES).then(|| all.into()))
}

/// Returns whether the content of a file is, or begins like, a Git LFS pointer.
pub fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(LFS_START)
}

fn too_large(path: &Path) -> Error {
    let message = format!("{} is larger than the limit of 1 GiB", path.display());
    Error::new(
        &codes::TOO_LARGE,
        message,
        "simplify the mesh or shrink the image",
    )
}

/// Returns the paths of the spellings of a reference. A relative path starts at `base`; `..` is
/// left to the file system.
fn located(uri: &str, spellings: &[String], base: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let located = |path: &Path| match base {
        _ if path.is_absolute() => Ok(path.to_owned()),
        Some(base) => Ok(absolute(base).join(path)),
        None => {
            let message = format!(
                "\"{uri}\" is relative, but the text that contains it came without a folder"
            );
            let help = "use package://NAME/path, or convert the URDF file instead of its text";
            Err(Error::new(&codes::NO_BASE, message, help))
        }
    };
    spellings
        .iter()
        .map(|spelling| located(Path::new(spelling)))
        .collect()
}

/// Returns `path` as an absolute path, or unchanged if the current folder is unknown.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the deepest existing ancestor of `path`, with symbolic links resolved.
fn existing_part(path: &Path) -> Option<PathBuf> {
    normalised(path)
        .ancestors()
        .find_map(|folder| folder.canonicalize().ok())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    if is_out_of_descriptors(error) {
        return Error::too_many_open(format!("{} can't be read: {error}", path.display()));
    }
    let help = "check the file's permissions and those of the folders above it";
    Error::new(
        &codes::UNREADABLE,
        format!("{} can't be read: {error}", path.display()),
        help,
    )
}

fn not_allowed(uri: &str, path: &Path, roots: &Roots) -> Error {
    let mut message = format!(
        "\"{uri}\" leads to {}, outside the folders that may be read",
        path.display()
    );
    let names = roots.names();
    if !names.is_empty() {
        message.push(':');
        for name in names {
            message.push_str(&format!("\n  {}", name.display()));
        }
    }
    let help = "refer to it as package://NAME/path with --package NAME=DIR, or add its folder to the allowed roots";
    Error::new(&codes::NOT_ALLOWED, message, help)
}

/// Returns the error for a file that the user named, and that does not exist.
pub fn missing_input(path: &Path) -> Error {
    let shown = path.display().to_string();
    let error = missing(&shown, &normalised(&absolute(path)));
    let help = if error.help == PUT_IT_THERE {
        "give the path of an existing file; it starts from the working directory unless it begins with /"
            .to_owned()
    } else {
        error.help
    };
    Error { help, ..error }
}

/// Returns the error for `path`, which contains no `..`, does not exist, and may be reported.
fn missing(uri: &str, path: &Path) -> Error {
    let mut message = format!("\"{uri}\" does not exist");
    let mut help = String::new();
    let gap = path
        .ancestors()
        .find(|part| part.parent().is_some_and(Path::is_dir))
        .unwrap_or(path);
    if let Ok(target) = fs::read_link(gap) {
        let which = match gap == path {
            true => "it".to_owned(),
            false => gap.display().to_string(),
        };
        message.push_str(&format!(
            ": {which} is a symbolic link to {}, and nothing is there",
            target.display()
        ));
        "restore the target of the link, or replace the link".clone_into(&mut help);
    } else if let (Some(folder), Some(name)) = (gap.parent(), gap.file_name()) {
        let what = if gap == path { "file" } else { "folder" };
        let name = name.to_string_lossy();
        // If the reference is the path itself, do not repeat its parts.
        if gap != path || Path::new(uri) != path {
            message.push_str(&format!(": no {what} \"{name}\" in {}", folder.display()));
        }
        if let Some(question) = did_you_mean(near_names(folder, &name)) {
            help = question;
        } else if uri.contains('\\') {
            "write / between folders, not \\".clone_into(&mut help);
        }
    } else {
        message.push_str(&format!(": {}", path.display()));
    }
    if help.is_empty() {
        PUT_IT_THERE.clone_into(&mut help);
    }
    Error::new(&codes::MISSING_FILE, message, help).because("", uri)
}
