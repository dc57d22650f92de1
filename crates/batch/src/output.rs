//! The place of a batch: a folder on disk, or one in an object store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use urdf_usd_convert::{self as convert, Report};
use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_objects::{Asset, File, Objects, check_url, is_url};
use urdf_usd_store::Store;

use crate::codes::{JOURNAL, SOURCE};
use crate::items::Item;
use crate::journal::{self, Journal, Row, Used};
use crate::report::published_picture;
use crate::run::{ASSETS, Shard};

/// Assets that are uploaded at a time.
const MAX_UPLOADS: usize = 8;

/// The place of a batch.
#[derive(Debug)]
pub struct Output {
    /// The folder that is converted to: that of the batch, or a private one of this machine, which
    /// an asset leaves once it is published.
    folder: PathBuf,
    remote: Option<Remote>,
    /// Sources that were downloaded.
    mirrors: Vec<Mirror>,
}

/// The folder of a batch in an object store, whose pointers have the rows.
#[derive(Debug)]
struct Remote {
    objects: Objects,
    /// Rows of the shard, by key, without the files that were used.
    rows: Mutex<BTreeMap<String, Row>>,
}

impl Output {
    /// Opens the place of a batch for one of its shards: a path, or the address of a folder in an
    /// object store.
    ///
    /// # Errors
    /// If the object store can't be opened.
    pub fn open(place: &Path, shard: Shard) -> Result<Self, Diagnostic> {
        let folder = |path: &Path| Self {
            folder: path.to_owned(),
            remote: None,
            mirrors: Vec::new(),
        };
        let Some(text) = place.to_str().filter(|text| is_url(text)) else {
            return Ok(folder(place));
        };
        if let Some(path) = path_of(text) {
            return Ok(folder(Path::new(path)));
        }
        let objects = Objects::open(text)?;
        let private = private_folder("batch", objects.url(), &JOURNAL)?.join(shard.label());
        let remote = Remote {
            objects,
            rows: Mutex::default(),
        };
        Ok(Self {
            folder: private,
            remote: Some(remote),
            mirrors: Vec::new(),
        })
    }

    /// Sets the sources that were downloaded: pointers have the addresses of their files, since other
    /// machines have them at other paths.
    pub fn set_mirrors(&mut self, mirrors: &[Mirror]) {
        self.mirrors = mirrors.to_vec();
    }

    /// Returns the place as it is named in any working directory.
    ///
    /// # Errors
    /// If the working directory is unknown.
    pub fn absolute(place: &Path) -> std::io::Result<PathBuf> {
        match place.to_str() {
            Some(text) if is_url(text) => Ok(place.to_owned()),
            _ => std::path::absolute(place),
        }
    }

    /// Returns the folder that is converted to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the address of a file of the batch, for people.
    pub fn address(&self, name: &str) -> String {
        match &self.remote {
            Some(remote) => format!("{}/{name}", remote.objects.url()),
            None => self.folder.join(name).display().to_string(),
        }
    }

    /// Returns the folder in the object store if the batch is there.
    pub(crate) fn objects(&self) -> Option<&Objects> {
        self.remote.as_ref().map(|remote| &remote.objects)
    }

    /// Returns the number of threads that publish.
    pub(crate) fn publishers(&self) -> usize {
        if self.remote.is_some() {
            MAX_UPLOADS
        } else {
            1
        }
    }

    /// Removes assets that an earlier run did not publish. Only the process with the journal calls it.
    pub(crate) fn clear(&self) {
        if self.remote.is_some() {
            // Conversions replace what can't be removed.
            let _ = fs::remove_dir_all(self.folder.join(ASSETS));
        }
    }

