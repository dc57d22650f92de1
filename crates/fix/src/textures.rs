//! Copies the files that attributes and metadata name into the asset, images as 8-bit PNG or JPEG (REP-158 §1.2.5,
//! §3.2).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};
use openusd::sdf::AssetPath;
use urdf_usd_resolve::codes::NOT_ALLOWED;
use urdf_usd_stage::{Prim, SharedValue, Site, Stage, Value};

use super::notes::Notes;
use super::scene::{Node, Scene};

/// The remedy for a file that may not be read.
const ALLOW_HELP: &str =
    "put the file into the asset's folder, or allow its folder with --allowed-root";

/// Maximum number of pixels of an image that is converted.
const MAX_PIXELS: u64 = 1 << 28;

/// The part of a path that the number of a tile replaces.
const UDIM: &str = "<UDIM>";

/// Copies every permitted file that an attribute or a dictionary names into `files`, and names the copy instead.
/// Returns the paths of the originals.
///
/// `data`: paths of the images that must be lossless.
pub fn collect<'a>(
    scenes: impl Iterator<Item = &'a mut Scene>,
    stage: &'a Stage,
    data: &'a BTreeSet<String>,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
    notes: &mut Notes,
) -> Vec<PathBuf> {
    let mut copies = Copies {
        stage,
        data,
        files,
        by_source: HashMap::new(),
    };
    for node in scenes.flat_map(|scene| scene.nodes.values_mut()) {
        copy_files(node, &mut copies, notes);
    }
    copies
        .by_source
        .into_iter()
        .filter(|(source, copy)| copy.is_some() && !source.contains(UDIM))
        .map(|(source, _)| PathBuf::from(source))
        .collect()
}

struct Copies<'a> {
    /// The stage, which knows the files that may be read.
    stage: &'a Stage,
    /// Paths of the images that must be lossless.
    data: &'a BTreeSet<String>,
    files: &'a mut BTreeMap<PathBuf, Vec<u8>>,
    /// The path of the copy by that of the original; `None` if it could not be copied.
    by_source: HashMap<String, Option<String>>,
}

/// Resolves the paths of UDIM textures and of files in dictionaries, relative to the layers that name
/// them: OpenUSD resolves only paths of single files in attributes.
pub fn locate(node: &mut Node, prim: &Prim, stage: &Stage) {
    let folders = |sites: &[Site]| -> Vec<PathBuf> {
        let layers = sites.iter().map(|site| &stage[site.layer].path);
        let folders = layers.filter_map(|path| path.parent().map(Path::to_owned));
        folders.collect()
    };
    let of_prim = folders(&prim.sites);
    node.metadata
        .values_mut()
        .for_each(|value| locate_in(value, &of_prim));
    for (name, attribute) in &mut node.attributes {
        let of_attribute = prim
            .attributes
            .get(name)
            .map(|source| folders(&source.sites));
        let folders = of_attribute.as_ref().unwrap_or(&of_prim);
        let value = attribute
            .value
            .as_mut()
            .filter(|value| value.unless_large_array().is_some_and(names_files));
        if let Some(value) = value.map(SharedValue::make_mut) {
            locate_in(value, folders);
        }
        attribute
            .metadata
            .values_mut()
            .for_each(|value| locate_in(value, folders));
    }
}

fn locate_in(value: &mut Value, folders: &[PathBuf]) {
    for_each_path(value, &mut |asset| {
        let authored = asset.authored_path.clone();
        if asset.resolved_path().is_some() && !authored.contains(UDIM) {
            return;
        }
        let exists = |path: &PathBuf| {
            let path = path.to_string_lossy();
            tiles(&path).any(|tile| Path::new(&tile).is_file())
        };
        let mut paths = folders.iter().map(|folder| folder.join(&authored));
        if let Some(path) = paths.find(exists) {
            asset.set_resolved_path(path.to_string_lossy());
        }
    });
}

/// Returns the files of a path: the tiles of a UDIM texture, ten in each of ten rows, or the file
/// itself.
fn tiles(path: &str) -> impl Iterator<Item = String> {
    let last = if path.contains(UDIM) { 1100 } else { 1001 };
    (1001..=last).map(move |tile: u32| path.replace(UDIM, &tile.to_string()))
}

