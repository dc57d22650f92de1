//! Opening what references name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::candidates::near_names;
use super::lookups::Lookups;
use super::package::{Search, manifests_around};
use super::roots::Roots;
use super::states::{Seen, States, stamp};
use super::uri::{Reference, join_inside, normalised, parse};
use super::{Error, Package, Resolver, codes, is_out_of_descriptors};
use urdf_usd_diagnostic::did_you_mean;

/// The largest file that is read: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is, symbolic links resolved.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Arc<[u8]>,
}

/// A file that was found and may be read.
#[derive(Clone, Debug)]
pub struct Located {
    /// Where it is, symbolic links resolved.
    pub path: PathBuf,
    /// How long it is.
    pub bytes: u64,
    /// What tells this content from others that the file may have had: its path, length, inode and times. `None` if it changed so lately
    /// that another change might not show.
    pub stamp: Option<String>,
}

/// The files of one conversion: each is read once, so that all readers see the same content, unless it is let go of ([`Files::forget`]).
/// All are remembered.
///
/// It can be shared between threads; the answer to a reference does not depend on what was opened before it.
#[derive(Debug)]
pub struct Files {
    resolver: Arc<Resolver>,
    lookups: Lookups,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folders: Vec<PathBuf>,
    /// Packages that were found.
    packages: HashMap<String, Package>,
    read: HashMap<PathBuf, Arc<[u8]>>,
    used: BTreeSet<PathBuf>,
    /// What all that was opened, and all that decides what references mean, was like when it was first looked at.
    seen: Seen,
    /// Where what was refused is, symbolic links resolved: the deepest part of it that there is. Empty if nothing was refused.
    refused: BTreeMap<PathBuf, Option<PathBuf>>,
    lacked_descriptors: bool,
}

impl State {
    /// Remembers that `path` was opened or looked for.
    fn note(&mut self, path: PathBuf) {
        self.seen.note(&path);
        self.used.insert(path);
    }
}

impl Files {
    /// No files yet.
    pub fn new(resolver: Arc<Resolver>) -> Self {
        Self { resolver, lookups: Lookups::default(), state: Mutex::default() }
    }

    /// Says that the URDF is in `folder`: what is in it, or in the package that it belongs to, may be read.
    pub fn allow(&self, folder: &Path) {
        let mut state = self.state();
        // As given, for a package that was installed by links, and as the file system has it.
        for folder in [absolute(folder), self.lookups.real(folder).unwrap_or_default()] {
            manifests_around(&folder, &self.lookups).iter().for_each(|manifest| state.seen.note(manifest));
            let settled = !folder.components().any(|c| c == Component::ParentDir) && folder.is_absolute();
            if settled && !state.folders.contains(&folder) {
                state.folders.push(folder);
            }
        }
    }

    /// Opens the file that a person named as the input, wherever it is, and allows its folder (see [`Files::allow`]).
    ///
    /// # Errors
    /// If it does not exist, is no file, is unreadable or too large.
    pub fn input(&self, path: &Path) -> Result<File, Error> {
        self.input_within(path, MAX_BYTES)
    }

    /// The same for a file of at most `most` bytes: of a larger one nothing is read.
    ///
    /// # Errors
    /// Those of [`Files::input`].
    pub fn input_within(&self, path: &Path, most: u64) -> Result<File, Error> {
        self.read(&self.find_input(path, most)?)
    }

