//! Reads the source of a conversion: detects its format by content, and reads the robot.
//!
//! This module knows every reader, and nothing of the outputs.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_gltf_read as gltf_read;
use urdf_usd_resolve as resolve;
use urdf_usd_robot::Robot;
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_urdf::{self as urdf, xacro};
use urdf_usd_usd_read as usd_read;

use super::{Context, Job, Step, codes, sha256};

/// File name that stands for standard input.
///
/// A text from there is treated as a file of this name in the folder that its relative references
/// start from. Findings name it without the folder.
pub const STDIN: &str = "<stdin>";

/// The source of a robot's description.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum Source {
    /// A URDF, OpenUSD or glTF file, whatever its name; or a xacro file without arguments,
    /// recognized by its name.
    File(PathBuf),
    /// A xacro file, whatever its name. Expanding it evaluates expressions in it, so use only
    /// trusted files.
    Xacro {
        /// The file.
        file: PathBuf,
        /// The arguments of the xacro file.
        arguments: Vec<xacro::Argument>,
    },
    /// URDF text, with the file that relative references start from, if any.
    Text {
        /// The description, shared between all owners.
        text: Arc<str>,
        /// The file that it is treated as.
        file: Option<PathBuf>,
    },
    /// OpenUSD or glTF bytes.
    Bytes {
        /// The contents of the file.
        bytes: Arc<[u8]>,
        /// The file that they are treated as: references start from its folder.
        file: PathBuf,
    },
}

impl Source {
    /// Returns the xacro file and its arguments, if the source is one.
    pub(super) fn xacro(&self) -> Option<(&Path, &[xacro::Argument])> {
        match self {
            Self::File(file) if xacro::is_xacro(file) => Some((file, &[])),
            Self::Xacro { file, arguments } => Some((file, arguments)),
            Self::File(_) | Self::Text { .. } | Self::Bytes { .. } => None,
        }
    }

    /// Returns whether the source is a file instead of text or bytes.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::Xacro { .. })
    }
}

/// Formats of descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// URDF text.
    Urdf,
    /// OpenUSD: a layer in text or binary, or a package of layers.
    Usd,
    /// Binary glTF.
    Glb,
    /// glTF in JSON.
    Gltf,
}

impl Format {
    /// Detects the format by the first bytes of a file.
    pub fn detect(start: &[u8]) -> Self {
        let is = |mark: &[u8]| start.starts_with(mark);
        // A text layer, a binary layer (crate file), and a package, which is a ZIP archive.
        if is(b"#usda") || is(b"PXR-USDC") || is(b"PK\x03\x04") {
            return Self::Usd;
        }
        if is(b"glTF") {
            return Self::Glb;
        }
        let text = start
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(start)
            .trim_ascii_start();
        if text.starts_with(b"{") {
            Self::Gltf
        } else {
            Self::Urdf
        }
    }

    /// Returns the value of [`SourceInfo::kind`](super::SourceInfo::kind).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urdf => "urdf",
            Self::Usd => "usd",
            Self::Glb => "glb",
            Self::Gltf => "gltf",
        }
    }
}

/// Extensions of OpenUSD files.
const USD_ENDINGS: [&str; 4] = ["usd", "usda", "usdc", "usdz"];

/// Number of bytes at the beginning of a file that [`Format::detect`] examines.
const START: u64 = 256;

/// A source that has been opened.
#[derive(Clone)]
pub(super) struct Input {
    /// See [`SourceInfo::kind`](super::SourceInfo::kind).
    pub kind: &'static str,
    /// The real or nominal location.
    pub file: Option<PathBuf>,
    content: Content,
    /// Hash of the content; `None` for OpenUSD, which consists of several files.
    sha256: Option<String>,
    /// The finding about the encoding of the text.
    encoding: Option<Diagnostic>,
    /// Warnings of xacro, if the text is its output.
    expanded: Option<Vec<Diagnostic>>,
}

#[derive(Clone)]
enum Content {
    Urdf(Arc<str>),
    Gltf(Arc<[u8]>),
    Usd(Option<Arc<[u8]>>),
}

