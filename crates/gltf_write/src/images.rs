//! Images that every glTF viewer can display: their sides are powers of two, which WebGL 1 requires
//! for repetition and mipmaps.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageReader, RgbaImage};
use rayon::prelude::*;

use super::binary::Content;
use urdf_usd_mesh::{self as mesh, is_grey, with_memory_for};
use urdf_usd_robot::{Channel, ImageFormat, Map, MapRole, Material, Texture};
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_store::{Key, Store};

/// Maximum side length that is rounded up to a power of two; longer sides are rounded down.
const LONGEST: u32 = 8192;
/// Maximum number of pixels of an image that is resized. Resizing larger ones takes seconds and a
/// gigabyte of memory, and viewers that need powers of two can't display that size anyway.
const MOST_PIXELS: u64 = 16 << 20;
/// Rows of an image that are resized together.
const BAND_ROWS: u32 = 128;
/// Quality of resized JPEGs, in percent.
const JPEG_QUALITY: u8 = 95;

/// Image of the file: a texture of the robot, or a combination of several, since glTF has fixed
/// channels.
#[derive(Clone, Copy, Debug)]
pub enum Picture<'a> {
    /// A texture, unchanged.
    Plain(&'a Arc<Texture>),
    /// Maps for the red, green and blue channels; absent channels are 1.
    Packed([Option<&'a Map>; 3]),
    /// A texture or a linear colour, with a separate opacity map.
    Cut(Result<&'a Arc<Texture>, [f32; 3]>, &'a Map),
}

/// An image that has been made.
pub struct Made {
    pub texture: Arc<Texture>,
    /// Encoded file of the image.
    pub content: Content,
}

/// The images of a material.
#[derive(Default)]
pub struct Pictures<'a> {
    pub base_color: Option<Picture<'a>>,
    /// Roughness in green, metalness in blue.
    pub surface: Option<Picture<'a>>,
    pub normal: Option<Picture<'a>>,
    /// Occlusion in red.
    pub occlusion: Option<Picture<'a>>,
    pub emissive: Option<Picture<'a>>,
    /// Clear coat factor in red.
    pub clearcoat: Option<Picture<'a>>,
    /// Clear coat roughness in green.
    pub clearcoat_roughness: Option<Picture<'a>>,
}

impl<'a> Pictures<'a> {
    /// Returns the images of `material`. Textures are repacked only if their channels differ from
    /// glTF's.
    pub fn of(material: &'a Material) -> Self {
        let map = |role| material.maps.get(&role);
        let plain = |role| map(role).map(|map| Picture::Plain(&map.texture));
        let base_color = match (&material.base_color_texture, map(MapRole::Opacity)) {
            (Some(texture), None) => Some(Picture::Plain(texture)),
            (Some(texture), Some(opacity)) => Some(Picture::Cut(Ok(texture), opacity)),
            (None, Some(opacity)) => {
                let [red, green, blue, _] = material.base_color;
                Some(Picture::Cut(Err([red, green, blue]), opacity))
            }
            (None, None) => None,
        };
        let (roughness, metallic, occlusion) = (
            map(MapRole::Roughness),
            map(MapRole::Metallic),
            map(MapRole::Occlusion),
        );
        let fits = |map: &Map, channel| {
            map.channel == channel || (map.channel != Channel::Alpha && is_grey(&map.texture))
        };
        let surface = match (roughness, metallic) {
            (None, None) => None,
            (Some(r), Some(m))
                if r.texture.sha256 == m.texture.sha256
                    && fits(r, Channel::Green)
                    && fits(m, Channel::Blue) =>
            {
                Some(Picture::Plain(&r.texture))
            }
            // A factor of zero makes the other channel irrelevant, so the texture fits unpacked.
            (Some(r), None) if material.metallic == 0.0 && fits(r, Channel::Green) => {
                Some(Picture::Plain(&r.texture))
            }
            (None, Some(m)) if material.roughness == 0.0 && fits(m, Channel::Blue) => {
                Some(Picture::Plain(&m.texture))
            }
            _ => Some(Picture::Packed([occlusion, roughness, metallic])),
        };
        let occlusion = match (occlusion, surface) {
            (None, _) => None,
            (Some(_), Some(packed @ Picture::Packed(_))) => Some(packed),
            (Some(map), _) if fits(map, Channel::Red) => Some(Picture::Plain(&map.texture)),
            (occlusion, _) => Some(Picture::Packed([occlusion, None, None])),
        };
        let [clearcoat, clearcoat_roughness] = [
            (MapRole::Clearcoat, Channel::Red),
            (MapRole::ClearcoatRoughness, Channel::Green),
        ]
        .map(|(role, channel)| {
            let map = map(role)?;
            Some(match (fits(map, channel), channel) {
                (true, _) => Picture::Plain(&map.texture),
                (false, Channel::Red) => Picture::Packed([Some(map), None, None]),
                (false, _) => Picture::Packed([None, Some(map), None]),
            })
        });
        let (normal, emissive) = (plain(MapRole::Normal), plain(MapRole::Emissive));
        Self {
            base_color,
            surface,
            normal,
            occlusion,
            emissive,
            clearcoat,
            clearcoat_roughness,
        }
    }

    /// Returns all images.
    pub fn all(self) -> impl Iterator<Item = Picture<'a>> {
        let lacquer = [self.clearcoat, self.clearcoat_roughness];
        [
            self.base_color,
            self.surface,
            self.normal,
            self.occlusion,
            self.emissive,
        ]
        .into_iter()
        .chain(lacquer)
        .flatten()
    }
}

