//! The robot that a command reads: a file, a folder, a URI of a package, or standard input.
//!
//! All commands find it in the same way.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::findings;
use super::folder::description_in;
use super::packages::in_package;
use super::results::Refusal;
use urdf_usd_convert::{self as convert, ASSETS, STDIN, Source};
use urdf_usd_diagnostic::Place;
use urdf_usd_resolve::{self as resolve, Opened, Resolver};
use urdf_usd_urdf::xacro;

/// Heading of the options that name inputs.
pub(super) const INPUT: &str = "Input";

/// A robot.
#[derive(Args)]
pub(super) struct Robot {
    /// A URDF file; a xacro file (`.xacro`), which the installed program xacro expands; an OpenUSD
    /// file (`.usd`, `.usda`, `.usdc`, `.usdz`); a glTF file with EXT_robot_kinematics (`.glb`,
    /// `.gltf`); the directory of an asset, or the folder of a ROS package with one robot; or
    /// package://PACKAGE/PATH of any of these. `-` reads any of these files but xacro from standard
    /// input
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// Choose a robot of a folder by the name of its file, with or without its extension, or a
    /// robot of a glTF file by its name
    #[arg(long = "robot", value_name = "NAME", help_heading = INPUT)]
    pub(super) robot: Option<String>,
}

/// The arguments of a xacro file.
#[derive(Args)]
pub(super) struct XacroArguments {
    /// Arguments of the xacro file, in xacro's syntax
    #[arg(value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_arguments: Vec<xacro::Argument>,
    /// An argument of the xacro file (may be given several times)
    #[arg(
        long = "xacro-arg",
        value_name = "NAME:=VALUE",
        value_parser = xacro::Argument::parse,
        help_heading = INPUT
    )]
    xacro_args: Vec<xacro::Argument>,
}

/// Files with planning data of a robot.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanningFiles {
    /// The robot's SRDF: named poses, end effectors, and pairs of links that need no collision
    /// check
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub srdf: Option<PathBuf>,
    /// The robot's XRDF: default positions (the pose `default`), configuration space, tool frames,
    /// collision spheres, and changes of its frames
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub xrdf: Option<PathBuf>,
}

impl PlanningFiles {
    /// Returns whether any file is given.
    pub(super) fn is_given(&self) -> bool {
        self.srdf.is_some() || self.xrdf.is_some()
    }

    /// Sets the files of a conversion.
    pub(super) fn put(&self, options: &mut convert::Options) {
        options.srdf.clone_from(&self.srdf);
        options.xrdf.clone_from(&self.xrdf);
    }
}

/// The source that a command reads.
#[derive(Debug)]
pub struct Read {
    /// The source.
    pub source: Source,
    /// The robot of a glTF file that the user chose.
    pub model: Option<String>,
}

impl Read {
    /// Returns the file, if the source is one without arguments.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File(file) => Some(file),
            _ => None,
        }
    }
}

impl Robot {
    /// Returns the source to read: standard input for `-`, otherwise the file that the input names,
    /// the entry of an asset's directory, or the robot in any other folder.
    ///
    /// On failure, prints the error and returns the exit code.
    pub(super) fn read(
        &self,
        arguments: &XacroArguments,
        resolve: &resolve::Options,
    ) -> Result<Read, ExitCode> {
        self.find(arguments, resolve)
            .map_err(|refusal| refusal.print())
    }

    /// Returns the source to read, as [`Robot::read`] does.
    pub(super) fn find(
        &self,
        arguments: &XacroArguments,
        resolve: &resolve::Options,
    ) -> Result<Read, Refusal> {
        let robot = self.robot.as_deref();
        let arguments: Vec<xacro::Argument> = arguments
            .xacro_args
            .iter()
            .chain(&arguments.xacro_arguments)
            .cloned()
            .collect();
        if self.input != Path::new("-") {
            return find(&self.input, robot, arguments, resolve);
        }
        let usage = |message: String| Err(Refusal::Usage(message));
        if robot.is_some() {
            return usage(
                "--robot NAME selects a robot of a folder; it does not apply to standard input"
                    .to_owned(),
            );
        }
        if let Some(argument) = arguments.first() {
            return usage(format!(
                "{argument}: only xacro files take arguments, and xacro can't be read from standard input"
            ));
        }
        Ok(Read {
            source: standard_input()?,
            model: None,
        })
    }
}

/// Returns the source to read: the file that `input` names, the entry of an asset's directory, or
/// the robot in any other folder. `robot` is the name of one in a folder or a glTF file.
///
/// # Errors
/// Returns the reason if there is no such file, or xacro's arguments are given for another format.
pub fn find(
    input: &Path,
    robot: Option<&str>,
    arguments: Vec<xacro::Argument>,
    resolve: &resolve::Options,
) -> Result<Read, Refusal> {
    let input = located(input, resolve)?;
    if is_missing(&input) {
        let found = resolve::missing_input(&input).at(Place::file(&input));
        return Err(Refusal::Found {
            diagnostics: vec![found],
            expanded: None,
        });
    }
    let (model, of_folder) = if is_gltf_file(&input) {
        (robot.map(str::to_owned), None)
    } else {
        (None, robot)
    };
    let file = file(&input, of_folder)?;
    let source = match arguments.first() {
        None => Source::File(file),
        Some(argument) if !has_macros(&file) => {
            return Err(Refusal::Usage(format!(
                "{argument}: {} is not a xacro file, and only those take arguments",
                file.display()
            )));
        }
        Some(_) => Source::Xacro { file, arguments },
    };
    Ok(Read { source, model })
}