/// The robot that was read from a source.
pub(super) struct Reading {
    pub robot: Robot,
    /// References that are still to be loaded.
    pub references: urdf::References,
    pub diagnostics: Vec<Diagnostic>,
    /// SHA-256 of the source in lower-case hex: of its text or file; for OpenUSD in several layers,
    /// of their concatenated hashes.
    pub sha256: String,
    /// The namespace that the source declares for the robot.
    pub namespace: Option<String>,
    /// Statements of the source about the asset.
    pub info: usd_read::AssetInfo,
}

/// Expands a xacro file.
pub(super) fn expand(
    file: &Path,
    arguments: &[xacro::Argument],
    files: &resolve::Files,
    context: &Context,
    limit: &TimeLimit,
) -> Result<Input, Box<Diagnostic>> {
    let file = absolute(file);
    // Checks and records the file only: the program `xacro` reads it itself.
    files
        .input_within(&file, urdf::MAX_TEXT_BYTES as u64)
        .map_err(|error| error.at(Place::file(file.clone())))?;
    context.begin_step(Step::Expand);
    let (expanded, included) = xacro::expand(&file, arguments, files.resolver(), limit.left());
    included.iter().for_each(|included| files.rely_on(included));
    let xacro::Expanded { text, warnings } = expanded?;
    context.expanded.iter().for_each(|show| show(&text));
    let hash = Some(sha256(text.as_bytes()));
    Ok(Input {
        kind: "xacro",
        file: Some(file),
        content: Content::Urdf(text.into()),
        sha256: hash,
        encoding: None,
        expanded: Some(warnings),
    })
}

/// Opens the source. `hash` is that of its text, if that is in the job.
pub(super) fn open(
    source: &Source,
    hash: Option<&str>,
    files: &resolve::Files,
) -> Result<Input, Diagnostic> {
    let allow = |file: &Path| {
        file.parent()
            .into_iter()
            .for_each(|folder| files.allow(folder))
    };
    let known = |bytes: &[u8]| Some(hash.map_or_else(|| sha256(bytes), str::to_owned));
    let input = |format: Format, file, content, sha256| Input {
        kind: format.as_str(),
        file,
        content,
        sha256,
        encoding: None,
        expanded: None,
    };
    match source {
        Source::Text { text, file } => {
            file.iter().for_each(|file| allow(file));
            Ok(input(
                Format::Urdf,
                file.clone(),
                Content::Urdf(text.clone()),
                known(text.as_bytes()),
            ))
        }
        Source::Bytes { bytes, file } => {
            let start = bytes.get(..START as usize).unwrap_or(bytes);
            refuse_other_kinds(file, Some(start))?;
            allow(file);
            let format = Format::detect(bytes);
            let (content, encoding) = content(format, bytes, file)?;
            Ok(Input {
                encoding,
                ..input(format, Some(file.clone()), content, known(bytes))
            })
        }
        Source::File(path) | Source::Xacro { file: path, .. } => {
            let start = start(&absolute(path));
            refuse_other_kinds(path, start.as_deref())?;
            let path = absolute(path);
            let format = start.map_or(Format::Urdf, |start| Format::detect(&start));
            let most = if format == Format::Urdf {
                urdf::MAX_TEXT_BYTES as u64
            } else {
                resolve::MAX_BYTES
            };
            let unreadable = |error: resolve::Error| error.at(Place::file(path.clone()));
            // OpenUSD requires one of its extensions: a file with another one is read as bytes.
            let is_named = path.extension().is_some_and(|ending| {
                USD_ENDINGS
                    .iter()
                    .any(|known| ending.eq_ignore_ascii_case(known))
            });
            if format == Format::Usd && is_named {
                files.find_input(&path, most).map_err(unreadable)?;
                return Ok(input(format, Some(path), Content::Usd(None), None));
            }
            let file = files.input_within(&path, most).map_err(unreadable)?;
            let (content, encoding) = content(format, &file.bytes, &path)?;
            Ok(Input {
                encoding,
                ..input(format, Some(path), content, known(&file.bytes))
            })
        }
    }
}

impl Input {
    /// Finishes findings for the user: places in xacro's output are marked, and xacro's own
    /// findings come first.
    pub fn finish_findings(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.extend(self.encoding.clone());
        if let Some(file) = self.file.as_deref().filter(|file| file.ends_with(STDIN)) {
            let places = found.iter_mut().map(|finding| &mut finding.place.file);
            places
                .filter(|place| place.as_deref() == Some(file))
                .for_each(|place| *place = Some(Path::new(STDIN).into()));
        }
        let Some(warnings) = &self.expanded else {
            return found;
        };
        for diagnostic in &mut found {
            let place = &mut diagnostic.place;
            place.expanded |= place.line > 0 && place.file.as_deref() == self.file.as_deref();
        }
        warnings.iter().cloned().chain(found).collect()
    }

