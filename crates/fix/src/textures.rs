//! Files that attributes name: collected beside the asset, images as 8-bit PNG or JPEG (REP-158
//! §1.2.5, §3.2).

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};
use openusd::sdf::AssetPath;
use urdf_usd_resolve::codes::NOT_ALLOWED;
use urdf_usd_stage::{SharedValue, Stage, Value};

use super::notes::Notes;
use super::scene::{Node, Scene};

/// What to do about a file that may not be read.
const OUTSIDE: &str =
    "put the file into the asset's folder, or allow its folder with --allowed-root";

/// More pixels than a texture has.
const MOST_PIXELS: u64 = 1 << 28;

/// Copies every file that an attribute names and that may be read into `files`, and names the copy
/// instead; returns where they were.
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
        of_node(node, &mut copies, notes);
    }
    copies
        .by_source
        .into_iter()
        .filter(|(_, copy)| copy.is_some())
        .map(|(source, _)| PathBuf::from(source))
        .collect()
}

struct Copies<'a> {
    /// Knows which files may be read.
    stage: &'a Stage,
    files: &'a mut BTreeMap<PathBuf, Vec<u8>>,
    /// Where the copy of a file is, by where the file is; `None` if there is none.
    by_source: HashMap<String, Option<String>>,
}

fn of_node(node: &mut Node, copies: &mut Copies<'_>, notes: &mut Notes) {
    let is_dome = node.type_name == "DomeLight" || node.type_name == "DomeLight_1";
    let path = node.path.clone();
    for attribute in node.attributes.values_mut() {
        let value = attribute
            .value
            .as_mut()
            .filter(|value| value.unless_large_array().is_some_and(is_asset));
        match value.map(SharedValue::make_mut) {
            Some(Value::AssetPath(asset)) => copies.of_asset(asset, is_dome, &path, notes),
            Some(Value::AssetPathVec(assets)) => assets
                .iter_mut()
                .for_each(|asset| copies.of_asset(asset, is_dome, &path, notes)),
            _ => {}
        }
    }
}

fn is_asset(value: &Value) -> bool {
    matches!(value, Value::AssetPath(_) | Value::AssetPathVec(_))
}

impl Copies<'_> {
    fn of_asset(&mut self, asset: &mut AssetPath, is_dome: bool, prim: &str, notes: &mut Notes) {
        if asset.is_empty() {
            return;
        }
        let authored = asset.authored_path.clone();
        if authored.contains("<UDIM>") {
            notes.left(
                prim,
                format!("the texture @{authored}@ is a set of tiles"),
                "bake the tiles into one image",
            );
            return;
        }
        let Some(source) = asset.resolved_path().map(str::to_owned) else {
            notes.left(
                prim,
                format!("@{authored}@ leads to no file"),
                "put the file where the path leads, or remove the path",
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

    /// Copies a file; its path from the asset's folder.
    fn copy(
        &mut self,
        source: &str,
        is_dome: bool,
        prim: &str,
        notes: &mut Notes,
    ) -> Option<String> {
        // In a package: `package.usdz[textures/a.png]`.
        let name = source
            .trim_end_matches(']')
            .rsplit(['/', '['])
            .next()
            .unwrap_or(source);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let bytes = match self.stage.bytes(source) {
            Ok(bytes) => bytes,
            Err(error) => {
                let refused = error
                    .get_ref()
                    .and_then(|error| error.downcast_ref::<urdf_usd_resolve::Error>());
                match refused.filter(|error| error.code.id == NOT_ALLOWED.id) {
                    Some(outside) => notes.left(
                        prim,
                        format!("{name} is not copied: {}", outside.message),
                        OUTSIDE,
                    ),
                    None => notes.left(
                        prim,
                        format!("{name} can't be read: {error}"),
                        "put a file there that can be read",
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
            return Some(self.keep("", stem, &extension, bytes));
        }
        match encoded(&bytes) {
            Ok((extension, None)) => Some(self.keep("textures/", stem, extension, bytes)),
            Ok((extension, Some(made))) => {
                notes.changed(prim, format!("the texture {name} is an 8-bit PNG now"));
                Some(self.keep("textures/", stem, extension, made))
            }
            Err(reason) => {
                notes.left(
                    prim,
                    format!("the texture {name} can't be made an 8-bit PNG or JPEG: {reason}"),
                    "save it as an 8-bit PNG",
                );
                Some(self.keep("textures/", stem, &extension, bytes))
            }
        }
    }

    /// Puts a file into the asset under a name of its own, unless it is there.
    fn keep(&mut self, folder: &str, stem: &str, extension: &str, bytes: Vec<u8>) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let stem: String = stem.chars().map(plain).collect();
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
                Some(there) if *there != bytes => number += 1,
                Some(_) => return format!("./{path}"),
                None => {
                    self.files.insert(PathBuf::from(&path), bytes);
                    return format!("./{path}");
                }
            }
        }
    }
}

/// What an image should be called, and its bytes if they have to be others.
fn encoded(bytes: &[u8]) -> Result<(&'static str, Option<Vec<u8>>), String> {
    let format = image::guess_format(bytes).map_err(|error| error.to_string())?;
    if format == ImageFormat::Jpeg {
        return Ok(("jpg", None));
    }
    let reader = image::ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader
        .into_dimensions()
        .map_err(|error| error.to_string())?;
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
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
    let mut made = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut made), ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok(("png", Some(made)))
}
