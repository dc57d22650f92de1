//! What a conversion tells programs: `report.json` (the contract is in the README).

use std::borrow::Cow;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use urdf_usd_diagnostic::{Diagnostic, Severity};
use urdf_usd_resolve::Opened;

/// The name of the report in an asset's directory.
pub const REPORT: &str = "report.json";

/// The largest report that is read back, in bytes.
const MAX_REPORT: u64 = 256 << 20;

/// The outcome of a conversion that wrote an asset, or found the written one current.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The robot's name as its source gives it.
    pub robot: String,
    /// Whether all of it was converted.
    #[serde(default)]
    pub status: Status,
    /// What was converted.
    #[serde(default)]
    pub source: SourceInfo,
    /// Counts the different contents of this asset, from 1.
    pub revision: u64,
    /// Every file of the asset but `report.json` itself.
    #[serde(default)]
    pub files: Vec<FileInfo>,
    /// What the robot consists of.
    #[serde(default)]
    pub counts: Counts,
    /// Milliseconds per phase.
    #[serde(default)]
    pub timings_ms: Timings,
    /// What was found on the way, in the order of the phases.
    #[serde(default)]
    pub diagnostics: Vec<Diagnostic>,
    /// The asset's directory.
    #[serde(skip)]
    pub directory: PathBuf,
    /// The name of the asset: of its directory and of its entry without the ending.
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
    /// Every file outside the asset that the conversion read or looked for, for watching.
    #[serde(skip)]
    pub used: Vec<PathBuf>,
}

impl Report {
    /// Reads the report of the asset in `directory`, which may be of another version of this
    /// program. It has what `report.json` has, the directory and the asset's name.
    ///
    /// # Errors
    /// If there is no report, or it can't be read or understood.
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

    /// How many findings have this severity.
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

/// How a conversion ended that wrote an asset. One that wrote none has no report; where it is told
/// in JSON, its status is `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All of the robot is in the asset, with nothing assumed that people should know of.
    #[default]
    Ok,
    /// There are warnings and no errors.
    Warnings,
    /// There are errors: something of the robot is not in the asset.
    Errors,
}

impl Status {
    /// That of a conversion with these findings.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        match diagnostics.iter().map(|finding| finding.severity).max() {
            Some(Severity::Error) => Self::Errors,
            Some(Severity::Warning) => Self::Warnings,
            Some(Severity::Info) | None => Self::Ok,
        }
    }
}

/// What was converted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// `urdf` or `xacro`.
    pub kind: Cow<'static, str>,
    /// The file, `package://` where it lies in a package; absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Of the bytes, or of the text that xacro made; lower-case hex.
    pub sha256: String,
}

/// A file of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Relative to the asset's directory, with forward slashes.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// Of the content, lower-case hex.
    pub sha256: String,
}

/// What a robot consists of.
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

/// Milliseconds per phase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Timings {
    /// Reading and checking the source.
    pub read: f64,
    /// Loading meshes and textures, and hulls.
    pub meshes: f64,
    /// Making the files' contents.
    pub write: f64,
    /// Putting them on disk.
    pub publish: f64,
    /// All of it.
    pub total: f64,
}
