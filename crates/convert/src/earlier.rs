//! Adds to the asset that an earlier conversion of the same source wrote.
//!
//! The earlier formats are written again, with the options that they were written with. So all
//! files of a revision show the same robot, also those that formats share, and an unchanged robot
//! gives the same bytes, which are not written a second time ([`super::publish`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::option::{Kind, Value};
use super::options::{NOT_OF_THE_ASSET, TABLE};
use super::{Job, Options, Report, SourceInfo, codes, publish};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Maximum number of files that an error lists.
const MAX_LISTED: usize = 10;

/// Treatment of the asset of the robot's name that is in the output directory already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Existing {
    /// It is replaced: files of its formats that the conversion does not write are removed.
    #[default]
    Replace,
    /// Its formats stay; that of another source is an error.
    Keep {
        /// The names of the options that the user gave. They take precedence over those that the
        /// earlier formats were written with.
        given: BTreeSet<String>,
    },
}

/// The options of an asset by name: those that differ from the defaults, and the formats.
pub(super) type Recorded = BTreeMap<String, Value>;

/// Returns the options that files of the asset depend on.
pub(super) fn recorded(options: &Options) -> Recorded {
    let defaults = Options::default();
    let rows = TABLE
        .iter()
        .filter(|row| !NOT_OF_THE_ASSET.contains(&row.about.name));
    rows.filter_map(|row| {
        let value = row.get(options);
        let is_set = value != row.get(&defaults) || row.about.name == "formats";
        // A relative path would depend on the working directory.
        let value = is_set.then(|| {
            row.about
                .kind
                .absolute(&value, Path::new(""))
                .unwrap_or(value)
        })?;
        Some((row.about.name.to_owned(), value))
    })
    .collect()
}

/// A job that also writes what an earlier conversion wrote.
pub(super) struct Extended {
    pub(super) job: Job,
    /// The finding about the formats and options that it keeps.
    pub(super) finding: Diagnostic,
}

/// Returns the job with the formats, overlays and options of the `earlier` asset, if that has any
/// that the job does not name.
///
/// # Errors
/// Fails if the asset has another source, or options that are invalid.
pub(super) fn extended(
    job: &Job,
    source: &SourceInfo,
    earlier: &Report,
) -> Result<Option<Extended>, Diagnostic> {
    let Existing::Keep { given } = &job.existing else {
        return Ok(None);
    };
    let place = || Place::file(&earlier.directory);
    if !earlier.source.is_same_as(source) {
        let message = format!(
            "{} is the asset of another source: {}, not {source}",
            earlier.directory.display(),
            earlier.source,
        );
        let help = "choose another output directory (-o), or replace the asset with --replace";
        return Err(Diagnostic::new(&codes::OTHER_SOURCE, place(), message).help(help));
    }
    let mut job = job.clone();
    let (mut kept, mut with) = (Vec::new(), Vec::new());
    for row in TABLE {
        let about = &row.about;
        let Some(before) = earlier.options.get(about.name) else {
            continue;
        };
        let now = row.get(&job.options);
        let value = match (about.kind, before, &now) {
            (Kind::Choices(_), Value::List(before), Value::List(now)) => {
                let added = before.iter().filter(|name| !now.contains(name));
                kept.extend(added.clone().cloned());
                Value::List(now.iter().chain(added).cloned().collect())
            }
            _ if given.contains(about.name) || *before == now => continue,
            _ => {
                match about.name {
                    "simready" | "thumbnail" => kept.push(about.name.to_owned()),
                    _ => with.push(format!("--{}", about.flag())),
                }
                before.clone()
            }
        };
        row.set(&mut job.options, &value).map_err(|why| {
            let message = format!("{} in its report.json: {why}", about.name);
            Diagnostic::new(&codes::WOULD_REMOVE, place(), message)
                .help("replace the asset with --replace")
        })?;
    }
    if kept.is_empty() {
        return Ok(None);
    }
    let with = match with.as_slice() {
        [] => String::new(),
        with => format!(" (with {})", with.join(", ")),
    };
    let message = format!(
        "{} of an earlier conversion stay, and are written again{with}",
        kept.join(", "),
    );
    let help = "pass --replace to write only the formats and overlays that the command names";
    let finding = Diagnostic::new(&codes::KEPT, place(), message).help(help);
    Ok(Some(Extended { job, finding }))
}

/// Checks that publishing `files` over the asset in `directory` removes none that must stay.
///
/// Files may go if `revision`, the asset's revision when the job was [extended], is its present one
/// and its options are known: then all its formats are written again.
///
/// # Errors
/// Returns the finding that lists the files that would be removed.
pub(super) fn check_kept(
    directory: &Path,
    revision: u64,
    files: &publish::Files,
) -> Result<(), Diagnostic> {
    let Ok(present) = Report::read(directory) else {
        return Ok(());
    };
    if present.revision == revision && !present.options.is_empty() {
        return Ok(());
    }
    let removed: Vec<&str> = present
        .files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| !files.contains_key(*path))
        .collect();
    if removed.is_empty() {
        return Ok(());
    }
    let more = removed.len().saturating_sub(MAX_LISTED);
    let mut listed = removed
        .iter()
        .take(MAX_LISTED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        listed += &format!(" and {more} more");
    }
    let message = format!(
        "files of {} would be removed: {listed}",
        directory.display()
    );
    let help = "choose another output directory (-o), or remove them with --replace";
    Err(Diagnostic::new(&codes::WOULD_REMOVE, Place::file(directory), message).help(help))
}

impl SourceInfo {
    /// Returns whether two assets were converted from one source, which may have changed between.
    ///
    /// A file of a package is the same wherever the package is. Equal contents are the same source
    /// wherever they are; two texts, such as standard input, can't be told apart.
    fn is_same_as(&self, other: &Self) -> bool {
        if self.sha256 == other.sha256 && !self.sha256.is_empty() {
            return true;
        }
        match (self.package_uri(), other.package_uri()) {
            (Some(one), Some(other)) => one == other,
            _ => match (&self.file, &other.file) {
                (Some(one), Some(other)) => one == other,
                // A report of an older version has no path.
                _ => (&self.uri, &self.kind) == (&other.uri, &other.kind),
            },
        }
    }

    fn package_uri(&self) -> Option<&str> {
        self.uri
            .as_deref()
            .filter(|uri| uri.starts_with("package://"))
    }
}

impl fmt::Display for SourceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().or(self.uri.as_deref());
        match (self.package_uri(), file) {
            (Some(uri), _) | (None, Some(uri)) => f.write_str(uri),
            (None, None) => write!(f, "{} text", self.kind),
        }
    }
}
