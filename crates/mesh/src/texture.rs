//! Images: PNG and JPEG are kept unchanged, other formats become PNG.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ImageDecoder, ImageReader, Limits};
use sha2::{Digest, Sha256};

use super::{Error, codes, declared, stem};
use urdf_usd_resolve::{File, LFS_HELP, is_lfs_pointer};
use urdf_usd_robot::{ImageFormat, Material, Texture};

/// Maximum size of an image file, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of pixels per side.
const MAX_SIDE: u32 = 16_384;

/// Maximum number of pixels of an image.
const MAX_PIXELS: u64 = 64 << 20;

/// Maximum number of pixels of all images of an asset together: renderers decode each of them
/// whole.
pub const MAX_PIXELS_TOGETHER: u64 = 256 << 20;

/// Images with more pixels than this are decoded one at a time: each takes hundreds of megabytes.
const MANY_PIXELS: u64 = 4 << 20;

/// Maximum number of images that a further one is compared with.
const MAX_RECENT: usize = 64;

/// Maximum number of cached means of images.
const MAX_MEANS: usize = 1_000;

/// Maximum memory of a decoder in bytes, …
const MEMORY: u64 = 8 << 20;

/// … and the allowance per pixel on top: the widest pixels have 16 bytes.
const MEMORY_PER_PIXEL: u64 = 32;

/// The purpose of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// The alpha channel is opacity.
    Transparent,
    /// The alpha channel is ignored, or read elsewhere: so most images need not be decoded.
    Opaque,
}

/// Cache of images by key and use; `None` for an image that is unusable, which has been reported.
#[derive(Debug)]
pub(super) struct Loaded<K>(HashMap<(K, Use), Option<Arc<Texture>>>);

impl<K> Default for Loaded<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash> Loaded<K> {
    /// Returns the cached result for an image; `None` if it was not loaded yet.
    pub fn get(&self, key: &K, usage: Use) -> Option<Option<Arc<Texture>>> {
        let known = |usage| self.0.get(&(key.clone(), usage)).cloned();
        // An image with its alpha also serves uses without it. A failure concerns every use.
        known(usage).or_else(|| match usage {
            Use::Opaque => known(Use::Transparent).map(|image| image.map(opaque)),
            Use::Transparent => known(Use::Opaque).filter(Option::is_none),
        })
    }

    /// Returns whether the image was loaded, for any use.
    pub fn has(&self, key: &K) -> bool {
        [Use::Transparent, Use::Opaque]
            .iter()
            .any(|usage| self.get(key, *usage).is_some())
    }

    pub fn insert(&mut self, key: K, usage: Use, image: Option<Arc<Texture>>) {
        self.0.insert((key, usage), image);
    }
}

/// Reads an image. PNG of up to eight bits and JPEG are kept byte for byte; PNG of sixteen bits,
/// TIFF, BMP, TGA, GIF (first frame), WebP and CMYK JPEG become PNG of eight bits (REP-158 §3.2).
///
/// The format is detected by content, not by name. Only older TGA files, which have no signature,
/// need the file extension.
///
/// An alpha channel counts only if some pixel is not opaque. EXIF orientation, ICC profiles and the
/// frames of an animated PNG are kept but ignored, as renderers do for textures.
///
/// # Errors
/// `texture-format`, `texture-unreadable`, `texture-too-large`.
pub fn texture(file: &File) -> Result<Arc<Texture>, Error> {
    texture_within(file, &mut { MAX_PIXELS_TOGETHER })
}

/// Reads one of several images; `room` is the number of pixels that they may still have together.
///
/// # Errors
/// As [`texture`], and `texture-too-many-pixels`.
pub fn texture_within(file: &File, room: &mut u64) -> Result<Arc<Texture>, Error> {
    Ok(inspected(file, Use::Transparent, room)?.0)
}

/// Reads an image for a use. Also returns whether it holds normals ([`holds_normals`]) if it had to
/// be decoded anyway.
pub(super) fn inspected(
    file: &File,
    usage: Use,
    room: &mut u64,
) -> Result<(Arc<Texture>, Option<bool>), Error> {
    if file.bytes.len() > MAX_BYTES {
        return Err(too_large(format!("it has {} bytes", file.bytes.len())));
    }
    let Inspected {
        format,
        converted,
        has_alpha,
        holds_normals,
    } = inspect(&file.path, &file.bytes, usage, room)?;
    let bytes = converted.map_or_else(|| file.bytes.clone(), Arc::from);
    let (bytes, sha256, is_new) = match recent(&bytes) {
        Some(known) => (known.bytes.clone(), known.sha256.clone(), false),
        None => (bytes.clone(), sha256(&bytes), true),
    };
    let texture = Arc::new(Texture {
        name: stem(&file.path),
        format,
        sha256,
        bytes,
        has_alpha,
    });
    if is_new {
        remember(&texture);
    }
    Ok((texture, holds_normals))
}

/// The latest images that differ.
static RECENT: Mutex<VecDeque<Weak<Texture>>> = Mutex::new(VecDeque::new());

/// Returns a recent image of the same bytes, if it is still in use.
///
/// Meshes of a robot often share an image, or hold a copy of it each. Comparing bytes takes a fraction of the
/// time of hashing them, and one copy is enough.
fn recent(bytes: &[u8]) -> Option<Arc<Texture>> {
    let known: Vec<Arc<Texture>> = {
        let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().filter_map(Weak::upgrade).collect()
    };
    known.into_iter().find(|known| *known.bytes == *bytes)
}

fn remember(texture: &Arc<Texture>) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    recent.retain(|known| known.strong_count() > 0);
    if recent.len() >= MAX_RECENT {
        recent.pop_front();
    }
    recent.push_back(Arc::downgrade(texture));
}

/// Returns whether the channels of a readable image have more than eight bits; [`texture`] keeps
/// the upper eight of them.
pub fn is_deep(file: &File) -> bool {
    let decoder = format(&file.path, &file.bytes).and_then(|format| decoder(format, &file.bytes));
    decoder.is_ok_and(|decoder| has_deep_channels(&decoder))
}

fn has_deep_channels(decoder: &impl ImageDecoder) -> bool {
    let color = decoder.color_type();
    u16::from(color.channel_count()) * 8 < color.bits_per_pixel()
}

/// Returns the number of pixels of a texture; 0 if its header is unreadable.
pub fn pixels(texture: &Texture) -> u64 {
    let format = match texture.format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
    };
    let size = ImageReader::with_format(Cursor::new(&*texture.bytes), format).into_dimensions();
    size.map_or(0, |(width, height)| u64::from(width) * u64::from(height))
}