impl<'a> Picture<'a> {
    /// Returns the name of the first texture.
    pub fn name(&self) -> &'a str {
        let of = |map: &'a Map| map.texture.name.as_str();
        match *self {
            Self::Plain(texture) | Self::Cut(Ok(texture), _) => &texture.name,
            Self::Packed([occlusion, roughness, metallic]) => {
                roughness.or(metallic).or(occlusion).map_or("", of)
            }
            Self::Cut(Err(_), opacity) => of(opacity),
        }
    }

    /// Returns a key that identifies the image.
    pub fn key(&self) -> String {
        let of = |map: &Map| format!("{} {:?}", map.texture.sha256, map.channel);
        match self {
            Self::Plain(texture) => texture.sha256.clone(),
            Self::Packed(maps) => format!("packed {:?}", maps.map(|map| map.map(of))),
            Self::Cut(Ok(texture), opacity) => format!(
                "cut {} {} {}",
                texture.sha256,
                texture.has_alpha,
                of(opacity)
            ),
            Self::Cut(Err(color), opacity) => {
                format!("cut {:?} {}", color.map(f32::to_bits), of(opacity))
            }
        }
    }

    /// Returns whether any pixel may be transparent.
    pub fn has_alpha(&self) -> bool {
        match self {
            Self::Plain(texture) => texture.has_alpha,
            Self::Packed(_) => false,
            Self::Cut(..) => true,
        }
    }

    /// Returns the number of pixels to be combined; zero for an unchanged texture.
    pub fn pixels(&self) -> u64 {
        match self.size() {
            Some((width, height)) if !matches!(self, Self::Plain(_)) => {
                u64::from(width) * u64::from(height)
            }
            _ => 0,
        }
    }

    fn textures(&self) -> Vec<&'a Arc<Texture>> {
        match *self {
            Self::Plain(texture) => vec![texture],
            Self::Packed(maps) => maps.into_iter().flatten().map(|map| &map.texture).collect(),
            Self::Cut(color, opacity) => color.ok().into_iter().chain([&opacity.texture]).collect(),
        }
    }

    /// Returns the largest width and height of the textures.
    fn size(&self) -> Option<(u32, u32)> {
        let sizes = self
            .textures()
            .into_iter()
            .map(|texture| reader(texture).into_dimensions().ok());
        let size = sizes.reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))));
        size.flatten()
    }

    /// Returns the image as a texture, from `store` if it is cached. Returns `None` if one of its
    /// source textures can't be decoded.
    pub fn texture(&self, store: &Store) -> Option<Arc<Texture>> {
        if let Self::Plain(texture) = *self {
            return Some(texture.clone());
        }
        let key = Key::shared("packed image 2")
            .and(self.key().as_bytes())
            .key();
        let png = store.load(&key).or_else(|| {
            let png = Bytes::from(self.together()?);
            store.put(&key, || png.clone());
            Some(png)
        });
        Some(mesh::made(
            self.name().to_owned(),
            png?.into(),
            self.has_alpha(),
        ))
    }

    /// Combines the textures into a PNG. Smaller ones are scaled up.
    fn together(&self) -> Option<Vec<u8>> {
        let (width, height) = self.size()?;
        with_memory_for(u64::from(width) * u64::from(height), || {
            let scaled = |texture: &Texture| {
                let image = reader(texture).decode().ok()?;
                let fits = (image.width(), image.height()) == (width, height);
                let image = if fits {
                    image
                } else {
                    resized(&image, Size { width, height })?
                };
                Some(image.into_rgba8())
            };
            let values = |map: &Map| {
                let channel = Channel::ALL
                    .iter()
                    .position(|channel| *channel == map.channel)?;
                Some(
                    scaled(&map.texture)?
                        .pixels()
                        .filter_map(|pixel| pixel.0.get(channel).copied())
                        .collect::<Vec<u8>>(),
                )
            };
            let image = match *self {
                Self::Plain(_) => return None,
                Self::Packed(maps) => {
                    let mut image =
                        image::RgbImage::from_pixel(width, height, image::Rgb([u8::MAX; 3]));
                    for (channel, map) in maps.into_iter().enumerate() {
                        let Some(map) = map else { continue };
                        for (pixel, value) in image.pixels_mut().zip(values(map)?) {
                            if let Some(part) = pixel.0.get_mut(channel) {
                                *part = value;
                            }
                        }
                    }
                    DynamicImage::ImageRgb8(image)
                }
                Self::Cut(color, opacity) => {
                    let mut image = match color {
                        Ok(texture) => scaled(texture)?,
                        Err(color) => {
                            // glTF reads images of the base colour as sRGB.
                            let [red, green, blue] =
                                color.map(|x| (Material::srgb(f64::from(x)) * 255.0).round() as u8);
                            RgbaImage::from_pixel(
                                width,
                                height,
                                image::Rgba([red, green, blue, u8::MAX]),
                            )
                        }
                    };
                    let keeps_alpha = color.is_ok_and(|texture| texture.has_alpha);
                    for (pixel, value) in image.pixels_mut().zip(values(opacity)?) {
                        let own = if keeps_alpha {
                            u32::from(pixel.0[3])
                        } else {
                            255
                        };
                        pixel.0[3] = ((own * u32::from(value) + 127) / 255) as u8;
                    }
                    DynamicImage::ImageRgba8(image)
                }
            };
            encode(&image, ImageFormat::Png).ok()
        })
    }

    /// Returns the image for the file, from `images` or `store` if one of them has it.
    pub fn made(&self, images: &Images, store: &Store) -> Option<Made> {
        let texture = self.texture(store)?;
        let bytes = images
            .0
            .get(&texture.sha256)
            .cloned()
            .unwrap_or_else(|| fitted(&texture, store));
        Some(Made {
            content: Content::new(bytes),
            texture,
        })
    }
}

