//! Reads mesh files and images into the model: STL, OBJ, Collada and glTF become a [`Mesh`], images
//! become a [`Texture`]. The module [`write`] writes a [`Mesh`] to a file again.
//!
//! Meshes are interpreted as URDF specifies, and as RViz and Gazebo show them:
//!
//! - **STL, OBJ**: coordinates as they are in the file.
//! - **Collada**: the whole visual scene; `unit` is applied, `up_axis` is ignored, as RViz does,
//!   unless [`Options`] say otherwise.
//! - **glTF**: the whole default scene, rotated from glTF's y up to z up: (x, y, z) becomes (x, -z,
//!   y). RViz (since its change 1482, of 2025), Drake, Meshcat and Blender do the same, and robots
//!   that ship glTF meshes rely on it.
//!
//! This module knows neither robots nor outputs. It opens files through
//! [`resolve`](urdf_usd_resolve) only, and its memory and time are bounded by the size of the file,
//! whatever counts the file declares.

mod assembly;
mod cache;
pub mod codes;
mod dae;
mod declared;
pub mod gltf;
mod maps;
mod normals;
mod number;
mod obj;
mod polygon;
mod polygons;
mod reference;
mod stl;
#[cfg(test)]
pub(crate) mod test;
mod texture;
mod tiers;
pub mod write;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

pub use self::cache::digest;
pub use self::cache::{
    ConvexParts, Hull, NoHull, kept_convex_parts, kept_hull, kept_primitive, kept_tiers, load,
    spilled,
};
pub use self::maps::replace_by_mean;
pub use self::polygons::{PerCorner, Polygons, from_polygons};
use self::texture::Use;
pub use self::texture::{
    MAX_PIXELS_TOGETHER, is_deep, mean_color, pixels, texture, texture_within,
};
pub use self::texture::{is_grey, is_mask, made, png, with_memory_for};
pub use self::tiers::tiers;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place};
use urdf_usd_resolve::{File, Files};
use urdf_usd_robot::{Mesh, Texture};

/// Maximum index of refraction; no material exceeds it.
const MAX_IOR: f64 = 10.0;

/// Maximum number of findings with one code per file; more are only counted.
const FINDINGS_PER_CODE: usize = 20;

/// The reason why a mesh, image or hull is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of failure.
    pub code: &'static Code,
    /// The problem, without the name of the file.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// The line in the file; 0 if the file has no lines or the line is unknown.
    pub line: u32,
}

impl Error {
    pub(crate) fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: String::new(),
            line: 0,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }

    /// Returns the finding to report, with its place in `file`.
    pub fn diagnostic(&self, file: &Path) -> Diagnostic {
        let place = Place {
            line: self.line,
            ..Place::file(file)
        };
        Diagnostic::new(
            self.code,
            place,
            format!("{}: {}", file_name(file), self.message),
        )
        .help(self.help.clone())
    }
}

/// Options for the interpretation of mesh files.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize,
)]
pub struct Options {
    /// The axis of mesh files that points up.
    pub up_axis: UpAxis,
}

/// The axis of mesh files that points up. STL and OBJ files don't declare one: their coordinates
/// are never rotated.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize,
)]
pub enum UpAxis {
    /// Ignore a Collada file's `up_axis`, as RViz and Gazebo do. A glTF file has y up by
    /// specification, and is rotated.
    #[default]
    Ignore,
    /// Rotate Collada files, too, so that up becomes z, right x, and out of the screen -y (the
    /// table of `up_axis` in the specification, 1.4.1, chapter 5): with y up (x, y, z) becomes (x,
    /// -z, y), with x up (-y, -z, x). Without `up_axis`, y is up.
    Honor,
    /// Rotate no file: all of them, glTF included, are in the axes of the link already.
    Z,
}

impl UpAxis {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Ignore, Self::Honor, Self::Z];

    /// Returns the name of the option's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Honor => "honor",
            Self::Z => "z",
        }
    }
}

impl fmt::Display for UpAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UpAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// Reads a mesh file and the files that it refers to: images, material libraries, buffers. The
/// format is detected by content.
///
/// Unusable parts are reported in the diagnostics; their places are in the mesh file.
///
/// # Errors
/// If no part of it is usable: the codes are those of [`codes`] with severity error.
pub fn read(
    file: &File,
    files: &Files,
    options: Options,
) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    let mut source = Source::new(&file.path, files, options);
    let mesh = source.read(file.bytes.clone())?;
    Ok((mesh, source.finish()))
}

