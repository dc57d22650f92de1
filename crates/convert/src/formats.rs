//! The output formats: the only list of them, and the writer of each.
//!
//! A new format is a crate that takes a `&Robot`, a [`Writer`] that calls it, and a line in
//! `formats!`. The command line, the parameters and the documentation follow from that line.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_gltf_write as gltf;
use urdf_usd_mjcf as mjcf;
use urdf_usd_robot::{About, CacheEvicted, Robot};
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_store::{Content, Store};
use urdf_usd_urdf::References;
use urdf_usd_usd_author::isaac_schema::{self, RobotType};
use urdf_usd_usd_write as usd_write;

use super::context::Stop;
use super::identity::Identity;
use super::{Options, check_time, description, publish, simready, time};

/// Name of the folder of the MJCF's mesh files and images.
const MJCF_FOLDER: &str = "mjcf";

/// Declares each format with its name, the extension of its entry file, and its writer.
macro_rules! formats {
    ($($(#[$doc:meta])+ $format:ident = $name:literal in $ending:literal by $writer:expr;)+) => {
        /// A format that a robot is written in.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
        )]
        pub enum OutputFormat {
            $($(#[$doc])+ $format,)+
        }

        impl OutputFormat {
            /// All formats, in the order in which they are listed.
            pub const ALL: &[Self] = &[$(Self::$format),+];

            /// Returns the name, as users write it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)+
                }
            }

            /// Returns the extension of the format's entry file.
            pub fn extension(self) -> &'static str {
                match self {
                    $(Self::$format => $ending,)+
                }
            }

            fn writer(self) -> &'static Writer {
                match self {
                    $(Self::$format => &$writer,)+
                }
            }
        }
    };
}

formats! {
    /// The OpenUSD layers.
    Usd = "usd" in "usda" by LAYERS;
    /// The binary glTF.
    Glb = "glb" in "glb" by GLTF;
    /// The OpenUSD layers and textures in one package.
    Usdz = "usdz" in "usdz" by LAYERS;
    /// The glTF as text, with its binary buffer beside it.
    Gltf = "gltf" in "gltf" by GLTF;
    /// The URDF, with mesh files beside it.
    Urdf = "urdf" in "urdf" by DESCRIPTIONS;
    /// The MJCF, with mesh files beside it.
    Mjcf = "mjcf" in "xml" by MJCF;
    /// The SDF, with mesh files beside it.
    Sdf = "sdf" in "sdf" by DESCRIPTIONS;
}

/// Writes one format, or several that share most of the work.
struct Writer {
    write: fn(&Subject<'_>) -> Result<Written, Stop>,
    /// Whether the files contain all looks of the robot, not only the current one.
    has_looks: bool,
}

static LAYERS: Writer = Writer {
    write: write_layers,
    has_looks: false,
};
static GLTF: Writer = Writer {
    write: write_gltf,
    has_looks: true,
};
static DESCRIPTIONS: Writer = Writer {
    write: write_descriptions,
    has_looks: false,
};
static MJCF: Writer = Writer {
    write: write_mjcf,
    has_looks: false,
};

/// A set of formats to write; never empty.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "BTreeSet<OutputFormat>", into = "BTreeSet<OutputFormat>")]
pub struct Formats(BTreeSet<OutputFormat>);

impl Formats {
    /// Returns a set of one format.
    pub fn only(format: OutputFormat) -> Self {
        Self(BTreeSet::from([format]))
    }

    /// Returns all formats.
    pub fn all() -> Self {
        Self(OutputFormat::ALL.iter().copied().collect())
    }

    /// Adds a format.
    pub fn insert(&mut self, format: OutputFormat) {
        self.0.insert(format);
    }

    /// Returns whether the set contains a format.
    pub fn contains(&self, format: OutputFormat) -> bool {
        self.0.contains(&format)
    }

    /// Returns whether the set contains any of `formats`.
    pub fn contains_any(&self, formats: &[OutputFormat]) -> bool {
        formats.iter().any(|&format| self.contains(format))
    }

