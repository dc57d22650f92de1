//! Copies the files that attributes name into the asset, images as 8-bit PNG or JPEG (REP-158 §1.2.5,
//! §3.2).

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};
use openusd::sdf::AssetPath;
use urdf_usd_resolve::codes::NOT_ALLOWED;
use urdf_usd_stage::{SharedValue, Stage, Value};

use super::notes::Notes;
use super::scene::{Node, Scene};

/// The remedy for a file that may not be read.
const ALLOW_HELP: &str =
    "put the file into the asset's folder, or allow its folder with --allowed-root";

/// Maximum number of pixels of an image that is converted.
const MAX_PIXELS: u64 = 1 << 28;

/// Copies every permitted file that an attribute names into `files`, and names the copy instead.
/// Returns the paths of the originals.
pub fn collect<'a>(
    scenes: impl Iterator<Item = &'a mut Scene>,
    stage: &'a Stage,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
    notes: &mut Notes,
) -> Vec<PathBuf> {
    let mut copies = Copies {
        stage,
        files,
        by_source: HashMap::new(),
    };
    for node in scenes.flat_map(|scene| scene.nodes.values_mut()) {
        copy_files(node, &mut copies, notes);
    }
    copies
        .by_source
        .into_iter()
        .filter(|(_, copy)| copy.is_some())
        .map(|(source, _)| PathBuf::from(source))
        .collect()
}

struct Copies<'a> {
    /// The stage, which knows the files that may be read.
    stage: &'a Stage,
    files: &'a mut BTreeMap<PathBuf, Vec<u8>>,
    /// The path of the copy by that of the original; `None` if it could not be copied.
    by_source: HashMap<String, Option<String>>,
}

fn copy_files(node: &mut Node, copies: &mut Copies<'_>, notes: &mut Notes) {
    let is_dome = node.type_name == "DomeLight" || node.type_name == "DomeLight_1";
    let path = node.path.clone();
    for attribute in node.attributes.values_mut() {
        let value = attribute
            .value
            .as_mut()
            .filter(|value| value.unless_large_array().is_some_and(is_asset));
        match value.map(SharedValue::make_mut) {
            Some(Value::AssetPath(asset)) => copies.copy_asset(asset, is_dome, &path, notes),
            Some(Value::AssetPathVec(assets)) => assets
                .iter_mut()
                .for_each(|asset| copies.copy_asset(asset, is_dome, &path, notes)),
            _ => {}
        }
    }
}

fn is_asset(value: &Value) -> bool {
    matches!(value, Value::AssetPath(_) | Value::AssetPathVec(_))
}