/// Returns whether nothing is at a path. What can't be examined has a better message elsewhere.
fn is_missing(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let error = std::fs::metadata(path).err().map(|error| error.kind());
    matches!(error, Some(NotFound | NotADirectory))
}

/// Resolves `package://PACKAGE/PATH` and `file://PATH` to a path; any other path stays as it is.
pub(super) fn located(input: &Path, resolve: &resolve::Options) -> Result<PathBuf, String> {
    in_package(input, &Resolver::new(resolve.clone()))
}

/// Returns the file that a path names: the entry of an asset's directory, or the robot in any other
/// folder.
fn file(path: &Path, robot: Option<&str>) -> Result<PathBuf, String> {
    if robot.is_none() {
        if !path.is_dir() {
            return Ok(path.to_owned());
        }
        if let Ok(entry) = convert::entry(path, &ASSETS) {
            return Ok(entry);
        }
    }
    description_in(path, robot)
}

/// Returns whether a path is that of a glTF file, which may hold several robots.
fn is_gltf_file(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_ascii_lowercase());
    !path.is_dir() && extension.is_some_and(|extension| extension == "glb" || extension == "gltf")
}

/// Returns whether a file is xacro, by its name or because it uses xacro's namespace. A file that
/// can't be read has a better message elsewhere.
fn has_macros(file: &Path) -> bool {
    let mut text = Vec::new();
    let read = Opened::at(file).and_then(|opened| {
        let most = urdf_usd_urdf::MAX_TEXT_BYTES as u64;
        opened.file.take(most).read_to_end(&mut text)
    });
    xacro::is_xacro(file) || read.is_err() || text.windows(6).any(|part| part == b"xacro:")
}

/// A file of OpenUSD, which is read from files only.
#[derive(Debug)]
pub struct AssetFile {
    /// The entry file.
    pub path: PathBuf,
    /// Deletes a copy of standard input.
    pub(super) copy: Option<tempfile::TempDir>,
}

impl AssetFile {
    /// Returns the entry file of an OpenUSD asset: that of `-` is a copy of standard input.
    ///
    /// # Errors
    /// Returns a message for the user if there is no such file, or it is not OpenUSD by its name or
    /// content.
    pub fn find(asset: &Path, endings: &[&str], resolver: &Resolver) -> Result<Self, String> {
        if asset == Path::new("-") {
            let source = standard_input()?;
            return match &source {
                Source::Bytes { bytes, .. } if is_usd(bytes) => Self::copy(bytes),
                _ => Err("standard input is not an OpenUSD file".to_owned()),
            };
        }
        let path = in_package(asset, resolver).and_then(|asset| {
            convert::entry(&asset, endings).or_else(|why| only_entry_in(&asset, endings).ok_or(why))
        })?;
        let copy = None;
        Ok(Self { path, copy })
    }

    /// Copies OpenUSD from standard input to a file with the extension that it requires.
    ///
    /// # Errors
    /// Returns a message for the user if the file can't be written.
    pub fn copy(bytes: &[u8]) -> Result<Self, String> {
        let is_package = bytes.starts_with(b"PK");
        let name = if is_package {
            "stdin.usdz"
        } else {
            "stdin.usd"
        };
        let copied = tempfile::tempdir().and_then(|folder| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes)?;
            let copy = Some(folder);
            Ok(Self { path, copy })
        });
        copied.map_err(|error| format!("cannot copy standard input: {error}"))
    }
}

/// Returns the entry of the only asset whose folder is in `folder`.
fn only_entry_in(folder: &Path, endings: &[&str]) -> Option<PathBuf> {
    let inside = std::fs::read_dir(folder).ok()?.flatten();
    let mut assets = inside
        .map(|entry| entry.path())
        .filter(|path| path.join(convert::REPORT).is_file());
    let (Some(asset), None) = (assets.next(), assets.next()) else {
        return None;
    };
    convert::entry(&asset, endings).ok()
}

fn is_usd(bytes: &[u8]) -> bool {
    convert::Format::detect(bytes) == convert::Format::Usd
}

/// Reads URDF, OpenUSD or glTF from standard input. Relative references are resolved from the
/// working directory.
pub(super) fn standard_input() -> Result<Source, String> {
    let (mut bytes, mut input) = (Vec::new(), std::io::stdin().lock());
    let failed = |error: std::io::Error| format!("cannot read standard input: {error}");
    // As much as a URDF may have first: only other formats are read beyond that.
    let of_text = urdf_usd_urdf::MAX_TEXT_BYTES as u64;
    input
        .by_ref()
        .take(of_text + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let is_urdf = convert::Format::detect(&bytes) == convert::Format::Urdf;
    let most = if is_urdf { of_text } else { resolve::MAX_BYTES };
    input
        .take((most + 1).saturating_sub(bytes.len() as u64))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(format!(
            "standard input has more than {} MiB, the maximum for a robot",
            most >> 20
        ));
    }
    let directory = std::env::current_dir()
        .map_err(|error| format!("cannot determine the working directory: {error}"))?;
    let file = directory.join(STDIN);
    if is_urdf {
        let decoded = urdf_usd_urdf::decode(&bytes)
            .map_err(|diagnostic| format!("{STDIN}: {}", diagnostic.message))?;
        findings::STANDARD_INPUT.get_or_init(|| decoded.text.into());
    }
    Ok(Source::Bytes {
        bytes: bytes.into(),
        file,
    })
}