    /// Returns the rows of the batch by key; of an object store, those of `items`, which this process
    /// alone converts. They have the files that were used only if `has_used`.
    pub(crate) fn rows<'a>(
        &self,
        items: impl IntoIterator<Item = &'a Item>,
        has_used: bool,
    ) -> Result<BTreeMap<String, Row>, Diagnostic> {
        let Some(remote) = &self.remote else {
            return journal::read(&self.folder, has_used);
        };
        let mut rows = remote.read(items)?;
        for row in rows.values_mut() {
            let used = std::mem::take(&mut row.used);
            remote.note(row);
            if has_used {
                row.used = used;
                to_paths(&mut row.used, &self.mirrors);
            }
        }
        Ok(rows)
    }

    /// Returns the rows of all robots for the report.
    pub(crate) fn all_rows(&self, items: &[Item]) -> Result<BTreeMap<String, Row>, Diagnostic> {
        let Some(remote) = &self.remote else {
            return journal::read(&self.folder, false);
        };
        let mut rows = remote.known().clone();
        let others: Vec<&Item> = items
            .iter()
            .filter(|item| !rows.contains_key(&item.key))
            .collect();
        rows.extend(remote.read(others)?);
        rows.values_mut().for_each(|row| row.used = Vec::new());
        Ok(rows)
    }

    /// Returns whether the asset of a row exists; in an object store, whether it was published.
    pub(crate) fn has(&self, asset: &str) -> bool {
        // A pointer is written after the files of its asset. A request for each robot would cost
        // more than most runs: only `--retry` asks for them, by `missing`.
        self.remote.is_some() || self.folder.join(asset).join(convert::REPORT).is_file()
    }

    /// Returns the keys of the rows whose assets are gone from the object store.
    pub(crate) fn missing<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row>,
    ) -> Result<BTreeSet<String>, Diagnostic> {
        let Some(remote) = &self.remote else {
            return Ok(BTreeSet::new());
        };
        let names: Vec<(&str, String)> = rows
            .filter_map(|row| {
                let asset = row.asset.as_ref()?;
                Some((row.key.as_str(), format!("{asset}/{}", convert::REPORT)))
            })
            .collect();
        let missing = remote
            .objects
            .missing(names.iter().map(|(_, name)| name.as_str()))?;
        let keys = names.into_iter().filter(|(_, name)| missing.contains(name));
        Ok(keys.map(|(key, _)| key.to_owned()).collect())
    }

    /// Records the row of a finished robot in the journal, unless its pointer has it.
    ///
    /// # Errors
    /// If the journal can't be written.
    pub fn record(&self, journal: &mut Journal, row: &Row) -> Result<(), Diagnostic> {
        match self.remote {
            Some(_) => Ok(()),
            None => journal.append(row),
        }
    }

    /// Publishes a finished robot with its row, if the batch is in an object store. Returns the row.
    pub(crate) fn publish(&self, mut row: Row, report: Option<&Report>) -> Result<Row, Diagnostic> {
        let Some(remote) = &self.remote else {
            return Ok(row);
        };
        let asset = report.map(|report| {
            let files = report.files.iter().map(|file| File {
                path: file.path.clone(),
                bytes: file.bytes,
                sha256: file.sha256.clone(),
            });
            Asset::new(&row.key, &report.name, files.collect())
        });
        row.asset = asset.as_ref().map(|asset| asset.folder.clone());
        row.picture = asset.as_ref().and_then(published_picture);
        let mut portable = row.clone();
        to_addresses(&mut portable.used, &self.mirrors);
        let written = serde_json::to_value(&portable).map_err(|error| {
            Diagnostic::new(&JOURNAL, Place::file(&row.source), error.to_string())
        })?;
        let files = asset
            .as_ref()
            .zip(report.map(|report| report.directory.as_path()));
        remote
            .objects
            .publish(&row.key, files, convert::REPORT, &written)?;
        let _ = fs::remove_dir_all(self.folder.join(ASSETS).join(&row.key));
        remote.note(&row);
        Ok(row)
    }
}