/// Calls `work` for each path of a file in a value, in order of the keys of dictionaries, so that names
/// of copies are the same each time.
fn for_each_path(value: &mut Value, work: &mut dyn FnMut(&mut AssetPath)) {
    match value {
        Value::AssetPath(asset) if !asset.is_empty() => work(asset),
        Value::AssetPathVec(assets) => assets.iter_mut().for_each(work),
        Value::Dictionary(entries) => {
            let mut entries: Vec<_> = entries.iter_mut().collect();
            entries.sort_by_key(|(a, _)| *a);
            for (_, value) in entries {
                for_each_path(value, work);
            }
        }
        Value::ValueVec(values) => {
            for value in values {
                for_each_path(value, work);
            }
        }
        _ => {}
    }
}

fn copy_files(node: &mut Node, copies: &mut Copies<'_>, notes: &mut Notes) {
    let user = User {
        prim: node.path.clone(),
        is_dome: node.type_name == "DomeLight" || node.type_name == "DomeLight_1",
    };
    for key in ["clips", "clipSets"] {
        if node.metadata.remove(key).is_some() {
            notes.lost(
                &node.path,
                "value clips animate the prim; only its first values are written",
                "animate joints instead",
            );
        }
    }
    let mut copy = |value: &mut Value, is_metadata: bool| {
        for_each_path(value, &mut |asset| {
            // A layer would need the layers that it refers to, in the new units.
            if is_metadata && is_layer(&asset.authored_path) {
                notes.left(
                    &user.prim,
                    format!(
                        "@{}@ in metadata is a layer, which is not copied",
                        asset.authored_path
                    ),
                    "remove the path, or put the layer where it points",
                );
            } else {
                copies.copy_asset(asset, &user, notes);
            }
        });
    };
    node.metadata
        .values_mut()
        .for_each(|value| copy(value, true));
    for attribute in node.attributes.values_mut() {
        let value = attribute
            .value
            .as_mut()
            .filter(|value| value.unless_large_array().is_some_and(names_files));
        if let Some(value) = value.map(SharedValue::make_mut) {
            copy(value, false);
        }
        attribute
            .metadata
            .values_mut()
            .for_each(|value| copy(value, true));
    }
}

/// Returns whether a file is an OpenUSD layer or package, by its name.
fn is_layer(path: &str) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default();
    ["usd", "usda", "usdc", "usdz"]
        .iter()
        .any(|layer| extension.eq_ignore_ascii_case(layer))
}

/// Returns whether a value contains paths of files.
fn names_files(value: &Value) -> bool {
    match value {
        Value::AssetPath(_) | Value::AssetPathVec(_) => true,
        Value::Dictionary(entries) => entries.values().any(names_files),
        Value::ValueVec(values) => values.iter().any(names_files),
        _ => false,
    }
}

/// The prim whose opinions name a file.
struct User {
    prim: String,
    /// True if it is a dome light, whose images have more than 8 bits.
    is_dome: bool,
}

