//! ROS packages: the folder of a package name, and the package that contains a folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::lookups::Lookups;
use super::place::Opened;
use super::{Error, Options, codes};

/// Name of the file that makes a folder a package.
pub(super) const MANIFEST: &str = "package.xml";

/// Maximum number of bytes read of a package.xml, far more than any has. The parser compares all pairs of
/// attributes of an element: more bytes would take it seconds.
const MAX_MANIFEST_BYTES: u64 = 1 << 17;

/// A ROS package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Folder, as it was found.
    pub folder: PathBuf,
}

impl Package {
    /// Returns the folders that belong to the package, with symbolic links resolved: its own, and
    /// its source folder if it was installed by links.
    ///
    /// `colcon build --symlink-install` makes every installed file, package.xml included, a link to
    /// the file in the source folder. If package.xml is such a link, the folder that it leads to
    /// belongs to the package, provided that the manifest there has the package's name. No other
    /// target of a link belongs to the package.
    pub(super) fn roots(&self, lookups: &Lookups) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = lookups.real(&self.folder).into_iter().collect();
        if let Some(manifest) = lookups.real(&self.folder.join(MANIFEST))
            && manifest.file_name().is_some_and(|name| name == MANIFEST)
            && let Some(source) = manifest.parent()
            && is_below_top(source)
            && lookups.manifest_name(source).as_deref() == Some(&self.name)
            && !roots.iter().any(|root| root == source)
        {
            roots.push(source.to_owned());
        }
        roots
    }
}

/// Returns the package that contains `folder`: that of the nearest package.xml at or above it.
pub fn package_of(folder: &Path) -> Option<Package> {
    package_around(folder, &Lookups::default())
}

/// Returns the package that contains `folder`, using cached `lookups`.
pub(super) fn package_around(folder: &Path, lookups: &Lookups) -> Option<Package> {
    let folder = folder
        .ancestors()
        .take_while(|folder| is_below_top(folder))
        .find(|folder| lookups.has_manifest(folder))?;
    package_in(folder, lookups)
}

/// Returns the package whose package.xml is in `folder` itself.
pub(super) fn package_in(folder: &Path, lookups: &Lookups) -> Option<Package> {
    Some(Package {
        name: lookups.manifest_name(folder)?,
        folder: folder.to_owned(),
    })
}

/// Returns the manifests, existing or not, that decide which package contains `folder`.
pub(super) fn manifests_around(folder: &Path, lookups: &Lookups) -> Vec<PathBuf> {
    let mut manifests = Vec::new();
    for folder in folder.ancestors().take_while(|folder| is_below_top(folder)) {
        manifests.push(folder.join(MANIFEST));
        if lookups.has_manifest(folder) {
            break;
        }
    }
    manifests
}

/// Returns whether `folder` has a parent. A manifest in the root folder must not turn the whole
/// file system into a package.
fn is_below_top(folder: &Path) -> bool {
    folder.parent().is_some()
}