    /// The same without reading it.
    ///
    /// # Errors
    /// Those of [`Files::input`], but for files that cannot be read.
    pub fn find_input(&self, path: &Path, most: u64) -> Result<Located, Error> {
        let path = &absolute(path);
        let shown = path.display().to_string();
        self.state().note(path.clone());
        let real = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(&shown, path),
            _ => unreadable(path, &error),
        })?;
        for folder in [path.parent(), real.parent()].into_iter().flatten() {
            self.allow(folder);
        }
        let located = self.found(&shown, real)?;
        if located.bytes > most {
            let message = format!("{shown} has {} bytes; the limit is {} MiB", located.bytes, most >> 20);
            return Err(Error::new(&codes::TOO_LARGE, message, "no such file needs to be that large; is it the right one?"));
        }
        Ok(located)
    }

    /// Says that the outcome depends on `path`, which another program read or looked for.
    pub fn rely_on(&self, path: &Path) {
        let path = absolute(path);
        let real = path.canonicalize();
        let mut state = self.state();
        state.note(path);
        real.into_iter().for_each(|real| state.note(real));
    }

    /// What references are resolved by.
    pub fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// Opens the file that `uri` means: `package://NAME/path`, `file:///path`, an absolute path, or one relative to the folder
    /// `base`. Percent-encoding is decoded; a file whose name really has it is found too.
    ///
    /// # Errors
    /// Each kind of failure has its code in [`super::codes`]; the message names the reference and the places, the help the remedy.
    pub fn open(&self, uri: &str, base: Option<&Path>) -> Result<File, Error> {
        self.read(&self.locate(uri, base)?)
    }

    /// Finds the file that `uri` means, as [`Self::open`] does, without reading it.
    ///
    /// # Errors
    /// Those of [`Self::open`], but for files that cannot be read.
    pub fn locate(&self, uri: &str, base: Option<&Path>) -> Result<Located, Error> {
        let folders = self.state().folders.clone();
        let (candidates, package) = match parse(uri)? {
            Reference::Package { name, spellings } => {
                let package = self.package(&name, &folders, uri)?;
                let inside: Option<Vec<PathBuf>> = spellings.iter().map(|path| join_inside(&package.folder, path)).collect();
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
        let roots =
            Roots { options: &self.resolver.options, folders: &folders, lookups: &self.lookups, seen: RefCell::default() };
        let package_roots = package.map(|package| package.roots(&self.lookups)).unwrap_or_default();
        let allowed = |path: &Path| {
            let allowed = package_roots.iter().any(|root| path.starts_with(root)) || roots.allow(path);
            roots.seen.take().iter().for_each(|place| self.state().seen.note(place));
            allowed
        };
        for candidate in &candidates {
            let mut state = self.state();
            state.note(normalised(candidate));
            // Where a link comes before `..`, the file system goes another way than the spelling.
            state.seen.note(candidate);
            drop(state);
            match candidate.canonicalize() {
                Ok(real) if allowed(&real) => return self.found(uri, real),
                Ok(real) => return Err(self.refused(uri, (candidate, &real), &roots)),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) if existing_part(candidate).is_some_and(|real| allowed(&real)) => {
                    return Err(unreadable(candidate, &error));
                }
                Err(_) => return Err(self.refused(uri, (candidate, &normalised(candidate)), &roots)),
            }
        }
        let candidate = normalised(candidates.first().map_or(Path::new(""), PathBuf::as_path));
        // What exists outside is nobody's business: the answer there is the same for a missing file.
        if existing_part(&candidate).is_some_and(|real| allowed(&real)) {
            Err(missing(uri, &candidate))
        } else {
            Err(self.refused(uri, (&candidate, &candidate), &roots))
        }
    }

    /// All files that were opened, and those that were looked for and are not there, sorted: what to watch for changes. A file
    /// that was reached through symbolic links is listed with both its paths.
    pub fn used(&self) -> Vec<PathBuf> {
        self.state().used.iter().cloned().collect()
    }

    /// The states of all that decided what came of references, as they were when each was first looked at. What changed since `started`
    /// is in no state to rely on.
    pub fn states(&self, started: SystemTime) -> States {
        let state = self.state();
        let states = state.seen.states().since(started);
        // What may be read depends on where the folders are that may be.
        let roots = if state.refused.is_empty() { Vec::new() } else { self.lookups.asked() };
        states.with_real(state.refused.clone().into_iter().chain(roots))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn package(&self, name: &str, folders: &[PathBuf], uri: &str) -> Result<Package, Error> {
        // With more folders of URDFs, a package is still found where it was.
        if let Some(package) = self.state().packages.get(name) {
            return Ok(package.clone());
        }
        let mut search = Search::new(name, &self.lookups);
        let found = search.run(&self.resolver.options, folders);
        let mut state = self.state();
        search.seen.iter().for_each(|place| state.seen.note(place));
        let Some(package) = found else {
            state.used.extend(search.looked.iter().map(|(place, _)| place.clone()));
            return Err(search.error(uri));
        };
        state.packages.insert(name.to_owned(), package.clone());
        Ok(package)
    }

    /// The error for `path`, which lies in none of the `roots`, and what `candidate` led to. It notes where that is by now, or the deepest folder
    /// above it that there is, and which are not there.
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

    /// The file `real`, which is free of symbolic links and may be read.
    fn found(&self, uri: &str, real: PathBuf) -> Result<Located, Error> {
        self.state().note(real.clone());
        // Asked before it is opened: opening a pipe would wait for its other end.
        let meta = fs::metadata(&real).map_err(|error| unreadable(&real, &error))?;
        if !meta.is_file() {
            let what = if meta.is_dir() { "a folder" } else { "no regular file" };
            let message = format!("\"{uri}\" leads to {}, which is {what}", real.display());
            return Err(Error::new(&codes::NOT_A_FILE, message, "name a file"));
        }
        if meta.len() > MAX_BYTES {
            return Err(too_large(&real));
        }
        Ok(Located { stamp: stamp(&real, &meta), bytes: meta.len(), path: real })
    }

    /// Reads a file that was located.
    ///
    /// # Errors
    /// If it can't be read, or is too large.
    pub fn read(&self, located: &Located) -> Result<File, Error> {
        let Located { path, bytes: length, .. } = located;
        if let Some(bytes) = self.state().read.get(path) {
            return Ok(File { bytes: bytes.clone(), path: path.clone() });
        }
        let bytes = content(path, *length)
            .map_err(|error| {
                self.note_failure(&error);
                unreadable(path, &error)
            })?
            .ok_or_else(|| too_large(path))?;
        let bytes = self.state().read.entry(path.clone()).or_insert(bytes).clone();
        Ok(File { path: path.clone(), bytes })
    }

    /// Notes whether an operation on one of the files failed for want of descriptors.
    pub fn note_failure(&self, error: &io::Error) {
        if is_out_of_descriptors(error) {
            self.state().lacked_descriptors = true;
        }
    }

    /// Whether some file could not be opened because too many were: reading it later may succeed.
    pub fn lacked_descriptors(&self) -> bool {
        self.state().lacked_descriptors
    }

    /// Lets go of the content of a file that nobody is going to read again, which takes memory. Whoever does so all the same gets what is
    /// in it then.
    pub fn forget(&self, located: &Located) {
        self.state().read.remove(&located.path);
    }
}

/// What is in a file, which was seen to have `length` bytes; `None` if it is more than [`MAX_BYTES`].
fn content(path: &Path, length: u64) -> io::Result<Option<Arc<[u8]>>> {
    let mut file = fs::File::open(path)?;
    // Read to where it stays. It is as long as it was seen to be, but for one that is being written.
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, usize::try_from(length.min(MAX_BYTES)).unwrap_or_default()).collect();
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
    file.take((MAX_BYTES + 1).saturating_sub(filled as u64)).read_to_end(&mut more)?;
    if more.is_empty() {
        return Ok(Some(bytes));
    }
    let all = [&*bytes, &more].concat();
    Ok((all.len() as u64 <= MAX_BYTES).then(|| all.into()))
}