    /// Returns the names of the formats.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|format| format.as_str()).collect()
    }

    /// Parses names of formats ([`OutputFormat::as_str`]).
    ///
    /// # Errors
    /// Returns a message for the user if a name is unknown, or there is none.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, String> {
        let formats = names.iter().map(|name| {
            let name = name.as_ref().trim();
            OutputFormat::ALL
                .iter()
                .copied()
                .find(|format| format.as_str() == name)
                .ok_or_else(|| format!("unknown format {name:?}; {}", known()))
        });
        Self::try_from(formats.collect::<Result<BTreeSet<_>, _>>()?)
    }

    /// Returns whether some of the formats contain only the robot's current look.
    pub(super) fn has_single_look(&self) -> bool {
        self.0.iter().any(|format| !format.writer().has_looks)
    }

    /// Returns the writers, without duplicates, in the order of formats.
    fn writers(&self) -> Vec<&'static Writer> {
        let mut writers: Vec<&'static Writer> = Vec::new();
        for writer in self.0.iter().map(|format| format.writer()) {
            if !writers.iter().any(|&known| std::ptr::eq(known, writer)) {
                writers.push(writer);
            }
        }
        writers
    }
}

impl Default for Formats {
    fn default() -> Self {
        Self(BTreeSet::from([OutputFormat::Usd, OutputFormat::Glb]))
    }
}

impl TryFrom<BTreeSet<OutputFormat>> for Formats {
    type Error = String;

    fn try_from(formats: BTreeSet<OutputFormat>) -> Result<Self, String> {
        if formats.is_empty() {
            Err(format!("no format given; {}", known()))
        } else {
            Ok(Self(formats))
        }
    }
}

impl From<Formats> for BTreeSet<OutputFormat> {
    fn from(formats: Formats) -> Self {
        formats.0
    }
}

