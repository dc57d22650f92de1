//! Publishes assets: their files first, then their pointer.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::buffered::BufWriter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_store::hex;

use crate::{MAX_ATTEMPTS, MAX_POINTER_BYTES, MAX_REQUESTS, Objects, codes, is_lost, pause};

/// The folder of the pointers.
const ROBOTS: &str = "robots";
/// The folder of the assets.
const ASSETS: &str = "assets";
/// Files of an asset that are uploaded at a time.
const MAX_UPLOADS: usize = 4;
/// Size of the parts that larger files are uploaded in, in bytes. One of each upload is in memory.
const PART_BYTES: usize = 8 << 20;
/// Maximum number of pointers in a folder.
const MAX_POINTERS: usize = 10_000_000;

/// A file of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The path in the asset's folder.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

/// A revision of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// The hash of the paths and contents of all files.
    pub revision: String,
    /// The folder of the files: `assets/KEY/NAME/REVISION`.
    pub folder: String,
    /// All files but the report.
    pub files: Vec<File>,
}

impl Asset {
    /// Describes the revision of an asset with these files.
    pub fn new(key: &str, name: &str, files: Vec<File>) -> Self {
        let sorted: BTreeMap<_, _> = files
            .iter()
            .map(|file| (&file.path, &file.sha256))
            .collect();
        let mut hash = Sha256::new();
        for (path, sha256) in sorted {
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path);
            hash.update(sha256);
        }
        let mut revision = hex(&hash.finalize());
        revision.truncate(32);
        let folder = [ASSETS, key, name, &revision].join("/");
        Self {
            revision,
            folder,
            files,
        }
    }

    /// Returns the name of the report, the last file of the revision that is written.
    fn report(&self, report: &str) -> String {
        format!("{}/{report}", self.folder)
    }
}

/// The content of a pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pointer {
    /// Number of times that the pointer was replaced.
    pub generation: u64,
    /// The current revision; `None` if the robot was never converted.
    pub asset: Option<Asset>,
    /// Additional data of the writer: the row of a batch.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub row: Value,
}

impl Objects {
    /// Publishes the result for a robot: uploads the files of `asset` from `directory` unless the
    /// pointer and the store have this revision already, then replaces the pointer. Without an asset,
    /// that of an earlier result stays.
    ///
    /// `report` is the name of a file of JSON that is uploaded after the others, but is no part of
    /// the revision. Its field `files` lists the others.
    ///
    /// # Errors
    /// If a request fails after several attempts, or a file is not the one that `asset` describes.
    /// Then the pointer is as it was.
    pub fn publish(
        &self,
        key: &str,
        asset: Option<(&Asset, &Path)>,
        report: &str,
        row: &Value,
    ) -> Result<(), Diagnostic> {
        let name = pointer_name(key);
        let mut is_uploaded = false;
        self.block_on(self.replace(&name, async |old| {
            let old = old.map(|old| self.parse(&name, old)).transpose()?;
            let earlier = old.as_ref().and_then(|old| old.asset.as_ref());
            if let Some((asset, directory)) = asset
                && !is_uploaded
                && (earlier.map(|earlier| &earlier.folder) != Some(&asset.folder)
                    // Someone may have removed its files.
                    || self.version(&asset.report(report)).await?.is_none())
            {
                self.upload(asset, directory, report).await?;
                is_uploaded = true;
            }
            // A node that starts again finds its revision published.
            if row.is_null() && asset.is_some_and(|(asset, _)| Some(asset) == earlier) {
                return Ok(None);
            }
            let new = Pointer {
                generation: old
                    .as_ref()
                    .map_or(1, |old| old.generation.saturating_add(1)),
                asset: asset.map(|(asset, _)| asset).or(earlier).cloned(),
                row: row.clone(),
            };
            Ok(Some(self.to_json(&name, &new)?))
        }))
    }