impl Source<'_> {
    /// Reads the mesh from the content of the file. The content and intermediate data are freed
    /// before the mesh is finished: together they are a multiple of the mesh's size.
    fn read(&mut self, bytes: Arc<[u8]>) -> Result<Mesh, Error> {
        match Format::of(self.path, &bytes)? {
            Format::Stl => stl::read(self, bytes),
            Format::Obj => obj::read(self, bytes),
            Format::Dae => dae::read(self, bytes),
            Format::Gltf => gltf::read(self, bytes),
        }
    }
}

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Stl,
    Obj,
    Dae,
    Gltf,
}

impl Format {
    /// Detects the format by content, then by file extension.
    fn of(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        const FOREIGN: &[(&[u8], &str)] = &[
            (b"ply", "PLY"),
            (b"PK\x03\x04", "a zip archive (3MF, ZAE or USDZ)"),
            (b"Kaydara FBX", "FBX"),
            (b"#usda", "USD"),
            (b"PXR-USDC", "USD"),
            (b"#VRML", "VRML"),
            (b"ISO-10303-21", "STEP"),
            (b"BLENDER", "a Blender file"),
            (b"OFF", "OFF"),
        ];
        let text = bytes
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(bytes)
            .trim_ascii_start();
        let begins = |with: &[u8]| {
            text.get(..with.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        if text.is_empty() {
            return Err(Error::new(&codes::UNREADABLE, "the file is empty"));
        }
        if bytes.starts_with(b"glTF") {
            return Ok(Self::Gltf);
        }
        // Before the test for JSON: the header of a binary STL is free text, and may begin with
        // `{`.
        if stl::is_binary(bytes) || begins(b"solid") {
            return Ok(Self::Stl);
        }
        if text.starts_with(b"{") {
            return Ok(Self::Gltf);
        }
        if text.starts_with(b"<")
            || bytes.starts_with(b"\xFF\xFE")
            || bytes.starts_with(b"\xFE\xFF")
            || bytes.starts_with(b"\0<")
        {
            return Ok(Self::Dae);
        }
        let foreign = FOREIGN.iter().find(|(magic, _)| begins(magic));
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        match (extension.as_str(), foreign) {
            ("stl" | "stlb", None) => match image::guess_format(bytes) {
                Ok(format) => Err(Error::new(
                    &codes::FORMAT,
                    format!("the file is an image ({format:?}), not a mesh"),
                )
                .help("put the mesh in its place")),
                // The start of a binary STL may contain any text, but is hardly an OBJ file in
                // ASCII.
                Err(_) if obj::looks_like(text) && bytes.is_ascii() => Ok(Self::Obj),
                Err(_) => Ok(Self::Stl),
            },
            ("obj", None) => Ok(Self::Obj),
            (_, None) if obj::looks_like(text) => Ok(Self::Obj),
            (_, Some((_, name))) => Err(Error::new(
                &codes::FORMAT,
                format!("the file is {name}, which is not read"),
            )
            .help("export the mesh as STL, OBJ, DAE or GLB")),
            ("dae" | "gltf" | "glb", None) => Err(Error::new(
                &codes::UNREADABLE,
                format!(
                    "the file's content is not {}",
                    extension.to_ascii_uppercase()
                ),
            )),
            _ => Err(
                Error::new(&codes::FORMAT, "the file is of no mesh format that is read")
                    .help("export the mesh as STL, OBJ, DAE or GLB"),
            ),
        }
    }
}

/// The state of reading a mesh file: access to other files, and findings.
struct Source<'a> {
    path: &'a Path,
    files: &'a Files,
    options: Options,
    findings: Collector,
    /// Cached images by reference.
    textures: texture::Loaded<String>,
    /// Cached images in the form of maps; `None` for one that is unreadable.
    maps: HashMap<(String, texture::Values), Option<Arc<Texture>>>,
    /// Whether bump maps hold normals, by the hashes of their images; `None` for one that can't be
    /// decoded.
    with_normals: HashMap<String, Option<bool>>,
    /// The number of pixels that further images may have together.
    pixels: u64,
    /// The references that were opened, or that failed to open.
    asked: RefCell<Vec<String>>,
}

impl<'a> Source<'a> {
    fn new(path: &'a Path, files: &'a Files, options: Options) -> Self {
        Self {
            path,
            files,
            options,
            findings: Collector::new(Most::OfEachCode(FINDINGS_PER_CODE)),
            textures: Default::default(),
            maps: HashMap::new(),
            with_normals: HashMap::new(),
            pixels: MAX_PIXELS_TOGETHER,
            asked: RefCell::default(),
        }
    }

