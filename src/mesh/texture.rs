//! Images: PNG and JPEG as they are, other formats as PNG.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use image::{ColorType, DynamicImage, ImageDecoder, ImageReader, Limits};
use sha2::{Digest, Sha256};

use super::{Error, codes, stem, tiff};
use crate::resolve::File;
use crate::robot::{ImageFormat, Material, Texture};

/// The largest file of an image.
const MAX_BYTES: usize = 64 << 20;

/// The most pixels on a side.
const MAX_SIDE: u32 = 16_384;

/// The most pixels.
const MAX_PIXELS: u64 = 64 << 20;

/// Reads an image: PNG and JPEG are kept byte for byte, TIFF, BMP, TGA, GIF (its first picture) and WebP become PNG. The content
/// decides, not the name; only TGA, which has no mark of its own, must be named so.
///
/// An alpha channel counts only if some pixel is not opaque.
///
/// # Errors
/// `texture-format`, `texture-unreadable`, `texture-too-large`.
pub fn texture(file: &File) -> Result<Arc<Texture>, Error> {
    if file.bytes.len() > MAX_BYTES {
        return Err(too_large(format!("it has {} bytes", file.bytes.len())));
    }
    let (format, converted, has_alpha) = inspect(&file.path, &file.bytes)?;
    let bytes = converted.map_or_else(|| file.bytes.clone(), Arc::from);
    Ok(Arc::new(Texture { name: stem(&file.path), format, sha256: sha256(&bytes), bytes, has_alpha }))
}

/// The same for an image inside another file; `path` gives its name.
pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Arc<Texture>, Error> {
    texture(&File { path: path.to_owned(), bytes: bytes.into() })
}

/// The same image for a material to which its alpha means nothing.
pub(super) fn opaque(texture: Arc<Texture>) -> Arc<Texture> {
    if texture.has_alpha { Arc::new(Texture { has_alpha: false, ..Texture::clone(&texture) }) } else { texture }
}

/// The format, the bytes if they are others than the image's own, and whether anything is transparent.
fn inspect(path: &Path, bytes: &[u8]) -> Result<(ImageFormat, Option<Vec<u8>>, bool), Error> {
    let guessed = image::guess_format(bytes).ok().or_else(|| {
        let tga = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tga"));
        tga.then_some(image::ImageFormat::Tga)
    });
    let kept = match guessed {
        Some(image::ImageFormat::Png) => Some(ImageFormat::Png),
        Some(image::ImageFormat::Jpeg) => Some(ImageFormat::Jpeg),
        Some(
            image::ImageFormat::Tiff
            | image::ImageFormat::Bmp
            | image::ImageFormat::Tga
            | image::ImageFormat::Gif
            | image::ImageFormat::WebP,
        ) => None,
        _ => {
            return Err(Error::new(&codes::TEXTURE_FORMAT, "its format is not read").help("convert it to PNG or JPEG"));
        }
    };
    if guessed == Some(image::ImageFormat::Tiff) && !tiff::fields_fit(bytes) {
        return Err(
            Error::new(&codes::TEXTURE_UNREADABLE, "one of its fields is longer than the file").help("export the image again")
        );
    }
    let mut reader = ImageReader::new(Cursor::new(bytes));
    if let Some(format) = guessed {
        reader.set_format(format);
    }
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    limits.max_alloc = Some(MAX_PIXELS * 16);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(too_large(format!("it has {width} x {height} pixels")));
    }
    match kept {
        Some(format) if !has_alpha_channel(decoder.color_type()) => Ok((format, None, false)),
        Some(format) => {
            let image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
            Ok((format, None, is_transparent(&image)))
        }
        None => {
            let image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
            let transparent = is_transparent(&image);
            let image = match (transparent, image) {
                (true, image) => DynamicImage::ImageRgba8(image.into_rgba8()),
                (false, image @ (DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_))) => image,
                (false, image) => DynamicImage::ImageRgb8(image.into_rgb8()),
            };
            let mut png = Vec::new();
            image.write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png).map_err(unreadable)?;
            Ok((ImageFormat::Png, Some(png), transparent))
        }
    }
}

fn has_alpha_channel(color: ColorType) -> bool {
    color.has_alpha()
}

