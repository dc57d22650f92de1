//! The rule that decides which files may be read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::lookups::Lookups;
use super::package::{MANIFEST, Search, manifests_around, marker, package_around};
use super::{Options, Package};

/// Decides which files may be read. All paths are free of symbolic links.
///
/// A file is allowed if it is, after symbolic links are resolved, in
/// - a folder that the user named: an allowed root, a `--package` folder, a `--package-path`
///   folder;
/// - the URDF's folder, or the package that contains it;
/// - a package of the ament index, or one whose name resolves to that very folder in the documented
///   order.
///
/// The rule depends on the file alone, never on files read before: parallel readers get the same
/// answer.
pub(super) struct Roots<'a> {
    pub options: &'a Options,
    /// Folders of the URDF, as given.
    pub folders: &'a [PathBuf],
    pub lookups: &'a Lookups,
    /// Paths whose existence or content influenced the result.
    pub seen: RefCell<Vec<PathBuf>>,
}

impl Roots<'_> {
    /// Returns whether the file or folder `path`, which is free of symbolic links, may be read.
    pub fn allow(&self, path: &Path) -> bool {
        let within = |root: &PathBuf| {
            self.lookups
                .real(root)
                .is_some_and(|root| path.starts_with(root))
        };
        let in_package = |package: Package| {
            package
                .roots(self.lookups)
                .iter()
                .any(|root| path.starts_with(root))
        };
        let given = |(name, folder): &(String, PathBuf)| Package {
            name: name.clone(),
            folder: folder.clone(),
        };
        let options = self.options;
        let mut named = options
            .allowed_roots
            .iter()
            .chain(options.packages.iter().map(|(_, folder)| folder));
        named.any(within)
            || options.package_paths.iter().chain(self.folders).any(within)
            || options.packages.iter().map(given).any(in_package)
            || self
                .folders
                .iter()
                .filter_map(|folder| package_around(folder, self.lookups))
                .any(in_package)
            || options
                .ament_prefixes
                .iter()
                .any(|prefix| self.in_ament_share(prefix, path))
            || self.in_known_package(path)
    }

    /// Returns whether the package that contains `path` is the one that its name resolves to.
    fn in_known_package(&self, path: &Path) -> bool {
        self.seen
            .borrow_mut()
            .extend(manifests_around(path, self.lookups));
        let Some(package) = package_around(path, self.lookups) else {
            return false;
        };
        let mut search = Search::new(&package.name, self.lookups);
        let known = search.run(self.options, self.folders);
        self.seen.borrow_mut().extend(search.seen);
        let Some(known) = known else { return false };
        self.seen.borrow_mut().push(known.folder.join(MANIFEST));
        known
            .roots(self.lookups)
            .iter()
            .any(|root| path.starts_with(root))
    }

    /// Returns the allowed folders that the user can influence, for messages.
    pub fn names(&self) -> Vec<PathBuf> {
        let options = self.options;
        let packages = self
            .folders
            .iter()
            .filter_map(|folder| package_around(folder, self.lookups))
            .map(|package| package.folder);
        let mut names: Vec<PathBuf> = self.folders.iter().cloned().chain(packages).collect();
        names.extend(options.packages.iter().map(|(_, folder)| folder.clone()));
        names.extend(
            options
                .package_paths
                .iter()
                .chain(&options.allowed_roots)
                .cloned(),
        );
        names.extend(
            options
                .ament_prefixes
                .iter()
                .map(|prefix| prefix.join("share/PACKAGE")),
        );
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// Returns whether `path` is in the share folder of a package in the ament index of `prefix`.
    fn in_ament_share(&self, prefix: &Path, path: &Path) -> bool {
        let share = prefix.join("share");
        self.seen.borrow_mut().push(share.clone());
        let Some(share) = self.lookups.real(&share) else {
            return false;
        };
        let name = path
            .strip_prefix(&share)
            .ok()
            .and_then(|inside| inside.iter().next())
            .and_then(|name| name.to_str());
        name.is_some_and(|name| {
            let marker = marker(prefix, name);
            let folder = share.join(name);
            self.seen
                .borrow_mut()
                .extend([marker.clone(), folder.clone()]);
            folder.is_dir() && marker.is_file()
        })
    }
}
