//! Downloads sources into a folder.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::{Error, ObjectMeta, ObjectStoreExt as _};
use urdf_usd_diagnostic::{Diagnostic, Place};

use crate::{Objects, codes};

/// Maximum number of objects.
const MAX_OBJECTS: usize = 200_000;
/// Maximum size of all objects together, in bytes.
const MAX_BYTES: u64 = 64 << 30;
/// Downloads at a time.
const MAX_DOWNLOADS: usize = 8;
/// The file that a process locks while it downloads.
const LOCK: &str = ".lock";
/// The file beside the mirrored folder with the versions of its objects.
const VERSIONS: &str = ".versions.json";

impl Objects {
    /// Downloads all objects of the folder to `directory`, except for those that an earlier call
    /// has downloaded in the same version, and removes files whose objects are gone. Returns the
    /// folder of the files.
    ///
    /// # Errors
    /// If the folder is too large, an object can't be downloaded, or a file can't be written.
    pub fn mirror(&self, directory: &Path) -> Result<PathBuf, Diagnostic> {
        // Keys of robots begin with it if there are several sources.
        let root = directory.join(self.prefix.filename().unwrap_or("bucket"));
        let failed = |path: &Path, error: &io::Error| {
            let message = format!("it can't be downloaded: {error}");
            Diagnostic::new(&codes::FAILED, Place::file(path), message)
                .help("make room, or set XDG_CACHE_HOME to a folder with room")
        };
        // Shards on one machine share the folder. Locked before the list is read: otherwise the
        // older of two lists could be applied last.
        let lock = directory.join(LOCK);
        let _locked = fs::create_dir_all(directory)
            .and_then(|()| File::create(&lock))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| failed(&lock, &error))?;
        let listed = self.block_on(self.list("", MAX_OBJECTS + 1))?;
        let bytes: u64 = listed.iter().map(|object| object.size).sum();
        if listed.len() > MAX_OBJECTS || bytes > MAX_BYTES {
            let message = format!(
                "there are more than {MAX_OBJECTS} objects or {} GiB below the folder",
                MAX_BYTES >> 30
            );
            return Err(Diagnostic::new(&codes::LIMIT, self.place(""), message)
                .help("give a folder with the descriptions and their packages alone"));
        }
        let objects = without_folders(
            listed
                .iter()
                .map(|object| (self.name(&object.location), object))
                .collect(),
        );
        let versions = directory.join(VERSIONS);
        let known: BTreeMap<String, String> = fs::read(&versions)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        remove_others(&root, &objects);
        let wanted = objects.iter().filter(|(name, object)| {
            let is_there = fs::metadata(root.join(name))
                .is_ok_and(|meta| meta.is_file() && meta.len() == object.size);
            !is_there || known.get(*name) != Some(&version(object))
        });
        self.block_on(
            futures::stream::iter(wanted)
                .map(|(name, object)| self.download(name, object, &root))
                .buffer_unordered(MAX_DOWNLOADS)
                .try_collect::<Vec<()>>(),
        )?;
        let now: BTreeMap<&str, String> = objects
            .iter()
            .map(|(name, object)| (*name, version(object)))
            .collect();
        let text = serde_json::to_vec(&now).unwrap_or_default();
        urdf_usd_store::replace_file(&versions, &text)
            .map_err(|error| failed(&versions, &error))?;
        Ok(root)
    }

    async fn download(
        &self,
        name: &str,
        object: &ObjectMeta,
        root: &Path,
    ) -> Result<(), Diagnostic> {
        let path = root.join(name);
        let failed = |error: io::Error| {
            let message = format!("it can't be downloaded to {}: {error}", path.display());
            Diagnostic::new(&codes::FAILED, self.place(name), message)
                .help("make room, or set XDG_CACHE_HOME to a folder with room")
        };
        let lost = |error: Error| match error {
            // A missing bucket would have failed before.
            Error::NotFound { .. } => {
                let message = "the object was removed before it was downloaded";
                Diagnostic::new(&codes::CONTENT, self.place(name), message)
                    .help("run the command again")
            }
            error => self.diagnose(name, "it can't be downloaded", &error),
        };
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder).map_err(failed)?;
        let found = self.store.get(&object.location).await.map_err(lost)?;
        let mut content = found.into_stream();
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        let mut length = 0;
        while let Some(part) = content.try_next().await.map_err(lost)? {
            length += part.len() as u64;
            // Replaced since it was listed: the limits hold for what was listed.
            if length > object.size {
                break;
            }
            file.write_all(&part).map_err(failed)?;
        }
        if length != object.size {
            let message = "the object changed while it was downloaded";
            return Err(Diagnostic::new(&codes::CONTENT, self.place(name), message)
                .help("run the command again"));
        }
        let file = file.persist(&path).map_err(|error| failed(error.error))?;
        // `batch --changed` compares times of files; those of objects are the same on all machines.
        let changed: SystemTime = object.last_modified.into();
        File::set_modified(&file, changed).map_err(failed)
    }
}

/// Leaves out the empty objects that web consoles make for folders.
fn without_folders<'a>(objects: Vec<(&'a str, &'a ObjectMeta)>) -> Vec<(&'a str, &'a ObjectMeta)> {
    let folders: HashSet<&str> = objects
        .iter()
        .flat_map(|(name, _)| {
            name.match_indices('/')
                .filter_map(|(end, _)| name.get(..end))
        })
        .collect();
    let is_folder = |name: &str| name.is_empty() || folders.contains(name);
    let kept = objects
        .iter()
        .filter(|(name, object)| object.size > 0 || !is_folder(name));
    kept.copied().collect()
}

/// Returns the text that changes with an object.
fn version(object: &ObjectMeta) -> String {
    let tag = object.e_tag.as_deref().unwrap_or_default();
    format!("{tag} {}", object.last_modified.timestamp_micros())
}

/// Removes files whose objects are gone. What can't be removed is overwritten, or fails then.
fn remove_others(root: &Path, objects: &[(&str, &ObjectMeta)]) {
    let names: HashSet<PathBuf> = objects.iter().map(|(name, _)| root.join(name)).collect();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) && !names.contains(&path) {
                folders.push(path);
            } else if !names.contains(&path) {
                let _ = fs::remove_file(&path);
            } else if path.is_dir() {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::in_memory;

    #[test]
    fn an_object_that_is_gone_and_a_key_that_is_no_path_are_no_missing_bucket() {
        let (objects, folder) = (in_memory(), tempfile::tempdir().expect("folder"));
        let object = ObjectMeta {
            location: objects.path("a.urdf").expect("valid"),
            last_modified: SystemTime::now().into(),
            size: 1,
            e_tag: None,
            version: None,
        };
        let gone = objects.block_on(objects.download("a.urdf", &object, folder.path()));
        let gone = gone.expect_err("gone");
        assert_eq!(gone.code, codes::CONTENT.id);
        let file = gone.place.file.as_deref();
        assert!(file.is_some_and(|file| file.ends_with("a.urdf")));
        let key = Error::from(object_store::path::Path::parse("a//b").expect_err("invalid"));
        let key = objects.diagnose("", "it can't be listed", &key);
        assert_eq!(key.code, codes::CONTENT.id);
        assert!(key.message.contains("a//b"), "{key:?}");
    }
}