impl Remote {
    /// Reads the rows of robots from their pointers.
    fn read<'a>(
        &self,
        items: impl IntoIterator<Item = &'a Item>,
    ) -> Result<BTreeMap<String, Row>, Diagnostic> {
        let keys = items.into_iter().map(|item| item.key.as_str());
        let pointers = self.objects.pointers(keys)?;
        // The pointer of a node has no row.
        let rows = pointers.into_iter().filter_map(|(key, pointer)| {
            let mut row: Row = serde_json::from_value(pointer.row).ok()?;
            // A failed conversion keeps the asset, and has no picture.
            row.picture = pointer
                .asset
                .filter(|asset| row.asset.as_ref() == Some(&asset.folder))
                .and_then(|asset| published_picture(&asset));
            Some((key, row))
        });
        Ok(rows.collect())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, row: &Row) {
        let without = Row {
            used: Vec::new(),
            ..row.clone()
        };
        self.known().insert(row.key.clone(), without);
    }
}

/// A folder in an object store that was downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Its address, without a slash at its end.
    pub url: String,
    /// The folder with its files.
    pub folder: PathBuf,
}

/// Downloads the sources that are in object stores. Returns the paths of all sources, and what was
/// downloaded.
///
/// An address that ends with a file of a batch, such as `s3://bucket/robots/robots.csv`, is that
/// file in its folder, which is downloaded; all other addresses are folders.
///
/// # Errors
/// If an object store can't be read, or its folder is too large.
pub fn download(sources: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<Mirror>), Diagnostic> {
    let (mut paths, mut mirrors) = (Vec::new(), Vec::<Mirror>::new());
    for source in sources {
        let Some(text) = source.to_str().filter(|text| is_url(text)) else {
            paths.push(source.clone());
            continue;
        };
        if let Some(path) = path_of(text) {
            paths.push(PathBuf::from(path));
            continue;
        }
        check_url(text)?;
        if text.contains(['*', '?', '[']) {
            let message = "patterns are for paths only";
            return Err(Diagnostic::new(&SOURCE, Place::file(source), message)
                .help("give the folder, or a manifest in it"));
        }
        let text = text.trim_end_matches('/');
        let name = text.rsplit('/').next().unwrap_or_default();
        let (url, file) = match text.rsplit_once('/') {
            Some((folder, file)) if is_file_name(name) && !folder.ends_with('/') => {
                (folder, Some(file))
            }
            _ => (text, None),
        };
        let known = mirrors.iter().find(|mirror| mirror.url == url);
        let folder = match known {
            Some(mirror) => mirror.folder.clone(),
            None => {
                let private = private_folder("sources", url, &SOURCE)?.join("mirror");
                let folder = Objects::open(url)?.mirror(&private)?;
                mirrors.push(Mirror {
                    url: url.to_owned(),
                    folder: folder.clone(),
                });
                folder
            }
        };
        paths.push(file.map_or(folder.clone(), |file| folder.join(file)));
    }
    Ok((paths, mirrors))
}

/// Returns the path of an address such as `file:///srv/robots`.
fn path_of(address: &str) -> Option<&str> {
    let path = address.strip_prefix("file://")?;
    path.starts_with('/').then_some(path)
}

/// Returns whether the last part of an address is a description or a manifest, not a folder.
fn is_file_name(name: &str) -> bool {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| {
        crate::items::DESCRIPTIONS.contains(&ending.as_str())
            || ["csv", "jsonl", "ndjson"].contains(&ending.as_str())
    })
}

/// Sets the origins of robots that were downloaded.
pub fn set_origins(items: &mut [Item], mirrors: &[Mirror]) {
    for item in items {
        let origin = mirrors.iter().find_map(|mirror| {
            let name = item.source.strip_prefix(&mirror.folder).ok()?;
            Some(format!("{}/{}", mirror.url, name.display()))
        });
        item.origin = origin;
    }
}

