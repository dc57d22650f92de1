//! Lets the program find the packages that we know and its environment does not: a temporary ament
//! prefix with links to them.
//!
//! What the program then says of such a package leads into that prefix, and is led back to the
//! package's own folder.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use urdf_usd_resolve::{Package, Resolver};

/// What stands in for the Python package that a lone `pip install xacro` lacks: the lookup that ROS
/// documents, nothing else.
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

/// The packages, as the program sees them.
pub(super) struct Packages {
    prefix: TempDir,
    /// Where AMENT_PREFIX_PATH leads.
    path: OsString,
    known: Vec<Package>,
}

impl Packages {
    /// Makes the prefix. `folder`: that of the file to be expanded.
    pub fn lay_out(resolver: &Resolver, folder: Option<&Path>) -> io::Result<Self> {
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
        for package in resolver.beyond_the_index(folder) {
            // Only what can be a file's name can be asked for.
            let is_name = package.name.chars().all(is_of_name) && package.name != "ament_index";
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

    /// Sets the environment of a call. `with_index`: with a stand-in for the Python package
    /// `ament_index_python`.
    pub fn show_to(&self, command: &mut Command, with_index: bool) {
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

    /// What the program wrote, with the packages' own folders in place of the links.
    pub fn restore(&self, text: &str) -> String {
        let share = format!("{}/share/", self.prefix.path().display());
        let mut parts = text.split(share.as_str());
        let mut restored = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = &part[..part.find(|c| !is_of_name(c)).unwrap_or(part.len())];
            match self.known.iter().find(|package| package.name == name) {
                Some(package) => restored.push_str(&package.folder.to_string_lossy()),
                None => {
                    restored.push_str(&share);
                    restored.push_str(name);
                }
            }
            restored.push_str(&part[name.len()..]);
        }
        // Where it lists the prefixes, this one is no news to anybody.
        restored
            .replace(&format!("'{}', ", self.prefix.path().display()), "")
            .replace(&format!("'{}'", self.prefix.path().display()), "")
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-".contains(c)
}