impl Copies<'_> {
    fn copy_asset(&mut self, asset: &mut AssetPath, user: &User, notes: &mut Notes) {
        if asset.is_empty() {
            return;
        }
        let authored = asset.authored_path.clone();
        let prim = &user.prim;
        if authored.contains(UDIM) {
            let pattern = asset.resolved_path().map(str::to_owned);
            match pattern.and_then(|pattern| self.copy_tiles(pattern, user, notes)) {
                Some(copy) => *asset = AssetPath::new(copy),
                None => notes.left(
                    prim,
                    format!("the UDIM texture @{authored}@ has no readable tiles of one format"),
                    "put the tiles at this path, as PNG",
                ),
            }
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
            let copy = self.copy(&source, user, notes);
            self.by_source.insert(source, copy.clone());
            copy
        });
        if let Some(copy) = copy {
            *asset = AssetPath::new(copy);
        }
    }

    /// Copies the tiles of a UDIM texture, and returns their common path relative to the asset's
    /// folder; `None` without tiles, or if they have several formats.
    fn copy_tiles(&mut self, pattern: String, user: &User, notes: &mut Notes) -> Option<String> {
        if let Some(known) = self.by_source.get(&pattern) {
            return known.clone();
        }
        let mut found = Vec::new();
        for (index, source) in tiles(&pattern).enumerate() {
            if Path::new(&source).is_file() {
                found.push((index, self.read(&source, user, notes)?));
                self.by_source.insert(source, Some(String::new()));
            }
        }
        let (_, first) = found.first()?;
        let (folder, extension) = (first.folder, first.extension.clone());
        if found.iter().any(|(_, file)| file.extension != extension) {
            return None;
        }
        let name = pattern.rsplit('/').next().unwrap_or_default();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let (before, after) = stem.split_once(UDIM)?;
        let (before, after) = (sanitized(before), sanitized(after));
        let copies = (0..).map(|number: u32| match number {
            0 => format!("{folder}{before}{UDIM}{after}.{extension}"),
            number => format!("{folder}{before}{UDIM}{after}_{number}.{extension}"),
        });
        let copy = copies.into_iter().find(|copy| {
            tiles(copy).enumerate().all(|(index, path)| {
                let other = self.files.get(Path::new(&path));
                let own = found.iter().find(|(of, _)| *of == index);
                other.is_none() || other == own.map(|(_, file)| &file.bytes)
            })
        })?;
        for (index, path) in tiles(&copy).enumerate() {
            if let Some(at) = found.iter().position(|(of, _)| *of == index) {
                let (_, file) = found.swap_remove(at);
                self.files.insert(PathBuf::from(path), file.bytes);
            }
        }
        let copy = format!("./{copy}");
        self.by_source.insert(pattern, Some(copy.clone()));
        Some(copy)
    }

    /// Copies a file, and returns its path relative to the asset's folder.
    fn copy(&mut self, source: &str, user: &User, notes: &mut Notes) -> Option<String> {
        let file = self.read(source, user, notes)?;
        let (stem, _) = stem_and_extension(source);
        Some(self.insert(file.folder, stem, &file.extension, file.bytes))
    }

    /// Reads a file, an image as 8-bit PNG or JPEG.
    fn read(&mut self, source: &str, user: &User, notes: &mut Notes) -> Option<Copy> {
        let prim = user.prim.as_str();
        let (stem, extension) = stem_and_extension(source);
        let name = match extension {
            "" => stem.to_owned(),
            extension => format!("{stem}.{extension}"),
        };
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
        if !is_image || (user.is_dome && extension == "hdr") {
            return Some(Copy {
                folder: "",
                extension,
                bytes,
            });
        }
        let image = |extension: &str, bytes| Copy {
            folder: "textures/",
            extension: extension.to_owned(),
            bytes,
        };
        let is_data = self.data.contains(source);
        match convert_image(&bytes, &extension, is_data) {
            Ok((extension, None)) => Some(image(extension, bytes)),
            Ok((extension, Some(converted))) => {
                notes.changed(
                    prim,
                    format!("converted the texture {name} to an 8-bit PNG"),
                );
                Some(image(extension, converted))
            }
            Err(reason) => {
                notes.left(
                    prim,
                    format!(
                        "the texture {name} cannot be converted to an 8-bit PNG or JPEG: {reason}"
                    ),
                    "save it as an 8-bit PNG",
                );
                Some(image(&extension, bytes))
            }
        }
    }

    /// Adds a file to the asset under an unused name, unless it has an equal one.
    fn insert(&mut self, folder: &str, stem: &str, extension: &str, bytes: Vec<u8>) -> String {
        let stem = sanitized(stem);
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

/// A file to be written.
struct Copy {
    /// The folder in the asset, with a slash; empty for the asset's own.
    folder: &'static str,
    extension: String,
    bytes: Vec<u8>,
}

/// Splits the name of a file at its extension. A file in a package is `package.usdz[textures/a.png]`.
fn stem_and_extension(source: &str) -> (&str, &str) {
    let name = source.trim_end_matches(']').rsplit(['/', '[']).next();
    let name = name.unwrap_or(source);
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// Replaces characters that some file systems or URIs do not allow.
fn sanitized(name: &str) -> String {
    let sanitize = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(sanitize).collect()
}

/// Returns the extension of an image, and its bytes if it has to be converted. `is_data`: whether it has to
/// be lossless.
fn convert_image(
    bytes: &[u8],
    extension: &str,
    is_data: bool,
) -> Result<(&'static str, Option<Vec<u8>>), String> {
    let format = match image::guess_format(bytes) {
        Ok(format) => format,
        // A TGA has no mark at its beginning.
        Err(_) if extension == "tga" => ImageFormat::Tga,
        Err(error) => return Err(error.to_string()),
    };
    if format == ImageFormat::Jpeg && !is_data {
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