/// Runs `work` on an image of this many pixels. Large images are processed one at a time, so that
/// peak memory is bounded regardless of the number of threads.
pub fn with_memory_for<T>(pixels: u64, work: impl FnOnce() -> T) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    // The lock guards no data, so it is usable after a panic.
    let _held = (pixels > MANY_PIXELS).then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner));
    work()
}

/// Returns the same image for a material that ignores its alpha.
fn opaque(texture: Arc<Texture>) -> Arc<Texture> {
    if texture.has_alpha {
        Arc::new(Texture {
            has_alpha: false,
            ..Texture::clone(&texture)
        })
    } else {
        texture
    }
}

/// The result of inspecting an image.
struct Inspected {
    format: ImageFormat,
    /// The converted bytes, if the original ones can't be used.
    converted: Option<Vec<u8>>,
    /// Whether any pixel is not opaque.
    has_alpha: bool,
    /// Whether it holds normals; `None` if it was not decoded.
    holds_normals: Option<bool>,
}

fn inspect(path: &Path, bytes: &[u8], usage: Use, room: &mut u64) -> Result<Inspected, Error> {
    let format = format(path, bytes)?;
    let decoder = decoder(format, bytes)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    *room = room.checked_sub(pixels).ok_or_else(|| {
        let message = format!(
            "it has {width} x {height} pixels, and all images together more than {} Mi",
            MAX_PIXELS_TOGETHER >> 20
        );
        Error::new(&codes::TEXTURE_TOO_MANY_PIXELS, message).help("scale the images down")
    })?;
    let kept = match format {
        image::ImageFormat::Png if !has_deep_channels(&decoder) => Some(ImageFormat::Png),
        // Few renderers convert CMYK.
        image::ImageFormat::Jpeg if jpeg_components(bytes) != Some(4) => Some(ImageFormat::Jpeg),
        _ => None,
    };
    match kept {
        Some(format) if usage == Use::Opaque || !decoder.color_type().has_alpha() => {
            // The image is not decoded, so its checksums are all that reveals a truncated file.
            if format == ImageFormat::Png && !is_whole(bytes) {
                return Err(
                    Error::new(&codes::TEXTURE_UNREADABLE, "it is cut off or damaged")
                        .help("export the image again"),
                );
            }
            Ok(Inspected {
                format,
                converted: None,
                has_alpha: false,
                holds_normals: None,
            })
        }
        Some(format) => with_memory_for(pixels, || {
            let image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
            let (has_alpha, holds_normals) = (is_transparent(&image), Some(is_of_normals(&image)));
            Ok(Inspected {
                format,
                converted: None,
                has_alpha,
                holds_normals,
            })
        }),
        None => with_memory_for(pixels, || {
            let image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
            let transparent = is_transparent(&image);
            let image = match (transparent, image) {
                (true, image) => DynamicImage::ImageRgba8(image.into_rgba8()),
                (false, image @ (DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_))) => {
                    image
                }
                (false, image) if !image.color().has_color() => {
                    DynamicImage::ImageLuma8(image.into_luma8())
                }
                (false, image) => DynamicImage::ImageRgb8(image.into_rgb8()),
            };
            let converted = Some(png(&image).map_err(unreadable)?);
            let holds_normals = Some(is_of_normals(&image));
            Ok(Inspected {
                format: ImageFormat::Png,
                converted,
                has_alpha: transparent && usage == Use::Transparent,
                holds_normals,
            })
        }),
    }
}

/// Returns whether the image chunks of a PNG have valid CRCs and are followed by another chunk.
/// Anything after that is harmless.
fn is_whole(png: &[u8]) -> bool {
    let mut rest = png.get(8..).unwrap_or_default();
    let mut has_picture = false;
    while let Some((length, after)) = rest.split_first_chunk::<4>()
        && let Some(name) = after.first_chunk::<4>()
    {
        if has_picture && name != b"IDAT" {
            return true;
        }
        has_picture = name == b"IDAT";
        let length = (u32::from_be_bytes(*length) as usize).saturating_add(name.len());
        let Some((chunk, after)) = after.split_at_checked(length) else {
            return false;
        };
        let Some((crc, after)) = after.split_first_chunk::<4>() else {
            return false;
        };
        // Chunks whose names begin with a lower-case letter are ancillary.
        if name[0].is_ascii_uppercase() && crc32fast::hash(chunk) != u32::from_be_bytes(*crc) {
            return false;
        }
        rest = after;
    }
    false
}

/// Encodes an image as PNG.
///
/// # Errors
/// If the encoder rejects the size or the pixel format.
pub fn png(image: &DynamicImage) -> image::ImageResult<Vec<u8>> {
    // A third of the time of the default level 6, for some 3 % more bytes. Levels 1 and 2 give up
    // to three times as many bytes.
    const LEVEL: CompressionType = CompressionType::Level(3);
    let mut bytes = Vec::new();
    image.write_with_encoder(PngEncoder::new_with_quality(
        &mut bytes,
        LEVEL,
        FilterType::Adaptive,
    ))?;
    Ok(bytes)
}

/// The source of a map's values in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Values {
    /// The channels.
    Channels,
    /// The opacity.
    Alpha,
    /// One minus the opacity.
    OneMinusAlpha,
    /// The luminance.
    Luminance,
    /// One minus the luminance.
    OneMinusLuminance,
}

/// Converts an image to a map, without loss, and to greyscale unless the values are those of
/// channels. Returns `None` if the image is unreadable.
pub(super) fn map(texture: &Texture, values: Values) -> Option<Arc<Texture>> {
    if values == Values::Channels && texture.format == ImageFormat::Png {
        return Some(Arc::new(Texture {
            has_alpha: false,
            ..texture.clone()
        }));
    }
    let image = with_memory_for(pixels(texture), || {
        let image = image::load_from_memory(&texture.bytes).ok()?;
        if values == Values::Channels {
            return png(&image).ok();
        }
        let image = image.into_rgba8();
        let value = |[red, green, blue, alpha]: [u8; 4]| {
            // Rec. 709 weights in 256ths.
            let luminance =
                || (54 * u32::from(red) + 183 * u32::from(green) + 19 * u32::from(blue) + 128) >> 8;
            match values {
                Values::Alpha => alpha,
                Values::OneMinusAlpha => u8::MAX - alpha,
                Values::OneMinusLuminance => u8::MAX - luminance() as u8,
                Values::Channels | Values::Luminance => luminance() as u8,
            }
        };
        let grey = image::GrayImage::from_fn(image.width(), image.height(), |x, y| {
            [value(image.get_pixel(x, y).0)].into()
        });
        png(&DynamicImage::ImageLuma8(grey)).ok()
    })?;
    Some(made(texture.name.clone(), image, false))
}