    /// Returns the folder that relative references start from.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()?.parent()
    }

    /// Returns the hash of the content, such as xacro's output.
    pub fn hash(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// Reads the robot.
    ///
    /// # Errors
    /// Returns the findings if the source has no robot.
    pub fn read(&self, job: &Job, files: &Arc<resolve::Files>) -> Result<Reading, Vec<Diagnostic>> {
        let (sha256, file) = (
            self.sha256.clone().unwrap_or_default(),
            self.file.as_deref(),
        );
        let is_chosen =
            !job.options.variants.is_empty() && !matches!(self.content, Content::Usd(_));
        let mut reading = match &self.content {
            Content::Urdf(text) => {
                let urdf::Outcome {
                    robot,
                    references,
                    diagnostics,
                } = urdf::read(text, file);
                let Some(robot) = robot else {
                    return Err(diagnostics);
                };
                Reading {
                    robot,
                    references,
                    diagnostics,
                    sha256,
                    namespace: None,
                    info: usd_read::AssetInfo::default(),
                }
            }
            Content::Gltf(bytes) => {
                let gltf_read::Outcome {
                    models,
                    mut diagnostics,
                } = gltf_read::read(bytes, file, files);
                let names: Vec<String> = models
                    .iter()
                    .map(|model| model.robot.name().to_owned())
                    .collect();
                let wanted = job.robot.as_ref();
                let mut found = models
                    .into_iter()
                    .filter(|model| wanted.is_none_or(|wanted| model.robot.name() == wanted));
                let Some(model) = found.next() else {
                    if let Some(wanted) = wanted.filter(|_| !names.is_empty()) {
                        let message = format!("the file has no robot {wanted:?}");
                        let place = file.map_or_else(Place::default, Place::file);
                        let help = format!("choose one of its robots: {}", names.join(", "));
                        diagnostics.push(
                            Diagnostic::new(&codes::SOURCE_NO_ROBOT, place, message).help(help),
                        );
                    }
                    return Err(diagnostics);
                };
                if let ([_, _, ..], None) = (names.as_slice(), wanted) {
                    let message = format!(
                        "converting the first of {} kinematic models, {:?}",
                        names.len(),
                        model.robot.name()
                    );
                    let found =
                        Diagnostic::new(&codes::SOURCE_SEVERAL, model.robot.place.clone(), message);
                    let help = format!("choose one with --robot NAME: {}", names.join(", "));
                    diagnostics.push(found.help(help));
                }
                let references = urdf::References::default();
                let info = model
                    .source
                    .and_then(|source| source.uri)
                    .map(|uri| usd_read::AssetInfo::from_uri(&uri));
                let info = info.unwrap_or_default();
                Reading {
                    robot: model.robot,
                    references,
                    diagnostics,
                    sha256,
                    namespace: None,
                    info,
                }
            }
            Content::Usd(bytes) => read_usd(
                bytes.as_ref(),
                file.unwrap_or(Path::new("")),
                job,
                files,
                sha256,
            )?,
        };
        if is_chosen {
            let message = format!(
                "variants are chosen, but the source is not an OpenUSD file ({})",
                self.kind
            );
            let place = file.map_or_else(Place::default, Place::file);
            reading.diagnostics.push(
                Diagnostic::new(&codes::VARIANTS_UNUSED, place, message)
                    .help("remove --variant, or give an OpenUSD asset"),
            );
        }
        Ok(reading)
    }
}

