//! Which file a reference means, and whether it may be read: the only way to the file system for
//! assets.
//!
//! A package name is looked up in this order, and nowhere else:
//! 1. the folder given for it ([`Options::packages`]; if that is no folder, the search ends there);
//! 2. for each of [`Options::package_paths`]: that folder itself if its package.xml bears the name,
//!    or its subfolder `NAME` unless the package.xml there bears another;
//! 3. the ament index: the first of [`Options::ament_prefixes`] that has
//!    `share/ament_index/resource_index/packages/NAME` has the package, in `share/NAME`;
//! 4. the folder of the nearest package.xml at or above the URDF's folder, if it bears the name.
//!
//! A file may be read if, after symbolic links are resolved, it lies in the URDF's folder or the
//! package that folder belongs to, in a package that is found in the way above, or in a folder that
//! a person named in [`Options`]. A package installed with `colcon build --symlink-install`
//! consists of links into its source folder; where its package.xml is such a link, the folder which
//! that leads to counts as the package too, if the manifest there bears the package's name. No
//! other link leads out.
//!
//! This module must not know what is in the files, apart from the name in a package.xml.

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
pub use files::{File, Files, Located, MAX_BYTES};
pub use package::{Package, package_of};
pub use place::Opened;
pub use states::{COARSE, States};

/// Where to look for packages, and what else may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Options {
    /// Folders of packages by name (`--package NAME=DIR`); the first entry of a name counts.
    pub packages: Vec<(String, PathBuf)>,
    /// Folders that hold packages (`--package-path DIR`).
    pub package_paths: Vec<PathBuf>,
    /// Install prefixes with an ament index, the overlay first.
    pub ament_prefixes: Vec<PathBuf>,
    /// Further folders that may be read. The file system's root allows everything.
    pub allowed_roots: Vec<PathBuf>,
    /// Inputs that were found to be where they may be, by their paths without symbolic links: if a
    /// link takes their place, it is not followed.
    pub exact_inputs: Vec<PathBuf>,
}

impl Options {
    /// The ament prefixes of this process's environment (`AMENT_PREFIX_PATH`), nothing else.
    pub fn from_environment() -> Self {
        Self {
            ament_prefixes: prefixes(&std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default()),
            ..Self::default()
        }
    }
}

/// The folders in a value of `AMENT_PREFIX_PATH`.
fn prefixes(value: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(value)
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

/// Knows where packages are. It holds nothing of what it finds: every conversion looks anew, with
/// its own [`Files`].
#[derive(Debug, Default)]
pub struct Resolver {
    options: Options,
}

impl Resolver {
    /// A resolver for `options`. Relative folders in them start from the current one.
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

    /// The options, with absolute folders.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Finds the package `name`; `urdf_folder` is the folder of the URDF that asks, if there is
    /// one.
    ///
    /// # Errors
    /// If it is in none of the places; the message lists them.
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

    /// Every package that is found in another way than by the ament index, for programs that know
    /// only that: those of [`Options::packages`] and [`Options::package_paths`], and the one that
    /// `urdf_folder` belongs to.
    pub fn beyond_the_index(&self, urdf_folder: Option<&Path>) -> Vec<Package> {
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