    async fn upload(
        &self,
        asset: &Asset,
        directory: &Path,
        report: &str,
    ) -> Result<(), Diagnostic> {
        // Read first, and checked to be that of the files, since a node may replace both meanwhile.
        let content = report_of(asset, &directory.join(report))?;
        let uploads = asset.files.iter().map(|file| async move {
            let name = format!("{}/{}", asset.folder, file.path);
            self.upload_file(&name, &directory.join(&file.path), file)
                .await
        });
        // A failure leaves files without a pointer, which the next attempt overwrites with the same
        // bytes.
        futures::stream::iter(uploads)
            .buffer_unordered(MAX_UPLOADS)
            .try_collect::<Vec<()>>()
            .await?;
        let name = asset.report(report);
        match self.put(&self.path(&name)?, content.into(), None).await {
            Ok(()) => Ok(()),
            // The report of an equal revision, or this one by a request whose answer was lost.
            Err(error) if is_lost(&error) => Ok(()),
            Err(error) => Err(self.diagnose(&name, "it can't be written", &error)),
        }
    }

    /// Uploads a file, which is checked first: a node may replace it at any time. The open file stays
    /// what it was then.
    async fn upload_file(&self, name: &str, path: &Path, file: &File) -> Result<(), Diagnostic> {
        let failed = |error: io::Error| {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause {
                Some(cause) => self.diagnose(name, "it can't be written", cause),
                None => {
                    let message = format!("it can't be written: {error}");
                    Diagnostic::new(&codes::FAILED, self.place(name), message)
                }
            }
        };
        let source = path.to_owned();
        let hashed = tokio::task::spawn_blocking(move || {
            let mut opened = fs::File::open(source)?;
            let (length, sha256) = hash_of(&mut opened)?;
            opened.rewind()?;
            Ok::<_, io::Error>((opened, length, sha256))
        });
        let (opened, length, sha256) = hashed
            .await
            .map_err(io::Error::other)
            .and_then(|hashed| hashed)
            .map_err(|error| changed(path, &error.to_string()))?;
        if (length, &sha256) != (file.bytes, &file.sha256) {
            return Err(changed(path, "it changed since the conversion"));
        }
        let mut opened = tokio::fs::File::from_std(opened);
        let mut writer = BufWriter::with_capacity(self.store.clone(), self.path(name)?, PART_BYTES)
            .with_max_concurrency(1);
        let copied = tokio::io::copy_buf(
            &mut tokio::io::BufReader::with_capacity(1 << 18, &mut opened),
            &mut writer,
        )
        .await;
        match copied {
            Ok(_) => writer.shutdown().await.map_err(failed),
            Err(error) => {
                // Best effort: a lifecycle rule of the bucket removes incomplete uploads.
                let _ = writer.abort().await;
                Err(failed(error))
            }
        }
    }

    /// Returns the pointers of these robots that exist, in any order.
    ///
    /// # Errors
    /// If a request fails after several attempts, or a pointer can't be read.
    pub fn pointers<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<(String, Pointer)>, Diagnostic> {
        self.block_on(async {
            // One request lists a thousand.
            let listed = self.list(ROBOTS, MAX_POINTERS).await?;
            let listed: std::collections::HashSet<&str> = listed
                .iter()
                .map(|object| self.name(&object.location))
                .collect();
            let there = keys
                .into_iter()
                .filter(|key| listed.contains(pointer_name(key).as_str()));
            futures::stream::iter(there)
                .map(|key| async move {
                    let name = pointer_name(key);
                    let found = self.read(&name).await?;
                    let pointer = found.map(|(content, _)| self.parse(&name, &content));
                    Ok(pointer
                        .transpose()?
                        .map(|pointer| (key.to_owned(), pointer)))
                })
                .buffer_unordered(MAX_REQUESTS)
                .try_filter_map(|found| async { Ok(found) })
                .try_collect()
                .await
        })
    }

