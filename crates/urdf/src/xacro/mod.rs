//! Xacro → the text of a URDF, by the program `xacro` as it is installed.
//!
//! Packages that a person named ([`resolve::Options`](urdf_usd_resolve::Options)) are there for
//! `$(find NAME)` too. Expanding runs expressions of the file, so it is for files that a person
//! trusts: never for a text that came over a network.
//!
//! This module must not know what is in a URDF.

pub mod codes;
mod message;
mod packages;
mod run;
mod scan;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use packages::Packages;
use run::{Ended, Program};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve::{self as resolve, Resolver};

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An argument of a xacro file: `NAME:=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Argument {
    /// The name, as in `<xacro:arg name="…"/>`.
    pub name: String,
    /// The value. The program takes the file's default for an empty one.
    pub value: String,
}

impl Argument {
    /// Reads `NAME:=VALUE`.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected NAME:=VALUE, such as prefix:=left_";
        let (name, value) = text.split_once(":=").ok_or(EXPECTED)?;
        let (name, value) = (name.trim(), value.trim());
        if value.contains(":=") {
            return Err("xacro knows no values with := in them".to_owned());
        }
        // The program takes what begins with one underscore for a ROS parameter, and ignores it.
        let is_name = name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-./".contains(c))
            && !name.starts_with('_');
        if name.is_empty() || !is_name {
            return Err(EXPECTED.to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:={}", self.name, self.value)
    }
}

/// Whether a file's name says that it is xacro.
pub fn is_xacro(file: &Path) -> bool {
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("xacro"))
}

/// What the program made of a file.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// The text, the same wherever the file lies: the folder is taken out of the program's own
    /// comment.
    pub text: String,
    /// What the program warned of.
    pub warnings: Vec<Diagnostic>,
}

/// Expands `file`, which exists, in a minute or in `at_most`. The second result: every other file
/// that had a say, as far as that can be told.
///
/// # Errors
/// If the program is not there, does not end, or says that something is wrong; see [`codes`].
pub fn expand(
    file: &Path,
    arguments: &[Argument],
    resolver: &Resolver,
    at_most: Option<Duration>,
) -> (Result<Expanded, Box<Diagnostic>>, BTreeSet<PathBuf>) {
    let patience = at_most.map_or(PATIENCE, |at_most| at_most.min(PATIENCE));
    expand_by(OsStr::new("xacro"), patience, file, arguments, resolver)
}

fn expand_by(
    program: &OsStr,
    patience: Duration,
    file: &Path,
    arguments: &[Argument],
    resolver: &Resolver,
) -> (Result<Expanded, Box<Diagnostic>>, BTreeSet<PathBuf>) {
    let packages = match Packages::lay_out(resolver, file.parent()) {
        Ok(packages) => packages,
        Err(error) => {
            return (
                Err(failed(
                    file,
                    &format!("no temporary folder for it: {error}"),
                )),
                BTreeSet::new(),
            );
        }
    };
    let program = Program {
        name: program,
        file,
        arguments,
        packages: &packages,
        patience,
    };
    let (mut made, mut listed) = program.expand_and_list(false);
    if let Ok(ended) = &made
        && ended.is_without_ament_index()
    {
        (made, listed) = program.expand_and_list(true);
    }
    let result = made
        .map_err(|error| match error {
            run::Error::NotFound => not_installed(file),
            run::Error::Patience => timed_out(file, patience),
            run::Error::TooLong => failed(file, "it makes more than 64 MiB of text"),
            run::Error::Other(error) if resolve::is_out_of_descriptors(&error) => {
                let stop =
                    resolve::Error::too_many_open(format!("xacro: it can't be run: {error}"));
                Box::new(stop.at(Place::file(file)))
            }
            run::Error::Other(error) => failed(file, &format!("it can't be run: {error}")),
        })
        .and_then(|ended| of_ended(ended, file, &packages));
    let mut used = match (&result, listed) {
        (
            Ok(_),
            Ok(Ended {
                success: true,
                output,
                ..
            }),
        ) => run::listed_files(&packages.restore(&output)),
        _ => scan::includes(file, resolver),
    };
    if let Err(diagnostic) = &result {
        used.extend(diagnostic.place.file.as_deref().map(Path::to_owned));
    }
    used.remove(file);
    (result, used)
}

fn of_ended(ended: Ended, file: &Path, packages: &Packages) -> Result<Expanded, Box<Diagnostic>> {
    let said = packages.restore(&ended.said);
    if ended.success {
        let text = message::without_folder(packages.restore(&ended.output), file);
        Ok(Expanded {
            text,
            warnings: message::warnings(&said, file),
        })
    } else {
        Err(Box::new(message::failure(&said, file)))
    }
}

fn not_installed(file: &Path) -> Box<Diagnostic> {
    let distribution = std::env::var("ROS_DISTRO").unwrap_or_else(|_| "$ROS_DISTRO".to_owned());
    let message = format!(
        "{} is xacro, which the program xacro expands, and that is not in PATH",
        file.display()
    );
    let help = format!(
        "source your ROS workspace, or install it: sudo apt install ros-{distribution}-xacro, or: pip install xacro. Or expand the \
        file where it is installed: xacro {} > robot.urdf",
        file.display()
    );
    Box::new(Diagnostic::new(&codes::NOT_INSTALLED, Place::file(file), message).help(help))
}

fn timed_out(file: &Path, patience: Duration) -> Box<Diagnostic> {
    let message = format!("xacro did not end within {} s", patience.as_secs_f64());
    let help = "look for a macro or an expression that never ends; to wait longer, expand it first: xacro FILE > robot.urdf";
    Box::new(Diagnostic::new(&codes::TIMEOUT, Place::file(file), message).help(help))
}

fn failed(file: &Path, why: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(
        &codes::FAILED,
        Place::file(file),
        format!("xacro: {why}"),
    ))
}

#[cfg(test)]
mod tests;