/// Returns whether red, green and blue are equal in all pixels, according to the colour type in a
/// PNG's header.
pub fn is_grey(texture: &Texture) -> bool {
    texture.format == ImageFormat::Png
        && texture
            .bytes
            // The colour type in IHDR: 0 is grey, 4 is grey with alpha.
            .get(25)
            .is_some_and(|kind| matches!(kind, 0 | 4))
}

/// Creates a texture from a generated PNG.
pub fn made(name: String, png: Vec<u8>, has_alpha: bool) -> Arc<Texture> {
    Arc::new(Texture {
        name,
        format: ImageFormat::Png,
        sha256: sha256(&png),
        bytes: png.into(),
        has_alpha,
    })
}

/// Returns whether at least 90 % of the pixels are unit vectors with a dominant positive z, so that
/// the image holds normals whatever its name. In a height map all channels are equal. Returns
/// `None` if it can't be decoded.
pub(super) fn holds_normals(texture: &Texture) -> Option<bool> {
    with_memory_for(pixels(texture), || {
        let of_rows = match texture.format {
            ImageFormat::Png => rows_hold_normals(&texture.bytes),
            ImageFormat::Jpeg => None,
        };
        of_rows.or_else(|| {
            let image = image::load_from_memory(&texture.bytes).ok()?;
            Some(is_of_normals(&image))
        })
    })
}

/// Returns whether a PNG holds normals, from no more rows than that takes; `None` if its rows can't be decoded
/// one by one.
///
/// If the upper eighth does, of large images less, the rest is assumed to hold normals too, which saves most of
/// the time: no atlas is known that mixes them with something else.
fn rows_hold_normals(bytes: &[u8]) -> Option<bool> {
    let limits = png::Limits {
        bytes: MEMORY as usize,
    };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let mut reader = decoder.read_info().ok()?;
    // Its rows are not in the order of the picture.
    if reader.info().interlaced {
        return None;
    }
    let count_others = match reader.output_color_type() {
        (png::ColorType::Rgb, png::BitDepth::Eight) => count_others::<3>,
        (png::ColorType::Rgba, png::BitDepth::Eight) => count_others::<4>,
        _ => return None,
    };
    let (width, height) = (reader.info().width as usize, reader.info().height);
    let most = |rows: u32| rows as usize * width / 10;
    let first = height.div_ceil(8).min(height.div_ceil(32).max(32));
    let mut others = 0;
    for rows in 1..=height {
        others += count_others(reader.next_row().ok()??.data());
        if others > most(height) {
            return Some(false);
        }
        if rows == first && others <= most(rows) {
            return Some(true);
        }
    }
    Some(true)
}

/// The same as [`holds_normals`], for a decoded image.
fn is_of_normals(image: &DynamicImage) -> bool {
    match image {
        DynamicImage::ImageRgb8(image) => are_normals::<3>(image.as_raw()),
        DynamicImage::ImageRgba8(image) => are_normals::<4>(image.as_raw()),
        image => are_normals::<3>(image.to_rgb8().as_raw()),
    }
}

/// The same as [`is_of_normals`], for pixels of `N` bytes.
fn are_normals<const N: usize>(bytes: &[u8]) -> bool {
    // Most images exceed the limit within the first few blocks.
    let mut others = 0;
    !bytes.is_empty()
        && bytes.chunks(N * 4096).all(|block| {
            others += count_others::<N>(block);
            others <= bytes.len() / N / 10
        })
}

/// Returns the number of pixels that are no normals.
fn count_others<const N: usize>(bytes: &[u8]) -> usize {
    /// Squared minimum and maximum length of a normal, 0.85 and 1.15, where 255 is the unit.
    const SQUARES: std::ops::RangeInclusive<u32> = 46_981..=85_995;
    let square = |byte: u8| (2 * i32::from(byte) - 255).pow(2).cast_unsigned();
    let is_normal = |pixel: &&[u8; N]| {
        let [x, y, z] = [pixel[0], pixel[1], pixel[2]];
        z > 127 && z > x && z > y && SQUARES.contains(&(square(x) + square(y) + square(z)))
    };
    let pixels = bytes.as_chunks::<N>().0;
    pixels.len() - pixels.iter().filter(is_normal).count()
}

/// Detects the format of an image, if it is supported.
fn format(path: &Path, bytes: &[u8]) -> Result<image::ImageFormat, Error> {
    use image::ImageFormat::{Bmp, Gif, Jpeg, Png, Tga, Tiff, WebP};
    if bytes.is_empty() {
        return Err(Error::new(&codes::TEXTURE_UNREADABLE, "the file is empty")
            .help("export the image again"));
    }
    if is_lfs_pointer(bytes) {
        return Err(Error::new(
            &codes::TEXTURE_UNREADABLE,
            "the file is a pointer of Git LFS, not the image itself",
        )
        .help(LFS_HELP));
    }
    match image::guess_format(bytes) {
        Ok(format @ (Png | Jpeg | Tiff | Bmp | Gif | WebP)) => return Ok(format),
        Ok(_) => {}
        Err(_) if bytes.ends_with(TGA_END) => return Ok(Tga),
        Err(_)
            if foreign_format(bytes).is_none()
                && path
                    .extension()
                    .is_some_and(|e| e.eq_ignore_ascii_case("tga")) =>
        {
            return Ok(Tga);
        }
        Err(_) => {}
    }
    let (what, help) = match foreign_format(bytes) {
        Some((name, help)) => (
            format!("it is of the format {name}, which is not read"),
            help,
        ),
        None => (
            "its format is not known".to_owned(),
            "convert it to PNG or JPEG",
        ),
    };
    Err(Error::new(&codes::TEXTURE_FORMAT, what).help(help))
}

/// The signature at the end of newer TGA files.
const TGA_END: &[u8] = b"TRUEVISION-XFILE.\0";

/// Returns the name of an unsupported format, and how to convert it.
fn foreign_format(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const KTX2: &str =
        "decode it to PNG: ktx extract --transcode rgba8 image.ktx2 image.png (of KTX-Software)";
    const FOR_GPUS: &str = "it is packed for graphics cards; decode it to PNG: magick image.dds image.png (of ImageMagick)";
    const OF_LIGHT: &str = "it holds more than the 8 bits that a surface's image has; convert it to PNG: oiiotool image.exr -d uint8 \
                            -o image.png (of OpenImageIO), with --colorconvert linear sRGB after its name if it holds colours";
    const OTHER: &str = "convert it to PNG or JPEG";
    let begins: [(&[u8], _, _); 11] = [
        (b"\xabKTX 20\xbb\r\n\x1a\n", "KTX2", KTX2),
        (b"\xabKTX 11\xbb\r\n\x1a\n", "KTX", FOR_GPUS),
        (b"DDS ", "DDS", FOR_GPUS),
        (b"\x76\x2f\x31\x01", "OpenEXR", OF_LIGHT),
        (b"#?", "Radiance HDR", OF_LIGHT),
        (b"8BPS", "Photoshop", OTHER),
        (b"gimp xcf", "GIMP", OTHER),
        (b"\0\0\x01\0", "ICO", OTHER),
        (b"\0\0\0\x0cJXL ", "JPEG XL", OTHER),
        (b"\xff\x0a", "JPEG XL", OTHER),
        (b"\0\0\0\x0cjP  ", "JPEG 2000", OTHER),
    ];
    if let Some((_, name, help)) = begins
        .into_iter()
        .find(|(mark, ..)| bytes.starts_with(mark))
    {
        return Some((name, help));
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some(("AVIF or HEIF", OTHER));
    }
    let text = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes));
    text.contains("<svg")
        .then_some(("SVG", "it is a drawing: render it to a PNG"))
}

