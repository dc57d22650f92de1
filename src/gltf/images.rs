//! Images as every glTF viewer can use them: with sides that are powers of two, which repetition and mipmaps need in WebGL 1.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType as RowFilter, PngEncoder};
use image::imageops::FilterType;
use image::{DynamicImage, ImageReader};

use crate::mesh::with_memory_for;
use crate::robot::{ImageFormat, Texture};
use crate::store::{Key, Store};

/// Sides up to this length are rounded up to a power of two, longer ones down.
const LONGEST: u32 = 8192;
/// Images of more pixels than this stay as they are: scaling takes seconds and a gigabyte, and the viewers that need powers of two take
/// none of that size.
const MOST_PIXELS: u64 = 16 << 20;
/// Of a JPEG that had to be scaled, in percent.
const JPEG_QUALITY: u8 = 95;

/// The bytes of `texture`'s file, in its format. Images that fit, and those that can't be read, stay as they are: whether an
/// image is whole is not for a writer to judge.
pub fn fitted(texture: &Texture, store: &Store) -> Vec<u8> {
    let Some(size) = fitting_size(texture) else { return texture.bytes.to_vec() };
    let key = Key::of("fitted image").and(texture.sha256.as_bytes()).key();
    let known = store.get(&key, |bytes| Some(bytes.to_vec()));
    known
        .or_else(|| {
            let made = scaled(texture, size)?;
            store.put(&key, || made.clone());
            Some(made)
        })
        .unwrap_or_else(|| texture.bytes.to_vec())
}

/// The size that an image should have, if it is not its own.
fn fitting_size(texture: &Texture) -> Option<(u32, u32)> {
    let (width, height) = reader(texture).into_dimensions().ok()?;
    let size = (side(width), side(height));
    let pixels = u64::from(width) * u64::from(height);
    (size != (width, height) && pixels <= MOST_PIXELS).then_some(size)
}

fn scaled(texture: &Texture, (width, height): (u32, u32)) -> Option<Vec<u8>> {
    with_memory_for(u64::from(width) * u64::from(height), || {
        let image = reader(texture).decode().ok()?.resize_exact(width, height, FilterType::Triangle);
        encode(&image, texture.format).ok()
    })
}

fn reader(texture: &Texture) -> ImageReader<Cursor<&[u8]>> {
    let format = match texture.format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
    };
    ImageReader::with_format(Cursor::new(&*texture.bytes), format)
}

fn encode(image: &DynamicImage, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Png => {
            let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, RowFilter::Adaptive);
            image.write_with_encoder(encoder)?;
        }
        ImageFormat::Jpeg => image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?,
    }
    Ok(bytes)
}

/// The power of two that a side of this length becomes.
fn side(length: u32) -> u32 {
    if length >= LONGEST { 1 << length.ilog2() } else { length.next_power_of_two() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(width: u32, height: u32, format: ImageFormat) -> Texture {
        let bytes = encode(&DynamicImage::new_rgb8(width, height), format).unwrap().into();
        Texture { name: String::new(), format, bytes, sha256: String::new(), has_alpha: false }
    }

    #[test]
    fn sides_become_powers_of_two() {
        for (format, name) in [(ImageFormat::Png, image::ImageFormat::Png), (ImageFormat::Jpeg, image::ImageFormat::Jpeg)] {
            let odd = texture(85, 64, format);
            let image = image::load_from_memory_with_format(&fitted(&odd, &Store::none()), name).unwrap();
            assert_eq!((image.width(), image.height()), (128, 64));
        }
        assert_eq!([1, 2, 3, 5000, 8192, 8193, 20_000].map(side), [1, 2, 4, 8192, 8192, 8192, 16384]);
    }

    #[test]
    fn large_images_stay() {
        for (side, stays) in [(4097, true), (1000, false)] {
            let odd = texture(side, 4096, ImageFormat::Jpeg);
            assert_eq!(fitting_size(&odd).is_none(), stays, "{side}");
        }
    }

    #[test]
    fn what_fits_or_can_not_be_read_stays() {
        let even = texture(4, 2, ImageFormat::Png);
        assert_eq!(fitted(&even, &Store::none()), &*even.bytes);
        let broken = Texture { bytes: Vec::from(*b"no image").into(), ..even };
        assert_eq!(&*fitted(&broken, &Store::none()), b"no image");
    }
}
