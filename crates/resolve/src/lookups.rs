//! What the file system says of the folders that may be read and of packages, asked once for each:
//! of the hundreds of references of a robot, most ask for the same few. Where a file itself is that
//! somebody is about to open, is asked anew each time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::package::{MANIFEST, manifest_text};

/// Answers that were given, for as long as one conversion takes. It can be shared between threads.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// Paths, symbolic links resolved; `None` where there is nothing.
    real: Mutex<HashMap<PathBuf, Option<PathBuf>>>,
    /// What there is to say of the package.xml of folders; `None` where there is none.
    manifests: Mutex<HashMap<PathBuf, Option<Manifest>>>,
}

/// A package.xml.
#[derive(Clone, Debug)]
struct Manifest {
    /// `None` if it can't be read, or says no name.
    name: Option<String>,
}

impl Lookups {
    /// The file or folder `path`, symbolic links resolved, if it exists.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        once(&self.real, path, || path.canonicalize().ok())
    }

    /// All that [`Self::real`] was asked for, and what it said.
    pub fn asked(&self) -> Vec<(PathBuf, Option<PathBuf>)> {
        let real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        real.iter()
            .map(|(path, real)| (path.clone(), real.clone()))
            .collect()
    }

    /// Whether `folder` has a package.xml.
    pub fn has_manifest(&self, folder: &Path) -> bool {
        self.manifest(folder).is_some()
    }

    /// The `<name>` in the package.xml of `folder`.
    pub fn manifest_name(&self, folder: &Path) -> Option<String> {
        self.manifest(folder)?.name
    }

    fn manifest(&self, folder: &Path) -> Option<Manifest> {
        once(&self.manifests, folder, || {
            folder.join(MANIFEST).is_file().then(|| Manifest {
                name: manifest_text(folder, "name"),
            })
        })
    }
}

/// The answer for `path`: that which was given before, or the one that `ask` gives.
fn once<T: Clone>(known: &Mutex<HashMap<PathBuf, T>>, path: &Path, ask: impl FnOnce() -> T) -> T {
    // What is known is whole between any two statements, so a panic elsewhere does not spoil it.
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = lock().get(path) {
        return answer.clone();
    }
    let answer = ask();
    // Of two that asked at once, the first answer stays.
    lock().entry(path.to_owned()).or_insert(answer).clone()
}