impl Copies<'_> {
    fn copy_asset(&mut self, asset: &mut AssetPath, is_dome: bool, prim: &str, notes: &mut Notes) {
        if asset.is_empty() {
            return;
        }
        let authored = asset.authored_path.clone();
        if authored.contains("<UDIM>") {
            notes.left(
                prim,
                format!("the texture @{authored}@ is a UDIM pattern"),
                "bake the tiles into one image",
            );
            return;
        }
        let Some(source) = asset.resolved_path().map(str::to_owned) else {
            notes.left(
                prim,
                format!("@{authored}@ does not exist"),
                "put the file at this path, or remove the path",
            );
            return;
        };
        let known = self.by_source.get(&source).cloned();
        let copy = known.unwrap_or_else(|| {
            let copy = self.copy(&source, is_dome, prim, notes);
            self.by_source.insert(source, copy.clone());
            copy
        });
        if let Some(copy) = copy {
            *asset = AssetPath::new(copy);
        }
    }

    /// Copies a file, and returns its path relative to the asset's folder.
    fn copy(
        &mut self,
        source: &str,
        is_dome: bool,
        prim: &str,
        notes: &mut Notes,
    ) -> Option<String> {
        // A file in a package is `package.usdz[textures/a.png]`.
        let name = source
            .trim_end_matches(']')
            .rsplit(['/', '['])
            .next()
            .unwrap_or(source);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let bytes = match self.stage.bytes(source) {
            Ok(bytes) => bytes,
            Err(error) => {
                let denied = error
                    .get_ref()
                    .and_then(|error| error.downcast_ref::<urdf_usd_resolve::Error>());
                match denied.filter(|error| error.code.id == NOT_ALLOWED.id) {
                    Some(denied) => notes.left(
                        prim,
                        format!("{name} is not copied: {}", denied.message),
                        ALLOW_HELP,
                    ),
                    None => notes.left(
                        prim,
                        format!("{name} cannot be read: {error}"),
                        "replace it by a readable file",
                    ),
                }
                return None;
            }
        };
        let extension = extension.to_ascii_lowercase();
        let is_image = [
            "png", "jpg", "jpeg", "bmp", "tga", "gif", "tif", "tiff", "webp", "exr", "hdr", "ktx2",
            "dds",
        ]
        .contains(&extension.as_str());
        if !is_image || (is_dome && extension == "hdr") {
            return Some(self.insert("", stem, &extension, bytes));
        }
        match convert_image(&bytes) {
            Ok((extension, None)) => Some(self.insert("textures/", stem, extension, bytes)),
            Ok((extension, Some(converted))) => {
                notes.changed(
                    prim,
                    format!("converted the texture {name} to an 8-bit PNG"),
                );
                Some(self.insert("textures/", stem, extension, converted))
            }
            Err(reason) => {
                notes.left(
                    prim,
                    format!(
                        "the texture {name} cannot be converted to an 8-bit PNG or JPEG: {reason}"
                    ),
                    "save it as an 8-bit PNG",
                );
                Some(self.insert("textures/", stem, &extension, bytes))
            }
        }
    }

    /// Adds a file to the asset under an unused name, unless it has an equal one.
    fn insert(&mut self, folder: &str, stem: &str, extension: &str, bytes: Vec<u8>) -> String {
        let sanitize = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let stem: String = stem.chars().map(sanitize).collect();
        let mut number = 0;
        loop {
            let suffix = if number == 0 {
                String::new()
            } else {
                format!("_{number}")
            };
            let dot = if extension.is_empty() { "" } else { "." };
            let path = format!("{folder}{stem}{suffix}{dot}{extension}");
            match self.files.get(Path::new(&path)) {
                Some(other) if *other != bytes => number += 1,
                Some(_) => return format!("./{path}"),
                None => {
                    self.files.insert(PathBuf::from(&path), bytes);
                    return format!("./{path}");
                }
            }
        }
    }
}

/// Returns the extension of an image, and its bytes if it has to be converted.
fn convert_image(bytes: &[u8]) -> Result<(&'static str, Option<Vec<u8>>), String> {
    let format = image::guess_format(bytes).map_err(|error| error.to_string())?;
    if format == ImageFormat::Jpeg {
        return Ok(("jpg", None));
    }
    // The header first: decoding would allocate memory for all pixels.
    let reader = image::ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader
        .into_dimensions()
        .map_err(|error| error.to_string())?;
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!("it has {width} × {height} pixels"));
    }
    let picture =
        image::load_from_memory_with_format(bytes, format).map_err(|error| error.to_string())?;
    let is_8_bit = matches!(
        picture,
        DynamicImage::ImageLuma8(_)
            | DynamicImage::ImageLumaA8(_)
            | DynamicImage::ImageRgb8(_)
            | DynamicImage::ImageRgba8(_)
    );
    if format == ImageFormat::Png && is_8_bit {
        return Ok(("png", None));
    }
    let picture = match (picture.color().has_alpha(), picture.color().has_color()) {
        (false, false) => DynamicImage::ImageLuma8(picture.to_luma8()),
        (true, false) => DynamicImage::ImageLumaA8(picture.to_luma_alpha8()),
        (false, true) => DynamicImage::ImageRgb8(picture.to_rgb8()),
        (true, true) => DynamicImage::ImageRgba8(picture.to_rgba8()),
    };
    let mut converted = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut converted), ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok(("png", Some(converted)))
}