/// Returns the names of all formats, as a sentence.
fn known() -> String {
    let names: Vec<String> = OutputFormat::ALL
        .iter()
        .map(|format| format!("{:?}", format.as_str()))
        .collect();
    match names.split_last() {
        Some((last, others)) => format!("formats are {} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The robot to write, with the metadata of its files.
pub(super) struct Subject<'a> {
    pub(super) robot: &'a Robot,
    /// The references of the URDF that the robot was read from, if any.
    pub(super) references: &'a References,
    pub(super) options: &'a Options,
    pub(super) origin: Origin<'a>,
    /// The directory of the asset.
    pub(super) directory: &'a Path,
    /// The images of the meshes as the glTF needs them, if one is to be written.
    pub(super) images: gltf::Images,
    pub(super) limit: &'a TimeLimit,
    pub(super) store: &'a Store,
}

/// Metadata about the source that the files contain.
pub(super) struct Origin<'a> {
    /// The name of the asset.
    pub(super) name: &'a str,
    pub(super) identity: &'a Identity,
    /// See [`SourceInfo::kind`](super::SourceInfo::kind).
    pub(super) kind: &'a str,
    pub(super) sha256: &'a str,
    pub(super) namespace: &'a Option<String>,
    /// Statements of the source's package, if they are requested.
    pub(super) provenance: &'a simready::Provenance,
}

/// The files of a writer.
#[derive(Default)]
struct Written {
    files: publish::Files,
    diagnostics: Vec<Diagnostic>,
}

/// The files of an asset.
pub(super) struct Outputs {
    pub(super) files: publish::Files,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The contents of the OpenUSD layers.
    pub(super) layers: usd_write::Written,
}

/// Writes all formats that the options name.
///
/// The OpenUSD layers are composed in any case, because the report counts their contents.
///
/// # Errors
/// Fails if the time limit is exceeded, or a mesh is no longer in the cache.
pub(super) fn write(subject: &Subject<'_>) -> Result<Outputs, Stop> {
    let writers = subject.options.formats.writers();
    let others = || {
        writers
            .iter()
            .filter(|&&writer| !std::ptr::eq(writer, &LAYERS))
            .map(|writer| (writer.write)(subject))
            .collect::<Result<Vec<Written>, Stop>>()
    };
    let (layers, others) = rayon::join(|| compose_layers(subject), others);
    let mut outputs = layers?;
    for written in others? {
        outputs.files.extend(written.files);
        outputs.diagnostics.extend(written.diagnostics);
    }
    Ok(outputs)
}

fn write_layers(subject: &Subject<'_>) -> Result<Written, Stop> {
    let Outputs {
        files, diagnostics, ..
    } = compose_layers(subject)?;
    Ok(Written { files, diagnostics })
}

/// Composes the OpenUSD layers; writes the files of the formats that the options name.
fn compose_layers(subject: &Subject<'_>) -> Result<Outputs, CacheEvicted> {
    let Subject {
        options, origin, ..
    } = subject;
    let usd_options = usd_write::Options {
        entry: origin.name.to_owned(),
        identifier: origin.identity.identifier.clone(),
        ros: origin.identity.ros.clone(),
        aggregate: origin.identity.aggregate.clone(),
        version: origin.identity.version.clone(),
        namespace: origin.namespace.clone(),
        base: options.base,
        bodies: options.bodies,
        overlays: options.overlays.clone(),
        mimics_in_engines: !options.rep158.has_extended_physics()
            && options
                .formats
                .contains_any(&[OutputFormat::Usd, OutputFormat::Usdz]),
        isaac: usd_write::Isaac {
            about: about(subject),
            sites_last: options.sites_last,
            pose_scope: options.pose_scope,
        },
        usdz: options.formats.contains(OutputFormat::Usdz),
        limit: subject.limit.clone(),
    };
    let asset = usd_write::write(subject.robot, &usd_options, subject.store)?;
    let mut files = publish::Files::new();
    if let Some(package) = asset.usdz {
        files.insert(format!("{}.usdz", origin.name), package.into());
    }
    if options.formats.contains(OutputFormat::Usd) {
        files.extend(asset.files);
    }
    Ok(Outputs {
        files,
        diagnostics: asset.diagnostics,
        layers: asset.written,
    })
}

/// Returns what the overlay for Isaac says about the robot: as the options say, or the source, or its
/// package.
fn about(subject: &Subject<'_>) -> About {
    let Subject {
        robot,
        options,
        origin,
        ..
    } = subject;
    let (said, package) = (&robot.about, origin.provenance);
    let first = |candidates: [Option<&str>; 3]| {
        let known = candidates.into_iter().flatten();
        known
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .next()
            .unwrap_or_default()
    };
    let robot_type = (options.robot_type != RobotType::Default).then_some(options.robot_type);
    let namespace = usd_write::default_namespace(robot);
    About {
        description: first([
            Some(&said.description),
            package.description.as_deref(),
            None,
        ]),
        license: first([
            Some(&said.license),
            package.license.as_deref().map(isaac_schema::license),
            None,
        ]),
        source: first([
            Some(&said.source),
            package.url.as_deref(),
            origin.identity.package_uri(),
        ]),
        version: first([Some(&said.version), Some(&origin.identity.version), None]),
        changelog: changelog(&said.changelog, &options.changelog),
        category: first([
            robot_type.map(RobotType::as_str),
            Some(&said.category),
            None,
        ]),
        namespace: first([
            options.namespace.as_deref(),
            Some(&said.namespace),
            Some(origin.namespace.as_ref().unwrap_or(&namespace)),
        ]),
    }
}

/// Returns the changes of the source, then those of the user that it lacks: converting an output with the
/// same options must not repeat them.
fn changelog(source: &[String], user: &[String]) -> Vec<String> {
    let new = user.iter().filter(|change| !source.contains(change));
    source.iter().chain(new).cloned().collect()
}

fn write_gltf(subject: &Subject<'_>) -> Result<Written, Stop> {
    let Subject {
        options, origin, ..
    } = subject;
    let name = origin.name;
    let gltf_options = gltf::Options {
        source: Some(gltf::Source {
            // The extension names formats only, not how a file was generated.
            format: match origin.kind {
                "xacro" => "urdf",
                "glb" => "gltf",
                kind => kind,
            }
            .to_owned(),
            uri: origin.identity.uri.clone(),
            hash: Some(format!("sha256:{}", origin.sha256)),
            resolved_at: options.dated.then(|| time::rfc3339(time::now())),
        }),
        extent: options.gltf,
        base: options.base,
        images: subject.images.clone(),
        limit: subject.limit.clone(),
    };
    // Without physics, collision shapes are those of the source.
    let robot = if options.gltf.physics {
        subject.robot.with_convex_parts()
    } else {
        Cow::Borrowed(subject.robot)
    };
    let mut gltf = gltf::write(&robot, &gltf_options, subject.store)?;
    let mut written = Written {
        files: publish::Files::new(),
        diagnostics: std::mem::take(&mut gltf.diagnostics),
    };
    if options.formats.contains(OutputFormat::Gltf) {
        let binary = format!("{name}.bin");
        let (document, bytes) = gltf.gltf(&binary);
        written
            .files
            .insert(format!("{name}.gltf"), document.into());
        if !bytes.is_empty() {
            written
                .files
                .insert(binary, Content::from_pieces(bytes, None));
        }
    }
    if options.formats.contains(OutputFormat::Glb) {
        match gltf.glb_in_pieces() {
            Ok(glb) => {
                let glb = Content::from_pieces(glb, None);
                written.files.insert(format!("{name}.glb"), glb.clone());
                // Hash the largest file while others are still being written.
                rayon::spawn(move || {
                    glb.sha256();
                });
            }
            Err(diagnostic) => written.diagnostics.push(diagnostic),
        }
    }
    Ok(written)
}

fn write_descriptions(subject: &Subject<'_>) -> Result<Written, Stop> {
    let (files, diagnostics) = description::write(subject)?;
    Ok(Written { files, diagnostics })
}

fn write_mjcf(subject: &Subject<'_>) -> Result<Written, Stop> {
    check_time(subject.limit, "writing the MJCF")?;
    let robot = subject.robot.with_convex_parts();
    let mjcf = mjcf::write(&robot, subject.options.base, MJCF_FOLDER)?;
    let text = (
        format!("{}.xml", subject.origin.name),
        mjcf.text.into_bytes().into(),
    );
    let beside = mjcf
        .files
        .into_iter()
        .map(|(file, bytes)| (format!("{MJCF_FOLDER}/{file}"), bytes.into()));
    Ok(Written {
        files: beside.chain([text]).collect(),
        diagnostics: mjcf.diagnostics,
    })
}

#[cfg(test)]
mod tests {
    use super::{Formats, OutputFormat};

    #[test]
    fn formats_are_parsed_by_name() {
        let names: Vec<&str> = OutputFormat::ALL.iter().map(|f| f.as_str()).collect();
        assert_eq!(Formats::parse(&names).unwrap().names(), names);
        assert_eq!(Formats::parse(&["glb ", "usd"]), Ok(Formats::default()));
        let known =
            "formats are \"usd\", \"glb\", \"usdz\", \"gltf\", \"urdf\", \"mjcf\" and \"sdf\"";
        assert_eq!(
            Formats::parse(&["stl"]),
            Err(format!("unknown format \"stl\"; {known}"))
        );
        assert_eq!(
            Formats::parse::<&str>(&[]),
            Err(format!("no format given; {known}"))
        );
        assert!(serde_json::from_str::<Formats>("[]").is_err());
    }

    #[test]
    fn a_writer_of_several_formats_is_called_once() {
        assert_eq!(Formats::all().writers().len(), 4);
        assert!(!Formats::only(OutputFormat::Glb).has_single_look());
        assert!(Formats::default().has_single_look());
    }
}