/// Converted images of the meshes' materials. They are made ahead of writing, because the
/// conversion is slow and needs nothing else of the robot.
#[derive(Clone, Debug, Default)]
pub struct Images(HashMap<String, Bytes>);

impl Images {
    /// Converts the images of `materials`, using `store` as a cache; fewer if the time limit is
    /// exceeded.
    pub fn of<'a>(
        materials: impl Iterator<Item = &'a Material>,
        store: &Store,
        limit: &TimeLimit,
    ) -> Self {
        let mut distinct: HashMap<&str, &Texture> = HashMap::new();
        for picture in materials.flat_map(|material| Pictures::of(material).all()) {
            if let Picture::Plain(texture) = picture {
                distinct.entry(&texture.sha256).or_insert(texture);
            }
        }
        let textures: Vec<&Texture> = distinct
            .into_values()
            .filter(|texture| fitting_size(texture).is_some())
            .collect();
        let in_time =
            |texture: &&&Texture| !limit.is_over(|| format!("fitting the image {}", texture.name));
        let made = |texture: &&Texture| (texture.sha256.clone(), fitted(texture, store));
        Self(textures.par_iter().filter(in_time).map(made).collect())
    }
}

/// Returns the bytes of `texture`'s file with sides that are powers of two, in the same format.
/// Images that fit already or can't be decoded are returned unchanged: the writer does not validate
/// images.
pub fn fitted(texture: &Texture, store: &Store) -> Bytes {
    let Some(size) = fitting_size(texture) else {
        return as_is(texture);
    };
    let key = Key::shared("fitted image 2")
        .and(texture.sha256.as_bytes())
        .key();
    let known = store.load(&key);
    known
        .or_else(|| {
            let made = Bytes::from(scaled(texture, size)?);
            store.put(&key, || made.clone());
            Some(made)
        })
        .unwrap_or_else(|| as_is(texture))
}