/// Creates a decoder that has read only the header, so that nothing is allocated for an image that
/// is too large.
fn decoder(format: image::ImageFormat, bytes: &[u8]) -> Result<impl ImageDecoder + '_, Error> {
    if !declared::fits(format, bytes) {
        return Err(Error::new(
            &codes::TEXTURE_UNREADABLE,
            "a part of it says that it is larger than the whole",
        )
        .help("export the image again"));
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    // The size is not known yet: allow for the largest image.
    limits.max_alloc = Some(MEMORY + MEMORY_PER_PIXEL * MAX_PIXELS);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(too_large(format!("it has {width} x {height} pixels")));
    }
    // The frames of a GIF may claim to be larger than the canvas.
    limits.max_alloc = Some(MEMORY + MEMORY_PER_PIXEL * pixels);
    decoder.set_limits(limits).map_err(unreadable)?;
    Ok(decoder)
}

/// Returns the number of components of a JPEG's pixels, by its frame header (ITU T.81, B.2.2): 1
/// grey, 3 colour, 4 CMYK.
fn jpeg_components(bytes: &[u8]) -> Option<u8> {
    let mut at = 2;
    loop {
        match *bytes.get(at..at + 4)? {
            [0xff, 0xff, ..] => at += 1,
            [0xff, 0x01 | 0xd0..=0xd8, ..] => at += 2,
            [
                0xff,
                // The gaps are no frame headers but DHT, JPG and DAC (table B.1).
                0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf,
                ..,
            ] => return bytes.get(at + 9).copied(),
            [0xff, _, high, low] => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return None,
        }
    }
}

fn is_transparent(image: &DynamicImage) -> bool {
    match image {
        // Fold whole blocks, which vectorises; a search for the first pixel wouldn't.
        DynamicImage::ImageRgba8(image) => image
            .as_raw()
            .as_chunks::<4>()
            .0
            .chunks(4096)
            .any(|pixels| pixels.iter().fold(u8::MAX, |all, p| all & p[3]) != u8::MAX),
        DynamicImage::ImageLumaA8(image) => image.pixels().any(|p| p.0[1] != u8::MAX),
        image if image.color().has_alpha() => {
            image.to_rgba16().pixels().any(|p| p.0[3] != u16::MAX)
        }
        _ => false,
    }
}