fn too_large(path: &Path) -> Error {
    let message = format!("{} is larger than the limit of 1 GiB", path.display());
    Error::new(&codes::TOO_LARGE, message, "simplify the mesh or shrink the image")
}

/// Where the spellings of a path lead. A relative one starts from `base`, and `..` means what it means to the file system.
fn located(uri: &str, spellings: &[String], base: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let located = |path: &Path| match base {
        _ if path.is_absolute() => Ok(path.to_owned()),
        Some(base) => Ok(absolute(base).join(path)),
        None => {
            let message = format!("\"{uri}\" is relative, but the text that refers to it has no folder");
            let help = "write package://NAME/path, or convert the file instead of its text";
            Err(Error::new(&codes::NO_BASE, message, help))
        }
    };
    spellings.iter().map(|spelling| located(Path::new(spelling))).collect()
}

/// `path` from the root; as it is if there is no current folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The deepest folder above `path` that exists, symbolic links resolved.
fn existing_part(path: &Path) -> Option<PathBuf> {
    normalised(path).ancestors().find_map(|folder| folder.canonicalize().ok())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    if is_out_of_descriptors(error) {
        return Error::too_many_open(format!("{} can't be read: {error}", path.display()));
    }
    let help = "check the file's permissions and those of the folders above it";
    Error::new(&codes::UNREADABLE, format!("{} can't be read: {error}", path.display()), help)
}

fn not_allowed(uri: &str, path: &Path, roots: &Roots) -> Error {
    let mut message = format!("\"{uri}\" leads to {}, outside the folders that may be read", path.display());
    let names = roots.names();
    if !names.is_empty() {
        message.push(':');
        for name in names {
            message.push_str(&format!("\n  {}", name.display()));
        }
    }
    let help = "refer to the file with package://NAME/path and give --package NAME=DIR, or add its folder to the allowed roots";
    Error::new(&codes::NOT_ALLOWED, message, help)
}

/// The error for `path`, which is free of `..`, does not exist, and may be asked for.
fn missing(uri: &str, path: &Path) -> Error {
    let mut message = format!("\"{uri}\" does not exist");
    let mut help = String::new();
    let gap = path.ancestors().find(|part| part.parent().is_some_and(Path::is_dir)).unwrap_or(path);
    if let (Some(folder), Some(name)) = (gap.parent(), gap.file_name()) {
        let what = if gap == path { "file" } else { "folder" };
        let name = name.to_string_lossy();
        // A path that is told already is not told in parts.
        if gap != path || Path::new(uri) != path {
            message.push_str(&format!(": there is no {what} \"{name}\" in {}", folder.display()));
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
        "correct the reference, or put the file there".clone_into(&mut help);
    }
    Error::new(&codes::MISSING_FILE, message, help).because("", uri)
}