    /// Writes files that depend on each other, such as a report in several formats. `make` makes them
    /// of what it reads itself; it is called again if another writer was faster, so the last files are
    /// those of the last call of all.
    ///
    /// # Errors
    /// If `make` or a request fails after several attempts.
    pub fn write_files<T>(
        &self,
        names: &[&str],
        mut make: impl FnMut() -> Result<(T, Vec<Vec<u8>>), Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let mut attempt = 0;
        'again: loop {
            let mut versions = Vec::new();
            for name in names {
                versions.push(self.block_on(self.version(name))?);
            }
            let (made, contents) = make()?;
            for ((name, version), content) in names.iter().zip(versions).zip(contents) {
                let path = self.path(name)?;
                match self.block_on(self.put(&path, content.into(), version)) {
                    Ok(()) => {}
                    Err(error) if attempt < MAX_ATTEMPTS && is_lost(&error) => {
                        attempt += 1;
                        std::thread::sleep(pause(attempt));
                        continue 'again;
                    }
                    Err(error) => return Err(self.diagnose(name, "it can't be replaced", &error)),
                }
            }
            return Ok(made);
        }
    }

    fn parse(&self, name: &str, content: &[u8]) -> Result<Pointer, Diagnostic> {
        serde_json::from_slice(content).map_err(|error| {
            let message = format!("the pointer can't be read: {error}");
            Diagnostic::new(&codes::CONTENT, self.place(name), message)
                .help("delete the object: its robot is then converted again")
        })
    }

    fn to_json(&self, name: &str, pointer: &Pointer) -> Result<Vec<u8>, Diagnostic> {
        let failed = |why: String| Diagnostic::new(&codes::CONTENT, self.place(name), why);
        let text = serde_json::to_vec(pointer).map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > MAX_POINTER_BYTES {
            let limit = MAX_POINTER_BYTES >> 20;
            return Err(failed(format!(
                "the pointer can't be written: it is larger than {limit} MiB"
            )));
        }
        Ok(text)
    }
}

/// Reads the report of an asset from a file.
fn report_of(asset: &Asset, path: &Path) -> Result<Vec<u8>, Diagnostic> {
    #[derive(Deserialize)]
    struct Listed {
        files: Vec<File>,
    }
    let content = fs::read(path).map_err(|error| changed(path, &error.to_string()))?;
    let mut listed: Listed =
        serde_json::from_slice(&content).map_err(|error| changed(path, &error.to_string()))?;
    let mut files = asset.files.clone();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    listed.files.sort_by(|a, b| a.path.cmp(&b.path));
    if files == listed.files {
        Ok(content)
    } else {
        Err(changed(path, "it is the report of another revision"))
    }
}

/// Returns the length and the hash of a file.
fn hash_of(file: &mut fs::File) -> io::Result<(u64, String)> {
    let (mut hash, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let count = file.read(&mut buffer)?;
        let Some(part) = buffer.get(..count).filter(|part| !part.is_empty()) else {
            return Ok((length, hex(&hash.finalize())));
        };
        hash.update(part);
        length += part.len() as u64;
    }
}

fn pointer_name(key: &str) -> String {
    format!("{ROBOTS}/{key}.json")
}

fn changed(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::CONTENT,
        Place::file(path),
        format!("the file can't be published: {why}"),
    )
    .help("keep other programs from changing the asset; the next conversion publishes it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::in_memory;

    /// Writes a revision with one file. Returns its asset.
    fn revision(folder: &Path, content: &str) -> Asset {
        let file = File {
            path: "a.usda".to_owned(),
            bytes: content.len() as u64,
            sha256: hex(&Sha256::digest(content)),
        };
        fs::write(folder.join(&file.path), content).expect("written");
        let report = serde_json::json!({ "files": [file], "robot": content });
        fs::write(folder.join("report.json"), report.to_string()).expect("written");
        Asset::new("key", "a", vec![file])
    }

    #[test]
    fn a_revision_never_gets_the_report_of_the_next_one() {
        let (objects, folder) = (in_memory(), tempfile::tempdir().expect("folder"));
        let folder = folder.path();
        let publish = |asset: &Asset| {
            objects.publish("key", Some((asset, folder)), "report.json", &Value::Null)
        };
        revision(folder, "second");
        let report = fs::read(folder.join("report.json")).expect("there");
        let first = revision(folder, "first");
        // The node has replaced the report, and not yet the file.
        fs::write(folder.join("report.json"), report).expect("written");
        assert_eq!(publish(&first).expect_err("torn").code, codes::CONTENT.id);
        let name = first.report("report.json");
        assert_eq!(
            objects.missing([name.as_str()]).expect("listed"),
            [name.clone()].into()
        );
        let first = revision(folder, "first");
        publish(&first).expect("published");
        assert!(objects.missing([name.as_str()]).expect("listed").is_empty());
        // A revision whose files were removed is published again.
        let path = objects.path(&name).expect("valid");
        objects
            .block_on(object_store::ObjectStoreExt::delete(&objects.store, &path))
            .expect("removed");
        publish(&first).expect("published");
        assert!(objects.missing([name.as_str()]).expect("listed").is_empty());
    }
}