/// Returns the bytes of a texture's file, without copying them.
pub fn as_is(texture: &Texture) -> Bytes {
    Bytes::from_owner(texture.bytes.clone())
}

/// Size of an image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    width: u32,
    height: u32,
}

impl Size {
    fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

impl From<(u32, u32)> for Size {
    fn from((width, height): (u32, u32)) -> Self {
        Self { width, height }
    }
}

/// Returns the size that an image should have, if it differs from its own.
fn fitting_size(texture: &Texture) -> Option<Size> {
    let own = Size::from(reader(texture).into_dimensions().ok()?);
    let size = Size {
        width: side(own.width),
        height: side(own.height),
    };
    (size != own && own.pixels() <= MOST_PIXELS).then_some(size)
}

fn scaled(texture: &Texture, size: Size) -> Option<Vec<u8>> {
    with_memory_for(size.pixels(), || {
        let image = reader(texture).decode().ok()?;
        let resized = resized(&image, size)?;
        // Encoding takes memory, too.
        drop(image);
        encode(&resized, texture.format).ok()
    })
}

/// Resizes an image. Channels are scaled independently: alpha may hold any data, so colours must
/// not be premultiplied by it.
fn resized(image: &DynamicImage, size: Size) -> Option<DynamicImage> {
    let Size { width, height } = size;
    match image {
        DynamicImage::ImageRgba8(from) => resized_rgba(from, size).map(DynamicImage::ImageRgba8),
        // A pixel type costs a megabyte and a half of machine code and half a minute of compilation,
        // so RGB is resized with a channel that is not used.
        DynamicImage::ImageRgb8(_) => {
            let resized = DynamicImage::ImageRgba8(resized_rgba(&image.to_rgba8(), size)?);
            Some(DynamicImage::ImageRgb8(resized.into_rgb8()))
        }
        // Other pixel types are rare.
        _ => Some(image.resize_exact(width, height, image::imageops::FilterType::Triangle)),
    }
}

fn resized_rgba(image: &RgbaImage, to: Size) -> Option<RgbaImage> {
    let from = TypedImageRef::<U8x4>::from_buffer(image.width(), image.height(), image).ok()?;
    let how = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
        .use_alpha(false);
    let mut resizer = Resizer::new();
    let mut made = RgbaImage::new(to.width, to.height);
    let height = f64::from(image.height());
    let scale = height / f64::from(to.height);
    let mut top = 0;
    // In bands: the resizer holds the part of the source that it needs in the new width.
    for band in made.chunks_mut(to.width as usize * 4 * BAND_ROWS as usize) {
        let rows = BAND_ROWS.min(to.height - top);
        let start = f64::from(top) * scale;
        let length = (f64::from(rows) * scale).min(height - start);
        let how = how.crop(0.0, start, f64::from(image.width()), length);
        let mut band = TypedImage::<U8x4>::from_buffer(to.width, rows, band).ok()?;
        resizer.resize_typed(&from, &mut band, &how).ok()?;
        top += rows;
    }
    Some(made)
}

fn reader(texture: &Texture) -> ImageReader<Cursor<&[u8]>> {
    let format = match texture.format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
    };
    ImageReader::with_format(Cursor::new(&*texture.bytes), format)
}

