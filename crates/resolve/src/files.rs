//! Opening what references name.

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
use super::package::{Search, manifests_around};
use super::place::{Opened, Place};
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
    /// What tells this content from others that the file may have had: its path, length, inode and
    /// times. `None` if it changed so lately that another change might not show.
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

/// The files of one conversion: each is read once, so that all readers see the same content, unless
/// it is let go of ([`Files::forget`]). All are remembered.
///
/// It can be shared between threads; the answer to a reference does not depend on what was opened
/// before it.
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
    /// What all that was opened, and all that decides what references mean, was like when it was
    /// first looked at.
    seen: Seen,
    /// Where what was refused is, symbolic links resolved: the deepest part of it that there is.
    /// Empty if nothing was refused.
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
        Self {
            resolver,
            lookups: Lookups::default(),
            state: Mutex::default(),
        }
    }

    /// Says that the URDF is in `folder`: what is in it, or in the package that it belongs to, may
    /// be read.
    pub fn allow(&self, folder: &Path) {
        let mut state = self.state();
        // As given, for a package that was installed by links, and as the file system has it.
        for folder in [
            absolute(folder),
            self.lookups.real(folder).unwrap_or_default(),
        ] {
            manifests_around(&folder, &self.lookups)
                .iter()
                .for_each(|manifest| state.seen.note(manifest));
            let settled =
                !folder.components().any(|c| c == Component::ParentDir) && folder.is_absolute();
            if settled && !state.folders.contains(&folder) {
                state.folders.push(folder);
            }
        }
    }

    /// Opens the file that a person named as the input, wherever it is, and allows its folder (see
    /// [`Files::allow`]).
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
        let opened = self.open_input(path, most)?;
        self.content(opened)
    }

    /// The same without reading it.
    ///
    /// # Errors
    /// Those of [`Files::input`], but for files that cannot be read.
    pub fn find_input(&self, path: &Path, most: u64) -> Result<Located, Error> {
        self.open_input(path, most)
            .map(|opened| Located::from(&opened))
    }

    fn open_input(&self, path: &Path, most: u64) -> Result<Opened, Error> {
        let path = &absolute(path);
        let shown = path.display().to_string();
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
                Fault::Io(error) if is_absent(&error) => missing(&shown, path),
                Fault::Io(error) => self.unreadable(path, &error),
            })?;
        for folder in [path.parent(), opened.path.parent()].into_iter().flatten() {
            self.allow(folder);
        }
        let bytes = opened.meta.len();
        if bytes > MAX_BYTES {
            return Err(too_large(&opened.path));
        }
        if bytes > most {
            let message = format!("{shown} has {bytes} bytes; the limit is {} MiB", most >> 20);
            return Err(Error::new(
                &codes::TOO_LARGE,
                message,
                "no such file needs to be that large; is it the right one?",
            ));
        }
        Ok(opened)
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

    /// Opens the file that `uri` means: `package://NAME/path`, `file:///path`, an absolute path, or
    /// one relative to the folder `base`. Percent-encoding is decoded; a file whose name really has
    /// it is found too.
    ///
    /// # Errors
    /// Each kind of failure has its code in [`super::codes`]; the message names the reference and
    /// the places, the help the remedy.
    pub fn open(&self, uri: &str, base: Option<&Path>) -> Result<File, Error> {
        let opened = self.find(uri, base)?;
        self.content(opened)
    }

    /// Finds the file that `uri` means, as [`Self::open`] does, without reading it.
    ///
    /// # Errors
    /// Those of [`Self::open`], but for files that cannot be read.
    pub fn locate(&self, uri: &str, base: Option<&Path>) -> Result<Located, Error> {
        self.find(uri, base).map(|opened| Located::from(&opened))
    }

    /// Opens the file at `path`, which is no URI: nothing in it is decoded. It may have any size,
    /// and its content is not remembered.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_path(&self, path: &Path) -> Result<Opened, Error> {
        let folders = self.state().folders.clone();
        self.first(
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
        let opened = self.first(uri, &candidates, package, &folders)?;
        if opened.meta.len() > MAX_BYTES {
            Err(too_large(&opened.path))
        } else {
            Ok(opened)
        }
    }

    /// Opens the first of `candidates` that exists, if it may be read. `folders`: those of the
    /// URDF.
    fn first(
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
                .for_each(|place| self.state().seen.note(place));
            allowed
        };
        for candidate in candidates {
            let mut state = self.state();
            state.note(normalised(candidate));
            // Where a link comes before `..`, the file system goes another way than the spelling.
            state.seen.note(candidate);
            drop(state);
            // Where it is, is judged before it is opened, and what was judged is opened.
            let judged = Place::opened(candidate, &|place| match allowed(&place.path) {
                true => self.check(uri, place),
                false => Err(self.refused(uri, (candidate, &place.path), &roots).into()),
            });
            match judged {
                Ok(opened) => return Ok(opened),
                Err(Fault::Refused(error)) => return Err(error),
                Err(Fault::Io(error)) if is_absent(&error) => {}
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
        // What exists outside is nobody's business: the answer there is the same for a missing
        // file.
        if existing_part(&candidate).is_some_and(|real| allowed(&real)) {
            Err(missing(uri, &candidate))
        } else {
            Err(self.refused(uri, (&candidate, &candidate), &roots))
        }
    }

    /// All files that were opened, and those that were looked for and are not there, sorted: what
    /// to watch for changes. A file that was reached through symbolic links is listed with both its
    /// paths.
    pub fn used(&self) -> Vec<PathBuf> {
        self.state().used.iter().cloned().collect()
    }

    /// The states of all that decided what came of references, as they were when each was first
    /// looked at. What changed since `started` is in no state to rely on.
    pub fn states(&self, started: SystemTime) -> States {
        let state = self.state();
        let states = state.seen.states().since(started);
        // What may be read depends on where the folders are that may be.
        let roots = if state.refused.is_empty() {
            Vec::new()
        } else {
            self.lookups.asked()
        };
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
            state
                .used
                .extend(search.looked.iter().map(|(place, _)| place.clone()));
            return Err(search.error(uri));
        };
        state.packages.insert(name.to_owned(), package.clone());
        Ok(package)
    }

    /// The error for `path`, which lies in none of the `roots`, and what `candidate` led to. It
    /// notes where that is by now, or the deepest folder above it that there is, and which are not
    /// there.
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

    /// Notes that a file that may be read is looked at, and whether it is one, of a size that is
    /// read.
    fn check(&self, uri: &str, place: &Place) -> Result<(), Fault> {
        self.state().note(place.path.clone());
        let what = match place.kind {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => "a folder",
            _ => "no regular file",
        };
        let message = format!(
            "\"{uri}\" leads to {}, which is {what}",
            place.path.display()
        );
        Err(Error::new(&codes::NOT_A_FILE, message, "name a file").into())
    }

    /// Reads a file that was located. It may have been replaced since, by one that is read, or by a
    /// link, which is not followed.
    ///
    /// # Errors
    /// If it can't be read, or is too large.
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

    /// The content of an open file, as it was when it was first read.
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
        let bytes = self
            .state()
            .read
            .entry(path.clone())
            .or_insert(bytes)
            .clone();
        Ok(File { path, bytes })
    }

    /// Returns the error for a file that can't be read, and notes a lack of descriptors.
    fn unreadable(&self, path: &Path, error: &io::Error) -> Error {
        self.note_failure(error);
        unreadable(path, error)
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

    /// Lets go of the content of a file that nobody is going to read again, which takes memory.
    /// Whoever does so all the same gets what is in it then.
    pub fn forget(&self, located: &Located) {
        self.state().read.remove(&located.path);
    }
}