/// Reads OpenUSD from a file, or from bytes that are treated as that file.
fn read_usd(
    bytes: Option<&Arc<[u8]>>,
    file: &Path,
    job: &Job,
    files: &Arc<resolve::Files>,
    hash: String,
) -> Result<Reading, Vec<Diagnostic>> {
    let failed = |message: String, help: &str| {
        vec![Diagnostic::new(&codes::SOURCE_UNREADABLE, Place::file(file), message).help(help)]
    };
    let is_package = bytes.is_some_and(|bytes| bytes.starts_with(b"PK"));
    // A package can only be read from a file; it has no references to files beside it.
    let kept = bytes.filter(|_| is_package).map(|bytes| {
        let mut kept = tempfile::Builder::new().suffix(".usdz").tempfile()?;
        std::io::Write::write_all(&mut kept, bytes)?;
        files.allow(kept.path().parent().unwrap_or(Path::new("/")));
        Ok(kept)
    });
    let kept = kept.transpose().map_err(|error: std::io::Error| {
        failed(
            format!("cannot write a temporary file: {error}"),
            "set TMPDIR to a folder with room",
        )
    })?;
    let entry = match (bytes, &kept) {
        (Some(_), Some(kept)) => kept.path().to_owned(),
        // OpenUSD determines the format by the extension.
        (Some(bytes), None) => file.with_added_extension(if bytes.starts_with(b"#usda") {
            "usda"
        } else {
            "usdc"
        }),
        (None, _) => file.to_owned(),
    };
    // The new asset starts from the finest meshes, as that of a URDF does.
    let options = usd_read::ReadOptions {
        variants: job.options.variants.clone(),
        preferred: usd_read::finest(),
        packages: Some(files.resolver().clone()),
        files: Some(files.clone()),
        content: bytes.filter(|_| !is_package).cloned(),
        ..usd_read::ReadOptions::default()
    };
    let read = usd_read::read(&entry, &options).map_err(|error| {
        let help = match error {
            usd_read::ReadError::NoRobot { .. } => {
                "give an asset whose links have PhysicsRigidBodyAPI"
            }
            _ => "correct the fault; `urdf_usd check` reports more about an asset that opens",
        };
        failed(error.to_string(), help)
    })?;
    // Layers in packages have the path of their package in front.
    let outer = |layer: &PathBuf| {
        PathBuf::from(
            layer
                .to_string_lossy()
                .split('[')
                .next()
                .unwrap_or_default(),
        )
    };
    let mut paths: Vec<PathBuf> = read
        .layers
        .iter()
        .filter(|_| bytes.is_none())
        .map(outer)
        .collect();
    // Layers of one package share its path, and the package is hashed once.
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    let open = |path: &PathBuf| files.open_path(path).ok();
    let hashes: Vec<String> = paths
        .iter()
        .filter_map(open)
        .filter_map(|opened| hash_file(opened.file).ok())
        .collect();
    let hash = match &hashes[..] {
        [] => hash,
        [one] => one.clone(),
        several => sha256(several.concat().as_bytes()),
    };
    let usd_read::Outcome {
        robot,
        diagnostics,
        info,
        ..
    } = read;
    Ok(Reading {
        namespace: robot.ros.namespace.clone(),
        robot,
        references: urdf::References::default(),
        diagnostics,
        sha256: hash,
        info,
    })
}

/// Returns the SHA-256 of a file in lower-case hex.
fn hash_file(mut file: std::fs::File) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(urdf_usd_store::hex(&digest.finalize())),
            length => digest.update(part.get(..length).unwrap_or_default()),
        }
    }
}

/// Returns the content of a file, with the finding about the encoding of its text.
fn content(
    format: Format,
    bytes: &Arc<[u8]>,
    path: &Path,
) -> Result<(Content, Option<Diagnostic>), Diagnostic> {
    match format {
        Format::Usd => Ok((Content::Usd(Some(bytes.clone())), None)),
        Format::Glb | Format::Gltf => Ok((Content::Gltf(bytes.clone()), None)),
        Format::Urdf => {
            let urdf::Decoded { text, finding } = decoded(bytes, path)?;
            Ok((Content::Urdf(text.into()), finding))
        }
    }
}

/// Decodes the text of a URDF or SRDF.
pub(super) fn decoded(bytes: &[u8], path: &Path) -> Result<urdf::Decoded, Diagnostic> {
    let in_file = |mut finding: Diagnostic| {
        finding.place.file = Some(path.to_owned().into());
        finding
    };
    let decoded = urdf::decode(bytes).map_err(in_file)?;
    Ok(urdf::Decoded {
        finding: decoded.finding.map(in_file),
        ..decoded
    })
}