/// Replaces the paths of downloaded files by their addresses.
fn to_addresses(used: &mut [Used], mirrors: &[Mirror]) {
    // Conversions resolve symbolic links, such as that of a home directory.
    let roots: Vec<(PathBuf, &str)> = mirrors
        .iter()
        .flat_map(|mirror| {
            let resolved = fs::canonicalize(&mirror.folder).ok();
            let folders = [Some(mirror.folder.clone()), resolved];
            let roots = folders.into_iter().flatten();
            roots.map(|folder| (folder, mirror.url.as_str()))
        })
        .collect();
    for file in used {
        let address = roots.iter().find_map(|(folder, url)| {
            let name = file.path.strip_prefix(folder).ok()?;
            Some(format!("{url}/{}", name.display()))
        });
        if let Some(address) = address {
            file.path = address.into();
        }
    }
}

/// Replaces the addresses of downloaded files by their paths.
fn to_paths(used: &mut [Used], mirrors: &[Mirror]) {
    for file in used {
        let path = mirrors.iter().find_map(|mirror| {
            let name = file.path.to_str()?.strip_prefix(&mirror.url)?;
            Some(mirror.folder.join(name.strip_prefix('/')?))
        });
        if let Some(path) = path {
            file.path = path;
        }
    }
}

/// Returns a folder of this user for an address. Its name has no part that could lead elsewhere.
///
/// # Errors
/// If the user has no cache directory. Other users could prepare one in the directory of temporary
/// files, whose content is removed or converted then.
fn private_folder(kind: &str, url: &str, code: &'static Code) -> Result<PathBuf, Diagnostic> {
    let mut name = blake3::hash(url.as_bytes()).to_hex().to_string();
    name.truncate(32);
    let root = Store::directory().ok_or_else(|| {
        let message = "there is no directory for its files on this machine";
        Diagnostic::new(code, Place::file(url), message)
            .help("set HOME or XDG_CACHE_HOME to an absolute path with room")
    })?;
    Ok(root.join(kind).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_with_a_folder_or_a_file_of_a_batch() {
        for (name, is) in [
            ("robots.csv", true),
            ("arm.urdf.xacro", true),
            ("v1.2", false),
            ("robots", false),
        ] {
            assert_eq!(is_file_name(name), is, "{name}");
        }
        let fault = download(&["s3://bucket/*.urdf".into()]).expect_err("a pattern");
        assert_eq!(fault.code, SOURCE.id);
        let (paths, mirrors) = download(&["a".into(), "file:///b/c".into()]).expect("paths");
        assert_eq!(paths, [Path::new("a"), Path::new("/b/c")]);
        assert!(mirrors.is_empty());
    }

    #[test]
    fn pointers_have_the_addresses_of_downloaded_files() {
        let mirrors = |folder: &str| Mirror {
            url: "s3://bucket/robots".to_owned(),
            folder: folder.into(),
        };
        let paths = |used: &[Used]| -> Vec<String> {
            let paths = used.iter().map(|file| file.path.display().to_string());
            paths.collect()
        };
        let mut used = ["/cache/a/m/x.stl", "/cache/ab/x.stl"].map(|path| Used {
            path: path.into(),
            state: None,
        });
        to_addresses(&mut used, &[mirrors("/cache/a")]);
        assert_eq!(
            paths(&used),
            ["s3://bucket/robots/m/x.stl", "/cache/ab/x.stl"]
        );
        to_paths(&mut used, &[mirrors("/other")]);
        assert_eq!(paths(&used), ["/other/m/x.stl", "/cache/ab/x.stl"]);
    }

    #[test]
    fn robots_of_a_mirror_have_its_address() {
        let mut items = vec![Item::new("a".to_owned(), "/cache/x/a.urdf".into())];
        items.push(Item::new("b".to_owned(), "/b.urdf".into()));
        let mirror = Mirror {
            url: "s3://bucket/robots".to_owned(),
            folder: "/cache/x".into(),
        };
        set_origins(&mut items, &[mirror]);
        let origins: Vec<_> = items.iter().map(|item| item.origin.as_deref()).collect();
        assert_eq!(origins, [Some("s3://bucket/robots/a.urdf"), None]);
    }
}