fn too_large(what: String) -> Error {
    Error::new(&codes::TEXTURE_TOO_LARGE, what).help("scale it down")
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn unreadable(error: image::ImageError) -> Error {
    match error {
        image::ImageError::Limits(error) => too_large(error.to_string()),
        image::ImageError::Unsupported(error) => {
            Error::new(&codes::TEXTURE_FORMAT, error.to_string())
                .help("convert it to an 8-bit PNG or JPEG")
        }
        error => {
            Error::new(&codes::TEXTURE_UNREADABLE, error.to_string()).help("export the image again")
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    urdf_usd_store::hex(&Sha256::digest(bytes))
}

/// Returns whether the opacity in an image is a mask: most pixels that are not opaque are nearly
/// transparent, not partly. Its opacity is the alpha, or else the first channel.
pub fn is_mask(texture: &Texture) -> bool {
    // Filters and compression blur the edges of masks.
    const TRANSPARENT: u8 = 16;
    const OPAQUE: u8 = 239;
    let channel = if texture.has_alpha { 3 } else { 0 };
    let image = with_memory_for(pixels(texture), || {
        image::load_from_memory(&texture.bytes).map(DynamicImage::into_rgba8)
    });
    let Ok(image) = image else { return false };
    let (mut transparent, mut partial) = (0_u64, 0_u64);
    for pixel in image.pixels() {
        let opacity = pixel.0.get(channel).copied().unwrap_or(u8::MAX);
        transparent += u64::from(opacity < TRANSPARENT);
        partial += u64::from((TRANSPARENT..=OPAQUE).contains(&opacity));
    }
    transparent > partial
}

/// Returns the mean of all pixels, linear and with opacity: a substitute for an image that can't be
/// placed. `None` if it is unreadable.
pub fn mean_color(texture: &Texture) -> Option<[f32; 4]> {
    mean(texture, true)
}

/// The same for an image of data: the mean of its values without conversion.
pub(super) fn mean_data(texture: &Texture) -> Option<[f32; 4]> {
    mean(texture, false)
}

/// Means by the hash of the image and whether its values are colours: many materials may share an
/// image.
type Means = HashMap<(String, bool), Option<[f32; 4]>>;

fn mean(texture: &Texture, is_color: bool) -> Option<[f32; 4]> {
    static MEANS: Mutex<Option<Means>> = Mutex::new(None);
    let known = || MEANS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (texture.sha256.clone(), is_color);
    if let Some(mean) = known().as_ref().and_then(|means| means.get(&key)) {
        return *mean;
    }
    // The cache isn't locked meanwhile: at worst two threads compute the same mean.
    let mean = with_memory_for(pixels(texture), || mean_of(&texture.bytes, is_color));
    // A texture created by a caller may have no hash.
    if !key.0.is_empty() {
        let mut known = known();
        let means = known.get_or_insert_default();
        if means.len() >= MAX_MEANS {
            // Evict everything at the limit instead of tracking recency: a mean can be recomputed.
            means.clear();
        }
        means.insert(key, mean);
    }
    mean
}

fn mean_of(bytes: &[u8], is_color: bool) -> Option<[f32; 4]> {
    let decode = |value| {
        if is_color {
            Material::linear(value)
        } else {
            value
        }
    };
    let image = image::load_from_memory(bytes).ok()?.into_rgba8();
    // One conversion per value of a byte, instead of one per channel of each pixel.
    let linear: [f64; 256] = std::array::from_fn(|value| decode(value as f64 / 255.0));
    let mut sum = [0.0; 4];
    for pixel in image.pixels() {
        let [red, green, blue, alpha] = pixel.0;
        for (sum, channel) in sum.iter_mut().zip([red, green, blue]) {
            *sum += linear
                .get(usize::from(channel))
                .copied()
                .unwrap_or_default();
        }
        sum[3] += f64::from(alpha) / 255.0;
    }
    let count = f64::from(image.width()) * f64::from(image.height());
    (count > 0.0).then(|| sum.map(|sum| (sum / count) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(image: &DynamicImage, format: image::ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes
    }

    fn from_bytes(path: &Path, bytes: &[u8], room: &mut u64) -> Result<Arc<Texture>, Error> {
        texture_within(
            &File {
                path: path.to_owned(),
                bytes: bytes.into(),
            },
            room,
        )
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Arc<Texture>, &'static str> {
        from_bytes(Path::new(name), bytes, &mut { MAX_PIXELS_TOGETHER }).map_err(|e| e.code.id)
    }

    fn rgba(alpha: u8) -> DynamicImage {
        DynamicImage::ImageRgba8(image::RgbaImage::from_fn(3, 2, |x, y| {
            image::Rgba([x as u8, y as u8, 7, alpha])
        }))
    }

    #[test]
    fn normals_are_nearly_all_pixels_or_none_are() {
        let with = |others: u32, other: [u8; 3]| {
            let pixel = |x: u32, y: u32| {
                if y * 100 + x < others {
                    other
                } else {
                    [128, 128, 255]
                }
            };
            let rgb = image::RgbImage::from_fn(100, 100, |x, y| image::Rgb(pixel(x, y)));
            let rgb = DynamicImage::ImageRgb8(rgb);
            let found = [rgb.to_rgba8().into(), rgb.clone(), rgb]
                .map(|image: DynamicImage| is_of_normals(&image));
            assert!(found.iter().all(|holds| *holds == found[0]));
            found[0]
        };
        for other in [
            [128, 128, 127],
            [10, 20, 10],
            [255, 0, 255],
            [255; 3],
            [128, 128, 100],
        ] {
            assert!(
                with(0, other) && with(1000, other) && !with(1001, other) && !with(10_000, other),
                "{other:?}"
            );
        }
        // Minimum and maximum length: 0.85 and 1.15.
        assert!(with(10_000, [128, 128, 236]) && !with(10_000, [128, 128, 235]));
        assert!(with(10_000, [199, 127, 255]) && !with(10_000, [201, 127, 255]));
        assert!(!is_of_normals(&DynamicImage::new_rgb8(0, 0)));
    }

    #[test]
    fn png_and_jpeg_are_kept_whatever_their_name() {
        let png = encoded(&rgba(255), image::ImageFormat::Png);
        let texture = read("dir/wood.jpg", &png).unwrap();
        assert_eq!(
            (texture.name.as_str(), texture.format, texture.has_alpha),
            ("wood", ImageFormat::Png, false)
        );
        assert_eq!(&*texture.bytes, png);
        assert_eq!(texture.sha256.len(), 64);
        let jpeg = encoded(
            &DynamicImage::ImageRgb8(rgba(255).into_rgb8()),
            image::ImageFormat::Jpeg,
        );
        assert_eq!(read("x", &jpeg).unwrap().format, ImageFormat::Jpeg);
    }

    #[test]
    fn alpha_counts_where_something_is_transparent() {
        assert!(
            read("a.png", &encoded(&rgba(254), image::ImageFormat::Png))
                .unwrap()
                .has_alpha
        );
        assert!(
            !read("a.png", &encoded(&rgba(255), image::ImageFormat::Png))
                .unwrap()
                .has_alpha
        );
    }

    #[test]
    fn other_formats_become_png() {
        use image::ImageFormat::{Bmp, Gif, Tga, Tiff, WebP};
        for (format, name) in [
            (Bmp, "a.bmp"),
            (Gif, "a.gif"),
            (Tga, "a.TGA"),
            (Tiff, "a.tif"),
            (WebP, "a.png"),
        ] {
            let texture = read(name, &encoded(&rgba(255), format)).unwrap();
            assert_eq!(
                (texture.format, texture.has_alpha),
                (ImageFormat::Png, false),
                "{name}"
            );
            let image = image::load_from_memory(&texture.bytes).unwrap();
            assert_eq!(image.to_rgba8(), rgba(255).to_rgba8(), "{name}");
        }
    }

    /// Builds a PNG from chunks, with valid checksums.
    fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, data) in chunks {
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(*kind);
            bytes.extend(*data);
            bytes.extend(crc(&[kind.as_slice(), *data].concat()).to_be_bytes());
        }
        bytes
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xedb8_8320
                } else {
                    crc >> 1
                }
            })
        })
    }

    fn ihdr(width: u32, height: u32, [depth, color, interlace]: [u8; 3]) -> Vec<u8> {
        [
            &width.to_be_bytes()[..],
            &height.to_be_bytes(),
            &[depth, color, 0, 0, interlace],
        ]
        .concat()
    }

    #[test]
    fn bad_images_are_refused() {
        assert_eq!(read("a.png", b"neither"), Err("texture-format"));
        assert_eq!(read("a.tga", b"neither"), Err("texture-unreadable"));
        let png = encoded(&rgba(9), image::ImageFormat::Png);
        assert_eq!(read("a.png", &png[..40]), Err("texture-unreadable"));
        let mut tiff = encoded(&rgba(9), image::ImageFormat::Tiff);
        // The value count of the first field.
        let directory = u32::from_le_bytes(*tiff[4..].first_chunk().unwrap()) as usize;
        tiff[directory + 6..directory + 10].fill(0x0F);
        assert_eq!(read("a.tif", &tiff), Err("texture-unreadable"));
        // A frame of 65535 x 65535 in a GIF of 3 x 2, by the width and height after its image
        // separator.
        let mut gif = encoded(&rgba(255), image::ImageFormat::Gif);
        let frame = gif
            .windows(9)
            .position(|w| w == [0x2C, 0, 0, 0, 0, 3, 0, 2, 0])
            .unwrap();
        gif[frame + 5..frame + 9].fill(0xFF);
        assert_eq!(read("a.gif", &gif), Err("texture-too-large"));
        assert_eq!(
            read("a.png", &vec![0; MAX_BYTES + 1]),
            Err("texture-too-large")
        );
    }

    #[test]
    fn images_have_room_together() {
        let png = encoded(&rgba(254), image::ImageFormat::Png);
        let mut room = 17;
        for left in [11, 5] {
            let texture = from_bytes(Path::new("a.png"), &png, &mut room).unwrap();
            assert_eq!((pixels(&texture), room), (6, left));
        }
        let error = from_bytes(Path::new("a.png"), &png, &mut room).unwrap_err();
        assert_eq!((error.code.id, room), ("texture-too-many-pixels", 5));
    }

    #[test]
    fn a_mean_is_looked_up_by_what_it_is_of() {
        let image =
            DynamicImage::ImageRgb8(image::RgbImage::from_pixel(2, 2, image::Rgb([128, 0, 255])));
        let texture = read("a.png", &encoded(&image, image::ImageFormat::Png)).unwrap();
        for _ in 0..2 {
            let ([red, ..], [value, ..]) =
                (mean_color(&texture).unwrap(), mean_data(&texture).unwrap());
            assert!(
                (red - 0.2158).abs() < 1e-3 && (value - 0.502).abs() < 1e-3,
                "{red} {value}"
            );
        }
    }

    #[test]
    fn files_without_an_image_say_so() {
        for (bytes, said) in [
            (&b""[..], "is empty"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
                "Git LFS",
            ),
        ] {
            for path in ["a.png", "a.jpg", "a.tga"] {
                let error =
                    from_bytes(Path::new(path), bytes, &mut { MAX_PIXELS_TOGETHER }).unwrap_err();
                assert_eq!(error.code.id, "texture-unreadable", "{path}");
                assert!(error.to_string().contains(said), "{error}");
            }
        }
    }

    #[test]
    fn formats_that_are_not_read_are_named() {
        for (bytes, name) in [
            (&b"\xabKTX 20\xbb\r\n\x1a\n\0\0"[..], "KTX2"),
            (b"\xabKTX 11\xbb\r\n\x1a\n\0\0", "KTX"),
            (b"DDS |\0\0\0", "DDS"),
            (b"\x76\x2f\x31\x01\x02", "OpenEXR"),
            (b"#?RADIANCE\n", "Radiance HDR"),
            (b"#?RGBE\n", "Radiance HDR"),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
            (
                b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- by hand --><svg/>",
                "SVG",
            ),
            (b"8BPS\0\x01", "Photoshop"),
            (b"\0\0\0\x20ftypavif", "AVIF or HEIF"),
            (b"\0\0\0\x0cjP  \r\n", "JPEG 2000"),
        ] {
            for path in ["a.png", "a.tga"] {
                let error =
                    from_bytes(Path::new(path), bytes, &mut { MAX_PIXELS_TOGETHER }).unwrap_err();
                assert_eq!(error.code.id, "texture-format", "{name}");
                assert!(error.to_string().contains(name), "{error}");
                assert!(error.help.contains("PNG"), "{}", error.help);
            }
        }
    }

    #[test]
    fn what_says_to_be_large_is_refused_before_anything_is_allocated() {
        let huge = |width, height| {
            png(&[
                (b"IHDR", &ihdr(width, height, [16, 6, 0])),
                (b"IDAT", b"\x78\x9c"),
                (b"IEND", b""),
            ])
        };
        for (width, height) in [
            (MAX_SIDE + 1, 1),
            (1, MAX_SIDE + 1),
            (MAX_SIDE, 4097),
            (u32::MAX >> 1, u32::MAX >> 1),
        ] {
            assert_eq!(
                read("a.png", &huge(width, height)),
                Err("texture-too-large"),
                "{width} x {height}"
            );
        }
        assert_eq!(read("a.png", &huge(8, 8)), Err("texture-unreadable"));
        // A GIF, a BMP and a TGA that claim 65535 x 65535 pixels in a few bytes.
        let gif = b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;";
        assert_eq!(read("a.gif", gif), Err("texture-too-large"));
        let mut bmp = encoded(&rgba(255), image::ImageFormat::Bmp);
        bmp[18..22].copy_from_slice(&65535_u32.to_le_bytes());
        bmp[22..26].copy_from_slice(&65535_u32.to_le_bytes());
        assert_eq!(read("a.bmp", &bmp), Err("texture-too-large"));
        let mut tga = encoded(&rgba(255), image::ImageFormat::Tga);
        tga[12..16].copy_from_slice(&[0xff; 4]);
        assert_eq!(read("a.tga", &tga), Err("texture-too-large"));
        let mut jpeg = encoded(
            &DynamicImage::ImageRgb8(rgba(255).into_rgb8()),
            image::ImageFormat::Jpeg,
        );
        let frame = jpeg
            .windows(2)
            .position(|marker| marker == [0xff, 0xc0])
            .unwrap();
        jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
        assert_eq!(read("a.jpg", &jpeg), Err("texture-too-large"));
    }

    #[test]
    fn sixteen_bits_become_eight() {
        let grey = DynamicImage::ImageLuma16(image::ImageBuffer::from_pixel(
            2,
            1,
            image::Luma([0x80_u16 * 257]),
        ));
        let colour = image::ImageBuffer::from_pixel(2, 1, image::Rgb([0_u16, 0xffff, 257]));
        let glass = image::ImageBuffer::from_pixel(2, 1, image::Rgba([0_u16, 0xffff, 257, 0x4040]));
        let images = [
            (grey, 1, false),
            (DynamicImage::ImageRgb16(colour), 3, false),
            (DynamicImage::ImageRgba16(glass), 4, true),
        ];
        for (image, channels, has_alpha) in images {
            for (format, name) in [
                (image::ImageFormat::Png, "a.png"),
                (image::ImageFormat::Tiff, "a.tif"),
            ] {
                let bytes = encoded(&image, format);
                let texture = read(name, &bytes).unwrap();
                assert_eq!(
                    (texture.format, texture.has_alpha),
                    (ImageFormat::Png, has_alpha)
                );
                let eight = image::load_from_memory(&texture.bytes).unwrap();
                assert_eq!(
                    (u32::from(eight.color().bits_per_pixel()), eight.to_rgba8()),
                    (8 * channels, image.to_rgba8())
                );
                assert!(is_deep(&File {
                    path: name.into(),
                    bytes: bytes.into()
                }));
            }
        }
        assert!(!is_deep(&File {
            path: "a.png".into(),
            bytes: encoded(&rgba(9), image::ImageFormat::Png).into()
        }));
        assert!(!is_deep(&File {
            path: "a.png".into(),
            bytes: Vec::new().into()
        }));
    }

    #[test]
    fn maps_have_no_loss() {
        let image = image::RgbaImage::from_fn(8, 8, |x, y| {
            image::Rgba([20 * x as u8, 20 * y as u8, 200, 30 * x as u8])
        });
        let image = DynamicImage::ImageRgba8(image);
        let kept = read("a.png", &encoded(&image, image::ImageFormat::Png)).unwrap();
        assert_eq!(map(&kept, Values::Channels).unwrap().bytes, kept.bytes);
        let jpeg = read(
            "a.jpg",
            &encoded(
                &DynamicImage::ImageRgb8(image.to_rgb8()),
                image::ImageFormat::Jpeg,
            ),
        )
        .unwrap();
        let plain = map(&jpeg, Values::Channels).unwrap();
        assert_eq!((plain.format, plain.name.as_str()), (ImageFormat::Png, "a"));
        let decoded = |texture: &Texture| image::load_from_memory(&texture.bytes).unwrap();
        assert_eq!(decoded(&plain), decoded(&jpeg));
        let value = |values| {
            decoded(&map(&kept, values).unwrap())
                .into_luma8()
                .get_pixel(3, 1)
                .0[0]
        };
        assert_eq!([Values::Alpha, Values::OneMinusAlpha].map(value), [90, 165]);
        let luminance = value(Values::Luminance);
        assert!(
            (40..46).contains(&luminance) && value(Values::OneMinusLuminance) == 255 - luminance,
            "{luminance}"
        );
        let broken = Texture {
            bytes: Vec::new().into(),
            ..Texture::clone(&jpeg)
        };
        assert_eq!(map(&broken, Values::Channels), None);
    }

    #[test]
    fn normals_are_told_from_heights() {
        let normals = |bend: f32| {
            let image = image::RgbImage::from_fn(16, 16, |x, _| {
                let angle = bend * (x as f32 / 8.0 - 1.0);
                image::Rgb(
                    [angle.sin(), 0.0, angle.cos()].map(|v| ((v + 1.0) * 127.5).round() as u8),
                )
            });
            read(
                "a.png",
                &encoded(&DynamicImage::ImageRgb8(image), image::ImageFormat::Png),
            )
            .unwrap()
        };
        assert_eq!(
            [0.0, 0.7].map(|bend| holds_normals(&normals(bend))),
            [Some(true); 2]
        );
        for grey in [0, 54, 128, 201, 255] {
            let image =
                DynamicImage::ImageLuma8(image::GrayImage::from_pixel(4, 4, image::Luma([grey])));
            let image = read("a.png", &encoded(&image, image::ImageFormat::Png)).unwrap();
            assert_eq!(holds_normals(&image), Some(false), "{grey}");
        }
        let wood = DynamicImage::ImageRgb8(image::RgbImage::from_fn(8, 8, |x, y| {
            image::Rgb([150 + x as u8, 100 + y as u8, 60])
        }));
        assert_eq!(
            holds_normals(&read("a.png", &encoded(&wood, image::ImageFormat::Png)).unwrap()),
            Some(false)
        );
    }

    #[test]
    fn the_beginning_of_normals_is_enough() {
        let (up, other) = (
            image::Rgba([128, 128, 255, 9]),
            image::Rgba([150, 100, 60, 9]),
        );
        let encoded = |of_normals: std::ops::Range<u32>, height: u32| {
            let pixel = |_, y| if of_normals.contains(&y) { up } else { other };
            let image = image::RgbaImage::from_fn(16, height, pixel);
            let image = DynamicImage::ImageRgba8(image);
            let plain = DynamicImage::ImageRgb8(image.to_rgb8());
            [image, plain].map(|image| encoded(&image, image::ImageFormat::Png))
        };
        let verdict = |bytes: &[u8]| {
            holds_normals(&Texture {
                bytes: bytes.into(),
                ..Texture::clone(&made("a".into(), Vec::new(), false))
            })
        };
        for (of_normals, height, expected) in [
            (0..2, 16, true),
            (0..1, 16, false),
            (0..15, 16, true),
            (0..3, 17, true),
            (0..2, 17, false),
            // Otherwise all rows count.
            (2..20, 20, true),
            (3..20, 20, false),
        ] {
            assert_eq!(
                encoded(of_normals.clone(), height).map(|bytes| verdict(&bytes)),
                [Some(expected); 2],
                "{of_normals:?} of {height}"
            );
        }
        for bytes in encoded(0..16, 16) {
            assert_eq!(verdict(&bytes[..40]), None);
        }
    }

    #[test]
    fn an_image_whose_alpha_means_nothing_is_not_decoded() {
        // Block type 7 is invalid in a compressed stream.
        let chunks = |kind: u8| {
            let data = [
                0x78, 1, kind, 5, 0, 0xfa, 0xff, 0, 1, 2, 3, 9, 0, 0x26, 0, 0x10,
            ];
            png(&[
                (b"IHDR", &ihdr(1, 1, [8, 6, 0])),
                (b"IDAT", &data),
                (b"IEND", b""),
            ])
        };
        let file = |bytes: &[u8]| File {
            path: "a.png".into(),
            bytes: bytes.into(),
        };
        let read =
            |bytes: &[u8], usage| inspected(&file(bytes), usage, &mut { MAX_PIXELS_TOGETHER });
        let whole = chunks(1);
        assert!(
            read(&whole, Use::Transparent).unwrap().0.has_alpha
                && !read(&whole, Use::Opaque).unwrap().0.has_alpha
        );
        assert!(
            read(&chunks(7), Use::Transparent).is_err() && read(&chunks(7), Use::Opaque).is_ok()
        );
    }

    #[test]
    fn a_damaged_png_is_told_without_decoding_it() {
        let whole = encoded(
            &DynamicImage::ImageRgb8(rgba(9).into_rgb8()),
            image::ImageFormat::Png,
        );
        let at = whole.windows(4).position(|name| name == b"IDAT").unwrap() + 6;
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert!(read("a.png", &whole).is_ok());
        assert!(
            read("a.png", &whole[..whole.len() - 1]).is_ok(),
            "what is cut off is behind the picture"
        );
        for bytes in [&damaged[..], &whole[..at], &whole[..whole.len() - 12]] {
            assert_eq!(read("a.png", bytes), Err("texture-unreadable"));
        }
    }

    #[test]
    fn an_image_is_loaded_once_for_each_use_that_needs_it() {
        let mut loaded = Loaded::default();
        let image = made("a".into(), Vec::new(), true);
        assert!(!loaded.has(&1) && loaded.get(&1, Use::Opaque).is_none());
        loaded.insert(1, Use::Transparent, Some(image.clone()));
        assert!(
            !loaded.get(&1, Use::Opaque).unwrap().unwrap().has_alpha
                && loaded.get(&1, Use::Transparent).unwrap().unwrap().has_alpha
        );
        loaded.insert(2, Use::Opaque, Some(opaque(image)));
        assert!(loaded.has(&2) && loaded.get(&2, Use::Transparent).is_none());
        // An unusable image is unusable for all purposes, and reported once.
        loaded.insert(3, Use::Opaque, None);
        assert_eq!(loaded.get(&3, Use::Transparent), Some(None));
    }

    #[test]
    fn any_png_is_kept() {
        let deflated = |rows: &[u8]| {
            // Stored, not compressed (RFC 1950, 1951).
            let (mut a, mut b) = (1_u32, 0_u32);
            for &byte in rows {
                a = (a + u32::from(byte)) % 65521;
                b = (b + a) % 65521;
            }
            let length = rows.len() as u16;
            let mut data = vec![0x78, 0x01, 0x01];
            data.extend(
                length
                    .to_le_bytes()
                    .into_iter()
                    .chain((!length).to_le_bytes()),
            );
            data.extend(rows);
            data.extend((b << 16 | a).to_be_bytes());
            data
        };
        let kept = |chunks: &[(&[u8; 4], &[u8])]| {
            let bytes = png(chunks);
            let texture = read("a.png", &bytes).unwrap();
            assert_eq!(
                (texture.format, &*texture.bytes),
                (ImageFormat::Png, &*bytes)
            );
            texture.has_alpha
        };
        let interlaced = deflated(&[0, 1, 2, 3]);
        assert!(
            !kept(&[
                (b"IHDR", &ihdr(1, 1, [8, 2, 1])),
                (b"IDAT", &interlaced),
                (b"IEND", b"")
            ]),
            "interlaced"
        );
        let (palette, pixel) = ([0_u8, 0, 0, 255, 0, 0], deflated(&[0, 0x80]));
        let header = ihdr(1, 1, [1, 3, 0]);
        assert!(
            !kept(&[
                (b"IHDR", &header),
                (b"PLTE", &palette),
                (b"IDAT", &pixel),
                (b"IEND", b"")
            ]),
            "a palette"
        );
        let transparent = [
            (b"IHDR", &header[..]),
            (b"PLTE", &palette),
            (b"tRNS", &[255, 9]),
            (b"IDAT", &pixel),
            (b"IEND", b""),
        ];
        assert!(
            kept(&transparent),
            "a palette whose second colour is not opaque"
        );
        let control = [0; 8].map(|_: i32| 0_u8);
        let one_frame = [&1_u32.to_be_bytes()[..], &0_u32.to_be_bytes()].concat();
        let frame = [
            &[0; 4][..],
            &1_u32.to_be_bytes(),
            &1_u32.to_be_bytes(),
            &control,
            &[0, 1, 0, 1],
            &[0, 0],
        ]
        .concat();
        let header = ihdr(1, 1, [8, 2, 0]);
        let animated = [
            (b"IHDR", &header[..]),
            (b"acTL", &one_frame),
            (b"fcTL", &frame),
            (b"IDAT", &interlaced),
            (b"IEND", b""),
        ];
        assert!(!kept(&animated), "an animated PNG");
    }

    #[test]
    fn the_components_of_a_jpeg_are_those_of_its_frame() {
        let jpeg = |image| encoded(&image, image::ImageFormat::Jpeg);
        assert_eq!(
            jpeg_components(&jpeg(DynamicImage::ImageRgb8(rgba(255).into_rgb8()))),
            Some(3)
        );
        assert_eq!(
            jpeg_components(&jpeg(DynamicImage::ImageLuma8(rgba(255).into_luma8()))),
            Some(1)
        );
        // A fill byte, a restart marker, a comment, and a progressive frame of four components.
        let inks = b"\xff\xd8\xff\xff\xd0\xff\xfe\0\x04hi\xff\xc2\0\x14\x08\0\x01\0\x01\x04";
        assert_eq!(jpeg_components(inks), Some(4));
        assert_eq!(jpeg_components(&inks[..20]), None);
        assert_eq!(jpeg_components(b""), None);
        assert_eq!(jpeg_components(b"\xff\xd8\xff\xfe\0\0\xff\xfe\0\0"), None);
    }

    #[test]
    fn a_tga_without_its_name_is_known_by_its_end() {
        let mut tga = encoded(&rgba(255), image::ImageFormat::Tga);
        assert_eq!(read("a.png", &tga), Err("texture-format"));
        tga.extend([0; 8]);
        tga.extend(TGA_END);
        assert_eq!(read("a.png", &tga).unwrap().format, ImageFormat::Png);
    }

    #[test]
    fn copies_of_an_image_share_memory_while_one_is_in_use() {
        let image = |value| {
            DynamicImage::ImageLuma8(image::GrayImage::from_pixel(61, 7, image::Luma([value])))
        };
        let bytes = encoded(&image(3), image::ImageFormat::Png);
        let first = read("a.png", &bytes).unwrap();
        let second = read("b.png", &bytes).unwrap();
        assert!(Arc::ptr_eq(&first.bytes, &second.bytes) && first.sha256 == sha256(&bytes));
        assert_eq!((&*first.name, &*second.name), ("a", "b"));
        let other = encoded(&image(4), image::ImageFormat::Png);
        let third = read("a.png", &other).unwrap();
        assert_eq!((&*third.bytes, &third.sha256), (&*other, &sha256(&other)));
        drop((first, second));
        assert_eq!(recent(&bytes), None);
    }

    #[test]
    fn what_becomes_the_same_png_is_the_same_texture() {
        use image::ImageFormat::{Bmp, Tga, Tiff};
        let hashes =
            [(Bmp, "b.bmp"), (Tga, "t.tga"), (Tiff, "dir/t.tiff")].map(|(format, name)| {
                read(name, &encoded(&rgba(255), format))
                    .unwrap()
                    .sha256
                    .clone()
            });
        assert!(hashes.iter().all(|hash| *hash == hashes[0]));
    }

    #[test]
    fn a_mask_is_hardly_anywhere_partly_transparent() {
        let of = |opacities: &[u8]| {
            let width = u32::try_from(opacities.len()).unwrap();
            let pixels = opacities
                .iter()
                .flat_map(|&alpha| [9, 9, 9, alpha])
                .collect();
            let image = image::RgbaImage::from_raw(width, 1, pixels).unwrap();
            let png = encoded(&DynamicImage::ImageRgba8(image), image::ImageFormat::Png);
            is_mask(&read("a.png", &png).unwrap())
        };
        assert!(of(&[0, 255, 255, 255]) && of(&[0, 3, 128, 250]));
        assert!(!of(&[128, 255, 255, 255]) && !of(&[0, 64, 128, 255]));
        // The first channel of an image without alpha.
        let grey =
            DynamicImage::ImageLuma8(image::GrayImage::from_raw(2, 1, vec![0, 255]).unwrap());
        assert!(is_mask(
            &read("a.png", &encoded(&grey, image::ImageFormat::Png)).unwrap()
        ));
    }

    #[test]
    fn the_mean_is_linear() {
        let mut image = image::RgbImage::from_pixel(2, 1, image::Rgb([255, 0, 0]));
        image.put_pixel(0, 0, image::Rgb([0, 0, 0]));
        let mut bytes = Vec::new();
        image
            .write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png)
            .unwrap();
        let half = from_bytes(Path::new("half.png"), &bytes, &mut { MAX_PIXELS_TOGETHER }).unwrap();
        assert_eq!(mean_color(&half), Some([0.5, 0.0, 0.0, 1.0]));
    }
}