/// The elements of a package.xml that are read; `None` if they are missing or blank.
#[derive(Clone, Debug, Default)]
pub(super) struct Manifest {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// Reads the package.xml of `folder`; `None` if that is impossible.
pub(super) fn read_manifest(folder: &Path) -> Option<Manifest> {
    let Opened { file, meta, .. } = Opened::at(&folder.join(MANIFEST)).ok()?;
    // One byte of spare capacity lets `read_to_string` find the end without growing.
    let mut text = String::with_capacity(meta.len().min(MAX_MANIFEST_BYTES) as usize + 1);
    file.take(MAX_MANIFEST_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    let document = roxmltree::Document::parse(text.trim_start_matches('\u{feff}')).ok()?;
    let package = Some(document.root_element()).filter(|root| root.has_tag_name("package"))?;
    let text = |tag: &str| {
        let mut children = package.children();
        let text = children.find(|node| node.has_tag_name(tag))?.text()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Some(Manifest {
        name: text("name"),
        version: text("version"),
    })
}

/// A search for a package, with the places examined so far.
pub(super) struct Search<'a> {
    pub name: &'a str,
    pub lookups: &'a Lookups,
    /// Every path whose existence or content influenced the result.
    pub seen: Vec<PathBuf>,
    /// Places without the package, and the reason for each.
    pub looked: Vec<(PathBuf, String)>,
}

impl<'a> Search<'a> {
    pub fn new(name: &'a str, lookups: &'a Lookups) -> Self {
        Self {
            name,
            lookups,
            seen: Vec::new(),
            looked: Vec::new(),
        }
    }

    /// Searches in the documented order. `folders` are those of the URDF.
    pub fn run(&mut self, options: &Options, folders: &[PathBuf]) -> Option<Package> {
        if let Some((_, folder)) = options.packages.iter().find(|(name, _)| name == self.name) {
            // An explicit mapping is authoritative: searching further would be a guess.
            return self.folder(folder, "given for this package, but not a folder");
        }
        let found = options
            .package_paths
            .iter()
            .find_map(|path| self.in_package_path(path));
        let found = found.or_else(|| self.in_ament_index(&options.ament_prefixes));
        found.or_else(|| folders.iter().find_map(|folder| self.around(folder)))
    }

    fn found(&self, folder: &Path) -> Package {
        Package {
            name: self.name.to_owned(),
            folder: folder.to_owned(),
        }
    }

    fn record_miss(&mut self, place: PathBuf, why: impl Into<String>) -> Option<Package> {
        self.looked.push((place, why.into()));
        None
    }

    fn folder(&mut self, folder: &Path, otherwise: &str) -> Option<Package> {
        self.seen.push(folder.to_owned());
        if folder.is_dir() {
            Some(self.found(folder))
        } else {
            self.record_miss(folder.to_owned(), otherwise)
        }
    }

    /// Looks for `path/NAME`, with or without a package.xml, or `path` itself if its package.xml
    /// has the name.
    fn in_package_path(&mut self, path: &Path) -> Option<Package> {
        self.seen.push(path.join(MANIFEST));
        if self.lookups.manifest_name(path).as_deref() == Some(self.name) {
            return Some(self.found(path));
        }
        let folder = path.join(self.name);
        self.seen.push(folder.join(MANIFEST));
        match self.lookups.manifest_name(&folder) {
            Some(other) if other != self.name => {
                self.record_miss(folder, format!("its package.xml says \"{other}\""))
            }
            _ => self.folder(&folder, "no such folder"),
        }
    }

    /// Looks in the ament index: like ament_index, takes the first prefix with the package's
    /// marker.
    fn in_ament_index(&mut self, prefixes: &[PathBuf]) -> Option<Package> {
        for prefix in prefixes {
            let marker = marker(prefix, self.name);
            self.seen.push(marker.clone());
            if marker.is_file() {
                // As in ament_index, the marker decides: later prefixes are not searched.
                return self.folder(
                    &prefix.join("share").join(self.name),
                    "listed in the ament index, but no such folder",
                );
            }
            self.record_miss(marker, "no such file");
        }
        None
    }

    /// Looks at the package that contains the URDF.
    fn around(&mut self, folder: &Path) -> Option<Package> {
        self.seen.extend(manifests_around(folder, self.lookups));
        match package_around(folder, self.lookups) {
            Some(package) if package.name == self.name => Some(package),
            Some(other) => self.record_miss(
                other.folder.join(MANIFEST),
                format!("says \"{}\"", other.name),
            ),
            None => self.record_miss(folder.to_owned(), "no package.xml in it or above it"),
        }
    }

    /// Returns the error that lists every place.
    pub fn error(self, uri: &str) -> Error {
        let name = self.name;
        let mut message = format!("the package \"{name}\" of \"{uri}\" was not found");
        if self.looked.is_empty() {
            message.push_str(
                "; there is no place to search: no package, package path or ament prefix is set",
            );
        } else {
            message.push_str("; looked in:");
            for (place, why) in &self.looked {
                message.push_str(&format!("\n  {}: {why}", place.display()));
            }
        }
        let help = format!(
            "pass --package {name}=DIR, or --package-path with the folder that contains it, or source its ROS workspace"
        );
        let cause = format!("the package \"{name}\" was not found");
        Error::new(&codes::UNKNOWN_PACKAGE, message, help).because(cause, uri)
    }
}

/// Returns the path of the marker of the package `name` in the ament index of `prefix`.
pub(super) fn marker(prefix: &Path, name: &str) -> PathBuf {
    prefix
        .join("share/ament_index/resource_index/packages")
        .join(name)
}