/// Returns the beginning of a regular file. Other files are reported when they are opened as a
/// whole.
fn start(path: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::with_capacity(START as usize);
    resolve::Opened::at(path)
        .ok()?
        .file
        .take(START)
        .read_to_end(&mut start)
        .ok()?;
    Some(start)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Extensions of mesh files.
const MESH_ENDINGS: [&str; 9] = [
    "stl", "obj", "dae", "ply", "fbx", "3mf", "step", "stp", "blend",
];

/// Refuses files that contain no robot, as far as their names and first bytes show; `start` is
/// `None` for a file that can't be opened.
fn refuse_other_kinds(path: &Path, start: Option<&[u8]>) -> Result<(), Diagnostic> {
    let extension = path
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let refused = |is: &str, help: &str| {
        let name = match path.ends_with(STDIN) {
            true => "standard input".into(),
            false => path.to_string_lossy(),
        };
        let message = format!("{name} {is}");
        Err(Diagnostic::new(&codes::SOURCE_KIND, Place::file(path), message).help(help))
    };
    let formats = "give a URDF, xacro, OpenUSD or glTF file";
    // Markup may be a URDF whatever its name is. A byte order mark or a zero byte is that of UTF-16.
    let text = start.unwrap_or_default().trim_ascii_start();
    let is_markup = [&b"<"[..], b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0"]
        .iter()
        .any(|mark| text.starts_with(mark));
    let is_known = is_markup || Format::detect(text) != Format::Urdf;
    match extension.as_str() {
        "sdf" | "world" => refused("is an SDFormat file, which can't be converted", formats),
        "mjcf" => refused("is a MuJoCo file, which can't be converted", formats),
        mesh if MESH_ENDINGS.contains(&mesh) => refused(
            "is a mesh, not a robot",
            "give the URDF, xacro, OpenUSD or glTF file of the robot that it belongs to",
        ),
        _ if is_known || start.is_none() || resolve::is_lfs_pointer(text) => Ok(()),
        usd if USD_ENDINGS.contains(&usd) => refused(
            "is not an OpenUSD file: it begins neither with #usda 1.0 nor as a .usdc or .usdz file does",
            "correct its first line, or export it again",
        ),
        "glb" | "gltf" => refused(
            "is not a glTF file: it begins neither with glTF nor with {",
            "export it again",
        ),
        _ if text.contains(&0) => refused("holds binary data, not a robot description", formats),
        "" | "urdf" | "xml" | "xacro" => Ok(()),
        // Another message reports an empty file.
        _ if text.is_empty() => Ok(()),
        _ => refused("contains no robot description", formats),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::{Format, Source};
    use crate::{Context, Failure, Formats, Job, Options, Report, convert};
    use urdf_usd_resolve as resolve;

    const URDF: &str = "<robot name='arm'><link name='base'><visual><geometry><mesh filename='a.stl'/></geometry></visual></link>\
        <link name='tip'><inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>\
        <joint name='turn' type='revolute'><parent link='base'/><child link='tip'/><origin xyz='1 2 3' rpy='0.1 0.2 0.3'/>\
        <axis xyz='0 1 0'/><limit lower='-1' upper='2' effort='3' velocity='4'/></joint></robot>";
    const STL: &str = "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nfacet vertex 0 0 0 vertex 0 1 0 vertex 0 0 1 endfacet\n\
        facet vertex 0 0 0 vertex 0 0 1 vertex 1 0 0 endfacet\nfacet vertex 1 0 0 vertex 0 0 1 vertex 0 1 0 endfacet\nendsolid\n";

    fn run(source: Source, out: &Path, options: Options) -> Result<Report, Box<Failure>> {
        convert(
            &Job {
                options,
                ..Job::new(source, out)
            },
            &Context::default(),
        )
        .map_err(Box::new)
    }

    fn formats(names: &[&str]) -> Options {
        Options {
            formats: Formats::parse(names).unwrap(),
            ..Options::default()
        }
    }

    fn files(report: &Report) -> BTreeMap<String, String> {
        report
            .files
            .iter()
            .map(|file| (file.path.clone(), file.sha256.clone()))
            .collect()
    }

    /// Converts a robot to every format, in the folder `made`.
    fn made(folder: &Path) -> Report {
        fs::write(folder.join("arm.urdf"), URDF).unwrap();
        fs::write(folder.join("a.stl"), STL).unwrap();
        let options = formats(&["usd", "usdz", "glb", "gltf"]);
        run(
            Source::File(folder.join("arm.urdf")),
            &folder.join("made"),
            options,
        )
        .unwrap()
    }

    #[test]
    fn formats_are_known_by_content() {
        for (start, format) in [
            ("#usda 1.0\n", Format::Usd),
            ("PXR-USDC\0\0", Format::Usd),
            ("PK\u{3}\u{4}", Format::Usd),
            ("glTF\u{2}", Format::Glb),
            ("\u{feff} \n{\"asset\"", Format::Gltf),
            ("<?xml version='1.0'?><robot", Format::Urdf),
            ("", Format::Urdf),
        ] {
            assert_eq!(Format::detect(start.as_bytes()), format, "{start:?}");
        }
    }

    #[test]
    fn every_format_is_a_source_of_the_same_robot() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let first = made(&folder);
        for (ending, kind) in [
            ("usda", "usd"),
            ("usdz", "usd"),
            ("glb", "glb"),
            ("gltf", "gltf"),
        ] {
            let path = first.file(ending).unwrap();
            let again = run(
                Source::File(path.clone()),
                &folder.join(ending),
                formats(&["usd", "glb"]),
            )
            .unwrap();
            let bad: Vec<_> = again
                .diagnostics
                .iter()
                .filter(|d| d.code.starts_with("source"))
                .collect();
            assert_eq!(
                (&*again.source.kind, again.source.sha256.len(), bad.len()),
                (kind, 64, 0),
                "{ending}: {bad:?}"
            );
            assert_eq!(
                (
                    again.counts.links,
                    again.counts.joints,
                    again.counts.triangles
                ),
                (2, 1, 4),
                "{ending}"
            );
            assert_eq!(
                (&*again.robot, again.used.contains(&path)),
                ("arm", true),
                "{ending}"
            );
            let physics = |report: &Report| {
                fs::read_to_string(report.directory.join("physics.usda")).unwrap()
            };
            assert_eq!(physics(&again), physics(&first), "{ending}");
            // The same from standard input.
            let bytes: Arc<[u8]> = fs::read(&path).unwrap().into();
            let sent = Source::Bytes {
                bytes,
                file: path.with_file_name("-"),
            };
            let sent = run(
                sent,
                &folder.join("sent").join(ending),
                formats(&["usd", "glb"]),
            )
            .unwrap();
            let of_robot = |report: &Report| -> Vec<_> {
                files(report)
                    .into_iter()
                    .filter(|(path, _)| path == "physics.usda" || path == "base.usda")
                    .collect()
            };
            assert_eq!(of_robot(&sent), of_robot(&again), "{ending}");
        }
    }

    #[test]
    fn an_asset_without_a_robot_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("empty.usda"), "#usda 1.0\ndef Xform \"a\" {}\n").unwrap();
        fs::write(at("broken.usda"), "#usda 1.0\ndef Xform {\n").unwrap();
        fs::write(at("plain.gltf"), "{\"asset\": {\"version\": \"2.0\"}}").unwrap();
        for (name, code, says) in [
            ("empty.usda", "source-unreadable", "PhysicsRigidBodyAPI"),
            ("broken.usda", "source-unreadable", "cannot be opened"),
            ("missing.usda", "resolve-missing-file", "missing.usda"),
            (
                "plain.gltf",
                "gltf-read-no-kinematics",
                "EXT_robot_kinematics",
            ),
        ] {
            let failure = run(Source::File(at(name)), &at("out"), Options::default()).unwrap_err();
            let found = &failure.diagnostics[0];
            assert_eq!(found.code, code, "{name}: {found}");
            assert!(
                format!("{found} {}", found.help).contains(says),
                "{name}: {found}"
            );
        }
    }

    #[test]
    fn an_asset_reads_nothing_from_outside_and_is_converted_again_when_a_layer_changes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("asset/layers")).unwrap();
        let layer = |mass: f64| {
            format!(
                "#usda 1.0\nover \"r\" {{\ndef Xform \"b\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]) \
                 {{\nfloat physics:mass = {mass}\n}}\n}}\n"
            )
        };
        let entry = |paths: &str| {
            format!(
                "#usda 1.0\n(\ndefaultPrim = \"r\"\nmetersPerUnit = 1\nupAxis = \"Z\"\nsubLayers = [{paths}]\n)\ndef Xform \"r\" {{}}\n"
            )
        };
        fs::write(
            at("asset/r.usda"),
            entry("@./layers/in.usda@, @./layers/later.usda@"),
        )
        .unwrap();
        fs::write(at("asset/layers/in.usda"), layer(2.0)).unwrap();
        let context = Context {
            store: urdf_usd_store::Store::on_disk(&at("cache"), 1 << 20),
            ..Context::default()
        };
        let job = |options| Job {
            options,
            ..Job::new(Source::File(at("asset/r.usda")), at("out"))
        };
        let wait = || std::thread::sleep(2 * crate::memo::MARGIN);
        wait();
        let first = convert(&job(Options::default()), &context).unwrap();
        assert!(
            first
                .diagnostics
                .iter()
                .any(|d| d.message.contains("later.usda")),
            "{:?}",
            first.diagnostics
        );
        let physics =
            |report: &Report| fs::read_to_string(report.directory.join("physics.usda")).unwrap();
        assert!(physics(&first).contains("physics:mass = 2"));
        let recalled = convert(&job(Options::default()), &context).unwrap();
        assert!(!recalled.changed && recalled.timings_ms.read == 0.0);
        // A layer that does not exist yet is watched, too.
        for path in ["asset/layers/in.usda", "asset/layers/later.usda"] {
            assert!(recalled.used.contains(&at(path)), "{:?}", recalled.used);
        }
        fs::write(at("asset/layers/in.usda"), layer(3.0)).unwrap();
        let changed = convert(&job(Options::default()), &context).unwrap();
        assert!(
            changed.changed
                && changed.source.sha256 != first.source.sha256
                && physics(&changed).contains("physics:mass = 3")
        );

        fs::write(at("outside.usda"), layer(4.0)).unwrap();
        fs::write(
            at("asset/r.usda"),
            entry("@../outside.usda@, @./layers/in.usda@"),
        )
        .unwrap();
        let refused = convert(&job(Options::default()), &Context::default()).unwrap();
        assert!(
            refused
                .diagnostics
                .iter()
                .any(|d| d.message.contains("outside.usda")),
            "{:?}",
            refused.diagnostics
        );
        assert!(physics(&refused).contains("physics:mass = 3"));
        let resolve = resolve::Options {
            allowed_roots: vec![folder.clone()],
            ..Default::default()
        };
        let allowed = convert(
            &job(Options {
                resolve,
                ..Options::default()
            }),
            &Context::default(),
        )
        .unwrap();
        assert!(physics(&allowed).contains("physics:mass = 4"));
    }

    #[test]
    fn the_variant_that_is_chosen_is_converted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let variant = |name: &str, mass: f64| {
            format!("\"{name}\" {{\nover \"b\" {{\nfloat physics:mass = {mass}\n}}\n}}\n")
        };
        let text = format!(
            "#usda 1.0\n(\ndefaultPrim = \"r\"\nmetersPerUnit = 1\nupAxis = \"Z\"\n)\ndef Xform \"r\" (\nvariants = {{\nstring load = \"none\"\n}}\n\
             prepend variantSets = \"load\"\n) {{\nstring ros:context:namespace = \"left\"\n\
             def Xform \"b\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]) {{}}\nvariantSet \"load\" = {{\n{}{}}}\n}}\n",
            variant("none", 2.0),
            variant("full", 5.0)
        );
        fs::write(
            at("r.usda"),
            text.replace(
                "def Xform \"r\" (",
                "def Xform \"r\" (\nprepend apiSchemas = [\"RosContextAPI\"]",
            ),
        )
        .unwrap();
        let mass = |variants: &[&str]| {
            let variants = variants.iter().map(|text| text.parse().unwrap()).collect();
            let report = run(
                Source::File(at("r.usda")),
                &at("out"),
                Options {
                    variants,
                    ..Options::default()
                },
            )?;
            assert_eq!(report.namespace, "left");
            Ok::<_, Box<Failure>>(
                fs::read_to_string(report.directory.join("physics.usda")).unwrap(),
            )
        };
        assert!(mass(&[]).unwrap().contains("physics:mass = 2"));
        assert!(mass(&["load=full"]).unwrap().contains("physics:mass = 5"));
        let none = mass(&["load=half"]).unwrap_err();
        assert!(
            none.diagnostics[0].message.contains("{load=full|none}"),
            "{}",
            none.diagnostics[0]
        );
    }
}
