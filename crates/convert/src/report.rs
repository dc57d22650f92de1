//! The machine-readable report of a conversion, `report.json` (its format is documented in
//! `docs/output.md`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::option::Value;
use urdf_usd_diagnostic::{Diagnostic, Severity};
use urdf_usd_resolve::Opened;

/// Name of the report in an asset's directory.
pub const REPORT: &str = "report.json";

/// Maximum size of a report that is read back, in bytes.
const MAX_REPORT: u64 = 256 << 20;

/// The outcome of a conversion that wrote an asset, or found the written one current.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The robot's name in its source.
    pub robot: String,
    /// Whether the whole robot was converted.
    #[serde(default)]
    pub status: Status,
    /// The source of the conversion.
    #[serde(default)]
    pub source: SourceInfo,
    /// The options of the conversion that differ from the defaults, and its formats; empty if the
    /// asset was not converted from a description.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// Number of the revision, from 1; rises with each change of the asset's contents.
    pub revision: u64,
    /// All files of the asset except `report.json` itself.
    #[serde(default)]
    pub files: Vec<FileInfo>,
    /// Numbers of the robot's elements.
    #[serde(default)]
    pub counts: Counts,
    /// Durations of the phases, in milliseconds.
    #[serde(default)]
    pub timings_ms: Timings,
    /// The findings, in the order of the phases.
    #[serde(default)]
    pub diagnostics: Vec<Diagnostic>,
    /// The asset's directory.
    #[serde(skip)]
    pub directory: PathBuf,
    /// The asset's name, which its directory and its entry without extension have.
    #[serde(skip)]
    pub name: String,
    /// The robot's root link (the first, if it has several); empty for a robot without links.
    #[serde(skip)]
    pub root: String,
    /// The namespace that the asset declares for the robot's ROS interfaces.
    #[serde(skip)]
    pub namespace: String,
    /// Whether a new revision was published; `false` if the last one already held the same bytes.
    #[serde(skip)]
    pub changed: bool,
    /// Every file outside of the asset that the conversion read or looked for, for watching.
    #[serde(skip)]
    pub used: Vec<PathBuf>,
}

impl Report {
    /// Reads the report of the asset in `directory`, which another version of this program may have
    /// written.
    ///
    /// The fields that `report.json` omits are empty, except the directory and the asset's name.
    ///
    /// # Errors
    /// Fails if there is no report, or it is unreadable or invalid.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let path = directory.join(REPORT);
        let Opened { file, meta, .. } = Opened::at(&path)?;
        if meta.len() > MAX_REPORT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is larger than 256 MiB",
            ));
        }
        let mut text = Vec::new();
        file.take(MAX_REPORT).read_to_end(&mut text)?;
        let report: Self = serde_json::from_slice(&text)?;
        Ok(Self {
            name: super::file_name(&report.robot),
            directory: directory.to_owned(),
            ..report
        })
    }

    /// Returns the number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    }
}

/// A serializable [`Report`], including the fields that `report.json` omits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    report: Report,
    directory: PathBuf,
    name: String,
    root: String,
    namespace: String,
    changed: bool,
    used: Vec<PathBuf>,
}

impl From<Report> for Outcome {
    fn from(mut report: Report) -> Self {
        let take = std::mem::take::<String>;
        Self {
            directory: std::mem::take(&mut report.directory),
            name: take(&mut report.name),
            root: take(&mut report.root),
            namespace: take(&mut report.namespace),
            changed: report.changed,
            used: std::mem::take(&mut report.used),
            report,
        }
    }
}

impl From<Outcome> for Report {
    fn from(
        Outcome {
            report,
            directory,
            name,
            root,
            namespace,
            changed,
            used,
        }: Outcome,
    ) -> Self {
        Self {
            directory,
            name,
            root,
            namespace,
            changed,
            used,
            ..report
        }
    }
}

/// The outcome of a conversion that wrote an asset.
///
/// A conversion that wrote none has no report; its JSON output has the status `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The asset contains the whole robot, without assumptions that users should know of.
    #[default]
    Ok,
    /// There are warnings and no errors.
    Warnings,
    /// There are errors: the asset lacks a part of the robot.
    Errors,
}

impl Status {
    /// Returns the status of a conversion with these findings.
    pub fn from_findings(diagnostics: &[Diagnostic]) -> Self {
        match diagnostics.iter().map(|finding| finding.severity).max() {
            Some(Severity::Error) => Self::Errors,
            Some(Severity::Warning) => Self::Warnings,
            Some(Severity::Info) | None => Self::Ok,
        }
    }
}

/// The source of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// `urdf` or `xacro`.
    pub kind: Cow<'static, str>,
    /// The file, as a `package://` URI if it is in a package; absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The file's path on the machine that converted it; absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// SHA-256 of the bytes, or of the output of xacro, in lower-case hex.
    pub sha256: String,
}

/// A file of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Path relative to the asset's directory, with forward slashes.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hex.
    pub sha256: String,
}

/// Numbers of a robot's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Links of the source.
    pub links: usize,
    /// Joints of the source.
    pub joints: usize,
    /// Distinct meshes that were read.
    pub meshes: usize,
    /// Triangles of those meshes.
    pub triangles: usize,
    /// Distinct materials written.
    pub materials: usize,
}

impl From<Counts> for urdf_usd_robot::Counts {
    fn from(counts: Counts) -> Self {
        Self {
            links: counts.links,
            joints: counts.joints,
            meshes: counts.meshes,
            triangles: counts.triangles,
        }
    }
}

/// Durations of phases, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Timings {
    /// Reading and checking the source.
    pub read: f64,
    /// Loading meshes and textures, and hulls.
    pub meshes: f64,
    /// Writing the contents of the files.
    pub write: f64,
    /// Publishing the files.
    pub publish: f64,
    /// The whole conversion.
    pub total: f64,
}
