//! The locations of ROS packages, as arguments of commands that read OpenUSD assets.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use percent_encoding::percent_decode_str;

use super::invalid_folder;
use urdf_usd_resolve::{Options, Resolver};

/// Heading of these options.
pub(super) const PACKAGES: &str = "Packages";

/// The locations of ROS packages.
#[derive(Args)]
pub(super) struct Packages {
    /// The directory of a ROS package, for package:// URIs (may be given several times). It takes
    /// precedence over all other locations
    #[arg(long, value_name = "NAME=DIR", value_parser = named_folder, help_heading = PACKAGES)]
    package: Vec<(String, PathBuf)>,
    /// A folder of ROS packages (may be given several times). It takes precedence over the ament
    /// index (AMENT_PREFIX_PATH)
    #[arg(long, value_name = "DIR", help_heading = PACKAGES)]
    package_path: Vec<PathBuf>,
}

impl Packages {
    /// Returns a resolver for these packages, or an error about a missing folder.
    pub(super) fn resolver(&self) -> Result<Arc<Resolver>, String> {
        self.options()
            .map(|options| Arc::new(Resolver::new(options)))
    }

    /// Returns the resolver's options, or an error about a missing folder.
    pub(super) fn options(&self) -> Result<Options, String> {
        self.options_with(&[])
    }

    /// Returns the resolver's options with additional folders that may be read.
    pub(super) fn options_with(&self, allowed_roots: &[PathBuf]) -> Result<Options, String> {
        let (packages, package_paths) = (self.package.clone(), self.package_path.clone());
        let allowed_roots = allowed_roots.to_vec();
        let options = Options {
            packages,
            package_paths,
            allowed_roots,
            ..Options::from_environment()
        };
        invalid_folder(&options).map_or(Ok(options), Err)
    }
}

/// Resolves `package://PACKAGE/FILE` and `file:///FILE` to a path; any other path stays as it is.
pub(super) fn in_package(asset: &Path, resolver: &Resolver) -> Result<PathBuf, String> {
    let text = asset.to_str().unwrap_or_default();
    if let Some(path) = text.strip_prefix("file://") {
        let path = path.strip_prefix("localhost").unwrap_or(path);
        let decoded: Vec<u8> = percent_decode_str(path).collect();
        return Ok(OsString::from_vec(decoded).into());
    }
    let Some(inside) = text.strip_prefix("package://") else {
        return Ok(asset.to_owned());
    };
    let (name, file) = inside.split_once('/').unwrap_or((inside, ""));
    resolver
        .package(name, None)
        .map(|package| package.folder.join(file))
        .map_err(|error| error.to_string())
}

fn named_folder(text: &str) -> Result<(String, PathBuf), String> {
    let (name, folder) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("write NAME=DIR")?;
    Ok((name.to_owned(), folder.into()))
}
