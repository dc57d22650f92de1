//! Makes packages that are missing from the program's environment known to it: a temporary ament
//! prefix contains links to them.
//!
//! Paths in the program's output that lead into the prefix are replaced by the packages' own
//! folders.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use urdf_usd_resolve::{Package, Resolver};

/// Replacement for the Python package `ament_index_python`, which `pip install xacro` does not
/// install: only the look-up that ROS documents.
const AMENT_INDEX: &str = r#""""Where packages are, by the ament index."""

import os


class PackageNotFoundError(KeyError):
    def __str__(self):
        return self.args[0]


def get_package_prefix(name):
    prefixes = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    for prefix in prefixes:
        if os.path.isfile(os.path.join(prefix, "share/ament_index/resource_index/packages", name)):
            return prefix
    raise PackageNotFoundError(f"package '{name}' not found, searching: {prefixes}")


def get_package_share_directory(name):
    return os.path.join(get_package_prefix(name), "share", name)
"#;

/// A temporary ament prefix.
pub(super) struct Packages {
    prefix: TempDir,
    /// Value of AMENT_PREFIX_PATH.
    path: OsString,
    known: Vec<Package>,
}

impl Packages {
    /// Creates the prefix. `folder` is that of the file to be expanded.
    pub fn new(resolver: &Resolver, folder: Option<&Path>) -> io::Result<Self> {
        let prefix = tempfile::Builder::new()
            .prefix("urdf_usd-xacro-")
            .tempdir()?;
        let (share, index) = (
            prefix.path().join("share"),
            prefix
                .path()
                .join("share/ament_index/resource_index/packages"),
        );
        fs::create_dir_all(&index)?;
        let mut known = Vec::new();
        for package in resolver.packages_outside_index(folder) {
            // Only names that are file names can be looked up.
            // A link named `ament_index` would take the place of the index itself.
            let is_name = package.name.chars().all(is_name_char) && package.name != "ament_index";
            if is_name && symlink(&package.folder, share.join(&package.name)).is_ok() {
                fs::write(index.join(&package.name), "")?;
                known.push(package);
            }
        }
        let python = prefix.path().join("python/ament_index_python");
        fs::create_dir_all(&python)?;
        fs::write(python.join("__init__.py"), "")?;
        fs::write(python.join("packages.py"), AMENT_INDEX)?;
        let prefixes = [prefix.path().to_owned()]
            .into_iter()
            .chain(resolver.options().ament_prefixes.iter().cloned());
        let path = std::env::join_paths(prefixes).map_err(io::Error::other)?;
        Ok(Self {
            prefix,
            path,
            known,
        })
    }

    /// Sets the environment of a call. `with_index` adds the replacement for `ament_index_python`.
    pub fn set_environment(&self, command: &mut Command, with_index: bool) {
        command.env("AMENT_PREFIX_PATH", &self.path);
        if with_index {
            let python = std::env::var_os("PYTHONPATH").unwrap_or_default();
            let folders =
                std::env::split_paths(&python).filter(|path| !path.as_os_str().is_empty());
            let folders = folders.chain([self.prefix.path().join("python")]);
            if let Ok(path) = std::env::join_paths(folders) {
                command
                    .env("PYTHONPATH", path)
                    .env("PYTHONDONTWRITEBYTECODE", "1");
            }
        }
    }

    /// Replaces links into the prefix by the packages' own folders in the program's output.
    pub fn restore(&self, text: &str) -> String {
        let share = format!("{}/share/", self.prefix.path().display());
        let mut parts = text.split(share.as_str());
        let mut restored = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = &part[..part.find(|c| !is_name_char(c)).unwrap_or(part.len())];
            match self.known.iter().find(|package| package.name == name) {
                Some(package) => restored.push_str(&package.folder.to_string_lossy()),
                None => {
                    restored.push_str(&share);
                    restored.push_str(name);
                }
            }
            restored.push_str(&part[name.len()..]);
        }
        // Remove the prefix from lists of prefixes: it means nothing to the user.
        restored
            .replace(&format!("'{}', ", self.prefix.path().display()), "")
            .replace(&format!("'{}'", self.prefix.path().display()), "")
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-".contains(c)
}
