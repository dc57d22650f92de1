//! Caches what the file system says about allowed folders and packages: most of a robot's hundreds
//! of references ask for the same few. Paths of files that are about to be opened are not cached.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::package::{MANIFEST, Manifest, read_manifest};

/// A cache that lives as long as one conversion. Threads share it.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// Paths with symbolic links resolved; `None` if they do not exist.
    real: Mutex<HashMap<PathBuf, Option<PathBuf>>>,
    /// The package.xml of folders; `None` if there is none.
    manifests: Mutex<HashMap<PathBuf, Option<Manifest>>>,
}

impl Lookups {
    /// Returns `path` with symbolic links resolved, if it exists.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        cached(&self.real, path, || path.canonicalize().ok())
    }

    /// Returns all arguments and results of [`Self::real`] so far.
    pub fn real_paths(&self) -> Vec<(PathBuf, Option<PathBuf>)> {
        let real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        real.iter()
            .map(|(path, real)| (path.clone(), real.clone()))
            .collect()
    }

    /// Returns whether `folder` has a package.xml.
    pub fn has_manifest(&self, folder: &Path) -> bool {
        self.manifest(folder).is_some()
    }

    /// Returns the `<name>` in the package.xml of `folder`.
    pub fn manifest_name(&self, folder: &Path) -> Option<String> {
        self.manifest(folder)?.name
    }

    /// Returns the `<version>` in the package.xml of `folder`.
    pub fn manifest_version(&self, folder: &Path) -> Option<String> {
        self.manifest(folder)?.version
    }

    fn manifest(&self, folder: &Path) -> Option<Manifest> {
        cached(&self.manifests, folder, || {
            let is_there = folder.join(MANIFEST).is_file();
            is_there.then(|| read_manifest(folder).unwrap_or_default())
        })
    }
}

/// Returns the cached answer for `path`, or computes it.
fn cached<T: Clone>(
    known: &Mutex<HashMap<PathBuf, T>>,
    path: &Path,
    compute: impl FnOnce() -> T,
) -> T {
    // The map is consistent between any two statements, so a panic elsewhere does not damage it.
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = lock().get(path) {
        return answer.clone();
    }
    // Without the lock, since it reads from disk.
    let answer = compute();
    // If two threads computed it, the first answer stays.
    lock().entry(path.to_owned()).or_insert(answer).clone()
}