fn encode(image: &DynamicImage, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
    match format {
        ImageFormat::Png => mesh::png(image),
        ImageFormat::Jpeg => {
            let mut bytes = Vec::new();
            image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
            Ok(bytes)
        }
    }
}

/// Returns the power of two to which a side is resized.
fn side(length: u32) -> u32 {
    if length >= LONGEST {
        1 << length.ilog2()
    } else {
        length.next_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(width: u32, height: u32, format: ImageFormat) -> Texture {
        let bytes = encode(&DynamicImage::new_rgb8(width, height), format)
            .unwrap()
            .into();
        Texture {
            name: String::new(),
            format,
            bytes,
            sha256: String::new(),
            has_alpha: false,
        }
    }

    /// Returns a ramp of grey or colours.
    fn ramp(side: u32, is_grey: bool) -> Arc<Texture> {
        let value = |x: u32| (x * 255 / (side - 1)) as u8;
        let image = if is_grey {
            DynamicImage::ImageLuma8(image::GrayImage::from_fn(side, side, |x, _| {
                image::Luma([value(x)])
            }))
        } else {
            DynamicImage::ImageRgb8(image::RgbImage::from_fn(side, side, |x, y| {
                image::Rgb([value(x), value(y), 40])
            }))
        };
        mesh::made(
            "ramp".into(),
            encode(&image, ImageFormat::Png).unwrap(),
            false,
        )
    }

    fn material(maps: &[(MapRole, &Arc<Texture>, Channel)]) -> Material {
        let maps = maps
            .iter()
            .map(|(role, texture, channel)| (*role, Map::of(Arc::clone(texture), *channel)))
            .collect();
        Material {
            maps,
            metallic: 1.0,
            roughness: 1.0,
            ..Material::plain("m", [0.0, 1.0, 0.214_041_14, 1.0])
        }
    }

    fn pixels(picture: Option<Picture<'_>>) -> RgbaImage {
        image::load_from_memory(&picture.unwrap().texture(&Store::none()).unwrap().bytes)
            .unwrap()
            .into_rgba8()
    }

    #[test]
    fn bands_join_without_seams() {
        for [from, to] in [
            [(37, 300), (64, 512)],
            [(50, 700), (32, 512)],
            [(50, 256), (64, 256)],
        ] {
            let image = RgbaImage::from_fn(from.0, from.1, |x, y| {
                image::Rgba([x * 7, y * 3, x * y, x + y].map(|value| value as u8))
            });
            let made = resized_rgba(&image, to.into()).unwrap();
            let how = ResizeOptions::new()
                .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
                .use_alpha(false);
            let mut expected = RgbaImage::new(to.0, to.1);
            let source = TypedImageRef::<U8x4>::from_buffer(from.0, from.1, &image).unwrap();
            let mut whole = TypedImage::<U8x4>::from_buffer(to.0, to.1, &mut expected).unwrap();
            Resizer::new()
                .resize_typed(&source, &mut whole, &how)
                .unwrap();
            assert!(made == expected, "{from:?}");
        }
    }

    #[test]
    fn channels_are_packed_only_where_they_must_be() {
        use Channel::{Blue, Green, Red};
        use MapRole::{Metallic, Occlusion, Roughness};
        let (grey, colors) = (ramp(4, true), ramp(8, false));
        let is_plain = |picture: Option<Picture<'_>>| matches!(picture, Some(Picture::Plain(_)));
        let packed = material(&[
            (Occlusion, &colors, Red),
            (Roughness, &colors, Green),
            (Metallic, &colors, Blue),
        ]);
        let pictures = Pictures::of(&packed);
        assert!(
            is_plain(pictures.surface)
                && is_plain(pictures.occlusion)
                && pictures.base_color.is_none()
        );
        let alone = Material {
            metallic: 0.0,
            ..material(&[(Roughness, &grey, Red)])
        };
        assert!(
            is_plain(Pictures::of(&alone).surface),
            "what is grey is in green, too"
        );
        let apart = material(&[
            (Occlusion, &colors, Green),
            (Roughness, &grey, Red),
            (Metallic, &colors, Red),
        ]);
        let pictures = Pictures::of(&apart);
        assert_eq!(
            pictures.surface.unwrap().key(),
            pictures.occlusion.unwrap().key()
        );
        let image = pixels(pictures.surface);
        assert_eq!(
            (image.dimensions(), image.get_pixel(7, 0).0),
            ((8, 8), [0, 255, 255, 255])
        );
        let [occlusion, roughness, metallic, _] = image.get_pixel(2, 3).0;
        assert_eq!((occlusion, metallic), (109, 72));
        assert!((50..90).contains(&roughness), "{roughness}");
        let one = material(&[(Metallic, &grey, Red)]);
        assert_eq!(
            pixels(Pictures::of(&one).surface).get_pixel(1, 0).0,
            [255, 255, 85, 255],
            "what has no map is one"
        );
    }

    #[test]
    fn opacity_goes_into_the_colours_alpha() {
        let (grey, colors) = (ramp(4, true), ramp(8, false));
        let mut leaf = material(&[(MapRole::Opacity, &grey, Channel::Red)]);
        let picture = Pictures::of(&leaf).base_color;
        assert!(picture.unwrap().has_alpha());
        assert_eq!(
            pixels(picture).get_pixel(2, 1).0,
            [0, 255, 128, 170],
            "the colour is sRGB"
        );
        leaf.base_color_texture = Some(colors);
        let image = pixels(Pictures::of(&leaf).base_color);
        assert_eq!(
            (image.dimensions(), image.get_pixel(7, 2).0),
            ((8, 8), [255, 72, 40, 255])
        );
        leaf.maps.get_mut(&MapRole::Opacity).unwrap().texture = Arc::new(Texture {
            bytes: Vec::new().into(),
            ..Texture::clone(&grey)
        });
        assert!(
            Pictures::of(&leaf)
                .base_color
                .unwrap()
                .made(&Images::default(), &Store::none())
                .is_none()
        );
    }

    #[test]
    fn sides_become_powers_of_two() {
        for (format, name) in [
            (ImageFormat::Png, image::ImageFormat::Png),
            (ImageFormat::Jpeg, image::ImageFormat::Jpeg),
        ] {
            let odd = texture(85, 64, format);
            let image =
                image::load_from_memory_with_format(&fitted(&odd, &Store::none()), name).unwrap();
            assert_eq!((image.width(), image.height()), (128, 64));
        }
        assert_eq!(
            [1, 2, 3, 5000, 8192, 8193, 20_000].map(side),
            [1, 2, 4, 8192, 8192, 8192, 16384]
        );
    }

    #[test]
    fn images_are_made_ahead_where_they_do_not_fit() {
        let named = |name: &str, width| {
            Arc::new(Texture {
                sha256: name.to_owned(),
                ..texture(width, 64, ImageFormat::Png)
            })
        };
        let (odd, even) = (named("odd", 85), named("even", 128));
        let materials = [&odd, &even, &odd]
            .map(|texture| material(&[(MapRole::Normal, texture, Channel::Red)]));
        let images = Images::of(materials.iter(), &Store::none(), &TimeLimit::default());
        assert_eq!(
            images.0,
            HashMap::from([("odd".to_owned(), fitted(&odd, &Store::none()))])
        );
        let over = TimeLimit::new(Some(std::time::Duration::ZERO), Arc::default());
        assert!(
            Images::of(materials.iter(), &Store::none(), &over)
                .0
                .is_empty()
        );
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
        let broken = Texture {
            bytes: Vec::from(*b"no image").into(),
            ..even
        };
        assert_eq!(&*fitted(&broken, &Store::none()), b"no image");
    }
}
