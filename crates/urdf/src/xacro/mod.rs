//! Expands xacro to the text of a URDF, by running the installed program `xacro`.
//!
//! `$(find NAME)` also finds packages that the user named
//! ([`resolve::Options`](urdf_usd_resolve::Options)). Expansion evaluates Python expressions of the
//! file. Only expand files that the user trusts, never text from a network.
//!
//! This module knows nothing of the contents of a URDF.

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

/// Time limit of the program.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// An argument of a xacro file: `NAME:=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Argument {
    /// Name, as in `<xacro:arg name="…"/>`.
    pub name: String,
    /// Value. For an empty one, the program uses the file's default.
    pub value: String,
}

impl Argument {
    /// Parses `NAME:=VALUE`.
    ///
    /// # Errors
    /// Returns the message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected NAME:=VALUE, such as prefix:=left_";
        let (name, value) = text.split_once(":=").ok_or(EXPECTED)?;
        let (name, value) = (name.trim(), value.trim());
        if value.contains(":=") {
            return Err("xacro does not accept values that contain :=".to_owned());
        }
        // The program ignores names with a leading underscore: in ROS 1 they were private
        // parameters.
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

/// Returns whether a file is xacro by its name.
pub fn is_xacro(file: &Path) -> bool {
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("xacro"))
}

/// The result of expanding a file.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// URDF text, independent of the file's folder, which is removed from the comment that the
    /// program adds.
    pub text: String,
    /// Warnings of the program.
    pub warnings: Vec<Diagnostic>,
}

/// Expands `file`, which must exist, within a minute or `at_most`.
///
/// The second result contains every other file that the expansion depends on, as far as known.
///
/// # Errors
/// Returns a diagnostic if the program is missing, exceeds the time limit, or reports an error; see
/// [`codes`].
pub fn expand(
    file: &Path,
    arguments: &[Argument],
    resolver: &Resolver,
    at_most: Option<Duration>,
) -> (Result<Expanded, Box<Diagnostic>>, BTreeSet<PathBuf>) {
    let time_limit = at_most.map_or(TIME_LIMIT, |at_most| at_most.min(TIME_LIMIT));
    expand_by(OsStr::new("xacro"), time_limit, file, arguments, resolver)
}

fn expand_by(
    program: &OsStr,
    time_limit: Duration,
    file: &Path,
    arguments: &[Argument],
    resolver: &Resolver,
) -> (Result<Expanded, Box<Diagnostic>>, BTreeSet<PathBuf>) {
    let packages = match Packages::new(resolver, file.parent()) {
        Ok(packages) => packages,
        Err(error) => {
            return (
                Err(failed(
                    file,
                    &format!("can't create a temporary folder: {error}"),
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
        time_limit,
    };
    let (mut made, mut listed) = program.expand_and_list(false);
    // Only after this failure: in PYTHONPATH, the substitute would precede site-packages.
    if let Ok(ended) = &made
        && ended.is_without_ament_index()
    {
        (made, listed) = program.expand_and_list(true);
    }
    let result = made
        .map_err(|error| match error {
            run::Error::NotFound => not_installed(file),
            run::Error::TimedOut => timed_out(file, time_limit),
            run::Error::TooLong => failed(file, "the expanded text is larger than 64 MiB"),
            run::Error::Other(error) if resolve::is_out_of_descriptors(&error) => {
                let stop =
                    resolve::Error::too_many_open(format!("xacro: can't run the program: {error}"));
                Box::new(stop.at(Place::file(file)))
            }
            run::Error::Other(error) => failed(file, &format!("can't run the program: {error}")),
        })
        .and_then(|ended| to_result(ended, file, &packages));
    // A call that fails lists no files: the text is scanned for them, so that a watcher tries
    // again when one is corrected.
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

fn to_result(ended: Ended, file: &Path, packages: &Packages) -> Result<Expanded, Box<Diagnostic>> {
    let messages = packages.restore(&ended.stderr);
    if ended.success {
        let text = message::strip_folder(packages.restore(&ended.output), file);
        Ok(Expanded {
            text,
            warnings: message::warnings(&messages, file),
        })
    } else {
        Err(Box::new(message::failure(&messages, file)))
    }
}

fn not_installed(file: &Path) -> Box<Diagnostic> {
    let distribution = std::env::var("ROS_DISTRO").unwrap_or_else(|_| "$ROS_DISTRO".to_owned());
    let message = format!(
        "{} is xacro, but the program xacro, which expands it, is not in PATH",
        file.display()
    );
    let help = format!(
        "source your ROS workspace, or install xacro: sudo apt install ros-{distribution}-xacro, or: pip install xacro. Or expand the \
        file where it is installed: xacro {} > robot.urdf",
        file.display()
    );
    Box::new(Diagnostic::new(&codes::NOT_INSTALLED, Place::file(file), message).help(help))
}

fn timed_out(file: &Path, time_limit: Duration) -> Box<Diagnostic> {
    let message = format!("xacro did not end within {} s", time_limit.as_secs_f64());
    let help = "look for endless recursion in macros or expressions; to wait longer, expand the file first: xacro FILE > robot.urdf";
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
