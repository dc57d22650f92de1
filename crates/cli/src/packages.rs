//! Where `package://` leads, as arguments of commands that read OpenUSD assets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::no_folder;
use urdf_usd_resolve::{Options, Resolver};

/// Where ROS packages are.
#[derive(Args)]
pub(super) struct Packages {
    /// Where a ROS package is, for package:// URIs (may be given several times). It comes before
    /// everything else
    #[arg(long, value_name = "NAME=DIR", value_parser = named_folder)]
    package: Vec<(String, PathBuf)>,
    /// A folder that holds ROS packages (may be given several times). It comes before the ament
    /// index (AMENT_PREFIX_PATH)
    #[arg(long, value_name = "DIR")]
    package_path: Vec<PathBuf>,
}

impl Packages {
    /// What knows where packages are; or which folder is none.
    pub(super) fn resolver(&self) -> Result<Arc<Resolver>, String> {
        self.options()
            .map(|options| Arc::new(Resolver::new(options)))
    }

    /// Where packages are; or which folder is none.
    pub(super) fn options(&self) -> Result<Options, String> {
        self.options_with(&[])
    }

    /// The same with further folders that may be read.
    pub(super) fn options_with(&self, allowed_roots: &[PathBuf]) -> Result<Options, String> {
        let (packages, package_paths) = (self.package.clone(), self.package_path.clone());
        let allowed_roots = allowed_roots.to_vec();
        let options = Options {
            packages,
            package_paths,
            allowed_roots,
            ..Options::from_environment()
        };
        no_folder(&options).map_or(Ok(options), Err)
    }
}

/// The path that is meant by `package://PACKAGE/FILE`; any other path as it is.
pub(super) fn in_package(asset: &Path, resolver: &Resolver) -> Result<PathBuf, String> {
    let Some(inside) = asset
        .to_str()
        .and_then(|asset| asset.strip_prefix("package://"))
    else {
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
        .ok_or("it is not NAME=DIR")?;
    Ok((name.to_owned(), folder.into()))
}
