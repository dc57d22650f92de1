//! Resolves references to files and decides which files may be read. It is the only access to the
//! file system for assets.
//!
//! A package name is looked up in this order:
//! 1. the folder given for it ([`Options::packages`]; if that is no folder, the search ends there);
//! 2. for each of [`Options::package_paths`]: that folder itself if its package.xml has the name,
//!    or its subfolder `NAME` unless the package.xml there has another name;
//! 3. the ament index: the first of [`Options::ament_prefixes`] with a file
//!    `share/ament_index/resource_index/packages/NAME`; the package is in its `share/NAME`;
//! 4. the folder of the nearest package.xml at or above the URDF's folder, if it has the name.
//!
//! A file may be read if, after symbolic links are resolved, it is in the URDF's folder or the
//! package that contains it, in a package found in the order above, or in a folder that the user
//! named in [`Options`]. A package installed with `colcon build --symlink-install` consists of
//! links into its source folder: if its package.xml is such a link, the folder it leads to belongs
//! to the package as well, provided that the manifest there has the package's name. No other link
//! leads out of a package.
//!
//! This crate knows nothing of the files' contents, apart from the name in a package.xml.

mod candidates;
pub mod codes;
mod error;
mod files;
mod interfaces;
mod lookups;
mod package;
mod place;
mod roots;
mod states;
mod uri;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lookups::Lookups;

pub use error::{Error, is_out_of_descriptors};
pub use files::{
    File, Files, LFS_HELP, LFS_START, Located, MAX_BYTES, is_lfs_pointer, missing_input,
};
pub use package::{Package, package_of};
pub use place::Opened;
pub use states::{States, TIMESTAMP_RESOLUTION};

/// Search paths for packages, and further folders that may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Options {
    /// Folders of packages by name (`--package NAME=DIR`); the first entry for a name wins.
    pub packages: Vec<(String, PathBuf)>,
    /// Folders that contain packages (`--package-path DIR`).
    pub package_paths: Vec<PathBuf>,
    /// Install prefixes with an ament index, overlays first.
    pub ament_prefixes: Vec<PathBuf>,
    /// Further folders that may be read. The file system's root allows everything.
    pub allowed_roots: Vec<PathBuf>,
    /// Inputs that were checked before, by their paths without symbolic links. If a link replaces
    /// one, it is not followed.
    pub exact_inputs: Vec<PathBuf>,
}

impl Options {
    /// Returns options with the ament prefixes of this process's environment (`AMENT_PREFIX_PATH`)
    /// only.
    pub fn from_environment() -> Self {
        Self {
            ament_prefixes: prefixes(&std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default()),
            ..Self::default()
        }
    }
}

/// Splits a value of `AMENT_PREFIX_PATH` into folders.
fn prefixes(value: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(value)
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

/// Finds packages. It caches nothing: every conversion searches again, with its own [`Files`].
#[derive(Debug, Default)]
pub struct Resolver {
    options: Options,
}

impl Resolver {
    /// Creates a resolver. Relative folders in `options` start at the current folder.
    pub fn new(mut options: Options) -> Self {
        let settle = |path: &mut PathBuf| {
            if let Ok(absolute) = std::path::absolute(path.as_path()) {
                *path = absolute;
            }
        };
        options
            .packages
            .iter_mut()
            .for_each(|(_, path)| settle(path));
        options.package_paths.iter_mut().for_each(settle);
        options.ament_prefixes.iter_mut().for_each(settle);
        options.allowed_roots.iter_mut().for_each(settle);
        Self { options }
    }

    /// Returns the options, with absolute folders.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Finds the package `name`; `urdf_folder` is the folder of the URDF that refers to it, if any.
    ///
    /// # Errors
    /// Returns an error that lists all places searched if none has the package.
    pub fn package(&self, name: &str, urdf_folder: Option<&Path>) -> Result<Package, Error> {
        let folders: Vec<PathBuf> = urdf_folder
            .and_then(|folder| std::path::absolute(folder).ok())
            .into_iter()
            .collect();
        let lookups = Lookups::default();
        let mut search = package::Search::new(name, &lookups);
        search
            .run(&self.options, &folders)
            .ok_or_else(|| search.error(&format!("package://{name}")))
    }

    /// Returns every package that is found outside the ament index, for programs that search only
    /// the index: the packages of [`Options::packages`] and [`Options::package_paths`], and the one
    /// that contains `urdf_folder`.
    pub fn packages_outside_index(&self, urdf_folder: Option<&Path>) -> Vec<Package> {
        let mut names: Vec<String> = self
            .options
            .packages
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        for path in &self.options.package_paths {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            names
                .extend(package::package_in(path, &Lookups::default()).map(|package| package.name));
            names.extend(
                entries
                    .filter(|entry| entry.path().is_dir())
                    .filter_map(|entry| entry.file_name().into_string().ok()),
            );
        }
        names.extend(urdf_folder.and_then(package_of).map(|package| package.name));
        names.sort();
        names.dedup();
        // The names are candidates: `package` decides which are packages, and where.
        let in_index = |package: &Package| {
            self.options
                .ament_prefixes
                .iter()
                .any(|prefix| package.folder == prefix.join("share").join(&package.name))
        };
        let found = names
            .iter()
            .filter_map(|name| self.package(name, urdf_folder).ok());
        found.filter(|package| !in_index(package)).collect()
    }
}

#[cfg(test)]
mod tests;