    /// Reports a finding about the file as a whole.
    fn report(&mut self, code: &'static Code, message: impl Into<String>, help: &str) {
        self.report_at(code, 0, message, help);
    }

    /// Returns whether further findings with this code are only counted.
    fn has_many(&self, code: &'static Code) -> bool {
        self.findings.is_full(code.id)
    }

    /// Reports a finding at a line; 0 if there is none.
    fn report_at(
        &mut self,
        code: &'static Code,
        line: u32,
        message: impl Into<String>,
        help: &str,
    ) {
        let place = Place {
            line,
            ..Place::file(self.path)
        };
        let message = format!("{}: {}", file_name(self.path), message.into());
        self.findings
            .push(Diagnostic::new(code, place, message).help(help));
    }

    /// Returns all findings.
    fn finish(self) -> Vec<Diagnostic> {
        let (mut findings, omitted) = self.findings.finish();
        let name = file_name(self.path);
        findings.extend(omitted.into_iter().map(|more| {
            more.summary(
                Place::file(self.path),
                format!("{name}: {} more findings of this kind", more.count),
            )
        }));
        findings
    }

    /// Returns the folder that relative references are resolved against.
    fn folder(&self) -> Option<&'a Path> {
        self.path.parent()
    }

    /// Opens a file that the mesh refers to, in any of the spellings that exporters use.
    fn open(&self, reference: &str) -> Result<File, String> {
        // Also if it can't be opened: a cached mesh is outdated once the file exists.
        self.asked.borrow_mut().push(reference.to_owned());
        reference::open(reference, self.folder(), self.files)
    }

    /// Returns the image that the mesh refers to, loaded once per use. A failure is reported once.
    fn texture(&mut self, reference: &str, usage: Use) -> Option<Arc<Texture>> {
        let reference = reference.to_owned();
        if let Some(known) = self.textures.get(&reference, usage) {
            return known;
        }
        let is_counted = self.textures.has(&reference);
        let loaded = match self.open(&reference) {
            Ok(file) => self.loaded(&file, &reference, usage, is_counted),
            Err(reason) => {
                let help = "put the image where the mesh refers to it, or beside the mesh";
                self.report(
                    &codes::TEXTURE_MISSING,
                    format!("the image `{reference}` can't be opened: {reason}"),
                    help,
                );
                None
            }
        };
        self.textures.insert(reference, usage, loaded.clone());
        loaded
    }

    /// Returns the image in `bytes`, embedded in the mesh under `name`; see [`Self::loaded`].
    fn embedded_texture(
        &mut self,
        name: &str,
        bytes: &[u8],
        usage: Use,
        is_counted: bool,
    ) -> Option<Arc<Texture>> {
        self.loaded(
            &File {
                path: name.into(),
                bytes: bytes.into(),
            },
            name,
            usage,
            is_counted,
        )
    }

    /// Loads the image in a file. `is_counted`: it was loaded for another use before, so its pixels
    /// are counted and its findings reported already.
    fn loaded(
        &mut self,
        file: &File,
        name: &str,
        usage: Use,
        is_counted: bool,
    ) -> Option<Arc<Texture>> {
        // An image is counted once: a second use gets a budget that it can't exceed.
        let mut counted = u64::MAX;
        match texture::inspected(
            file,
            usage,
            if is_counted {
                &mut counted
            } else {
                &mut self.pixels
            },
        ) {
            Ok((texture, holds_normals)) => {
                // The result does not depend on the material.
                if holds_normals.is_some() {
                    self.with_normals
                        .entry(texture.sha256.clone())
                        .or_insert(holds_normals);
                }
                if !is_counted && is_deep(file) {
                    let message = format!(
                        "the image `{name}` has more than 8 bits a channel; the upper 8 count"
                    );
                    self.report(&codes::TEXTURE_DEEP, message, "");
                }
                Some(texture)
            }
            Err(error) => {
                self.report(
                    error.code,
                    format!("the image `{name}` can't be used: {error}"),
                    &error.help,
                );
                None
            }
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Returns the file name without its extension.
fn stem(path: &Path) -> String {
    PathBuf::from(path)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