fn is_transparent(image: &DynamicImage) -> bool {
    match image {
        DynamicImage::ImageRgba8(image) => image.pixels().any(|p| p.0[3] != u8::MAX),
        DynamicImage::ImageLumaA8(image) => image.pixels().any(|p| p.0[1] != u8::MAX),
        image if image.color().has_alpha() => image.to_rgba16().pixels().any(|p| p.0[3] != u16::MAX),
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
            Error::new(&codes::TEXTURE_FORMAT, error.to_string()).help("convert it to an 8-bit PNG or JPEG")
        }
        error => Error::new(&codes::TEXTURE_UNREADABLE, error.to_string()).help("export the image again"),
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The mean of all pixels, linear with opacity: what stands in for a picture that cannot be placed. `None` if it can't be read.
pub fn mean_color(texture: &Texture) -> Option<[f32; 4]> {
    mean(texture, Material::linear)
}

/// The same for an image that holds no colours: the mean of its values as they are.
pub(super) fn mean_data(texture: &Texture) -> Option<[f32; 4]> {
    mean(texture, |value| value)
}

fn mean(texture: &Texture, decode: fn(f64) -> f64) -> Option<[f32; 4]> {
    let image = image::load_from_memory(&texture.bytes).ok()?.into_rgba8();
    let linear: [f64; 256] = std::array::from_fn(|value| decode(value as f64 / 255.0));
    let mut sum = [0.0; 4];
    for pixel in image.pixels() {
        let [red, green, blue, alpha] = pixel.0;
        for (sum, channel) in sum.iter_mut().zip([red, green, blue]) {
            *sum += linear[usize::from(channel)];
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
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Arc<Texture>, &'static str> {
        from_bytes(Path::new(name), bytes).map_err(|e| e.code.id)
    }

    fn rgba(alpha: u8) -> DynamicImage {
        DynamicImage::ImageRgba8(image::RgbaImage::from_fn(3, 2, |x, y| image::Rgba([x as u8, y as u8, 7, alpha])))
    }

    #[test]
    fn png_and_jpeg_are_kept_whatever_their_name() {
        let png = encoded(&rgba(255), image::ImageFormat::Png);
        let texture = read("dir/wood.jpg", &png).unwrap();
        assert_eq!((texture.name.as_str(), texture.format, texture.has_alpha), ("wood", ImageFormat::Png, false));
        assert_eq!(&*texture.bytes, png);
        assert_eq!(texture.sha256.len(), 64);
        let jpeg = encoded(&DynamicImage::ImageRgb8(rgba(255).into_rgb8()), image::ImageFormat::Jpeg);
        assert_eq!(read("x", &jpeg).unwrap().format, ImageFormat::Jpeg);
    }

    #[test]
    fn alpha_counts_where_something_is_transparent() {
        assert!(read("a.png", &encoded(&rgba(254), image::ImageFormat::Png)).unwrap().has_alpha);
        assert!(!read("a.png", &encoded(&rgba(255), image::ImageFormat::Png)).unwrap().has_alpha);
    }

    #[test]
    fn other_formats_become_png() {
        use image::ImageFormat::{Bmp, Gif, Tga, Tiff, WebP};
        for (format, name) in [(Bmp, "a.bmp"), (Gif, "a.gif"), (Tga, "a.TGA"), (Tiff, "a.tif"), (WebP, "a.png")] {
            let texture = read(name, &encoded(&rgba(255), format)).unwrap();
            assert_eq!((texture.format, texture.has_alpha), (ImageFormat::Png, false), "{name}");
            let image = image::load_from_memory(&texture.bytes).unwrap();
            assert_eq!(image.to_rgba8(), rgba(255).to_rgba8(), "{name}");
        }
    }

    #[test]
    fn bad_images_are_refused() {
        assert_eq!(read("a.png", b"<svg/>"), Err("texture-format"));
        assert_eq!(read("a.png", b""), Err("texture-format"));
        let png = encoded(&rgba(9), image::ImageFormat::Png);
        assert_eq!(read("a.png", &png[..40]), Err("texture-unreadable"));
        let mut tiff = encoded(&rgba(9), image::ImageFormat::Tiff);
        // The number of values of the first field.
        let directory = u32::from_le_bytes(*tiff[4..].first_chunk().unwrap()) as usize;
        tiff[directory + 6..directory + 10].fill(0x0F);
        assert_eq!(read("a.tif", &tiff), Err("texture-unreadable"));
        let mut wide = png.clone();
        wide[16..20].copy_from_slice(&20_000_u32.to_be_bytes());
        assert!(read("a.png", &wide).is_err());
        assert_eq!(read("a.png", &vec![0; MAX_BYTES + 1]), Err("texture-too-large"));
    }

    #[test]
    fn the_mean_is_linear() {
        let mut image = image::RgbImage::from_pixel(2, 1, image::Rgb([255, 0, 0]));
        image.put_pixel(0, 0, image::Rgb([0, 0, 0]));
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
        let half = from_bytes(Path::new("half.png"), &bytes).unwrap();
        assert_eq!(mean_color(&half), Some([0.5, 0.0, 0.0, 1.0]));
    }
}