/// Why a file is not read.
enum Fault {
    /// It may not be.
    Refused(Error),
    /// It is not there, or can't be.
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

/// What is in a file, which was seen to have `length` bytes; `None` if it is more than
/// [`MAX_BYTES`].
fn content(mut file: fs::File, length: u64) -> io::Result<Option<Arc<[u8]>>> {
    // Read to where it stays. It is as long as it was seen to be, but for one that is being
    // written.
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
    file.take((MAX_BYTES + 1).saturating_sub(filled as u64))
        .read_to_end(&mut more)?;
    if more.is_empty() {
        return Ok(Some(bytes));
    }
    let all = [&*bytes, &more].concat();
    Ok((all.len() as u64 <= MAX_BYTES).then(|| all.into()))
}

fn too_large(path: &Path) -> Error {
    let message = format!("{} is larger than the limit of 1 GiB", path.display());
    Error::new(
        &codes::TOO_LARGE,
        message,
        "simplify the mesh or shrink the image",
    )
}

/// Where the spellings of a path lead. A relative one starts from `base`, and `..` means what it
/// means to the file system.
fn located(uri: &str, spellings: &[String], base: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let located = |path: &Path| match base {
        _ if path.is_absolute() => Ok(path.to_owned()),
        Some(base) => Ok(absolute(base).join(path)),
        None => {
            let message =
                format!("\"{uri}\" is relative, but the text that refers to it has no folder");
            let help = "write package://NAME/path, or convert the file instead of its text";
            Err(Error::new(&codes::NO_BASE, message, help))
        }
    };
    spellings
        .iter()
        .map(|spelling| located(Path::new(spelling)))
        .collect()
}

/// `path` from the root; as it is if there is no current folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The deepest folder above `path` that exists, symbolic links resolved.
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
    let help = "refer to the file with package://NAME/path and give --package NAME=DIR, or add its folder to the allowed roots";
    Error::new(&codes::NOT_ALLOWED, message, help)
}

/// The error for `path`, which is free of `..`, does not exist, and may be asked for.
fn missing(uri: &str, path: &Path) -> Error {
    let mut message = format!("\"{uri}\" does not exist");
    let mut help = String::new();
    let gap = path
        .ancestors()
        .find(|part| part.parent().is_some_and(Path::is_dir))
        .unwrap_or(path);
    if let (Some(folder), Some(name)) = (gap.parent(), gap.file_name()) {
        let what = if gap == path { "file" } else { "folder" };
        let name = name.to_string_lossy();
        // A path that is told already is not told in parts.
        if gap != path || Path::new(uri) != path {
            message.push_str(&format!(
                ": there is no {what} \"{name}\" in {}",
                folder.display()
            ));
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
