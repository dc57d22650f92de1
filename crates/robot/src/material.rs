//! How a surface looks.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A surface: metallic-roughness, in linear colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The name in the source; may be empty and need not be unique.
    pub name: String,
    /// Linear red, green, blue and opacity, each 0 to 1. With a texture: what stands in for it where it can't be shown.
    pub base_color: [f32; 4],
    /// Whether the colours of a mesh's corners multiply the base colour and its texture, as glTF's COLOR_0 does. A reader that sets
    /// this has multiplied the base colour into the corners, so that it is white.
    pub shows_corner_colors: bool,
    /// The image that gives colour (and opacity, if it has alpha), sRGB.
    pub base_color_texture: Option<Arc<Texture>>,
    /// 0 to 1. With a map: the factor of its values.
    pub metallic: f32,
    /// 0 to 1. With a map: the factor of its values.
    pub roughness: f32,
    /// Linear red, green, blue. With a map: the factor of its colours.
    pub emissive: [f32; 3],
    /// The index of refraction, at least 1.
    pub ior: f32,
    /// The images of all but the base colour. They lie on the mesh as that of the base colour does.
    pub maps: BTreeMap<MapRole, Map>,
}

/// What an image says of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapRole {
    /// Which way the surface looks, in tangent space: red, green and blue are x, y (towards the image's upper side) and z, from -1 to 1.
    Normal,
    /// How much of the light from all sides comes to it: 1 is all.
    Occlusion,
    /// Its roughness.
    Roughness,
    /// Its metalness.
    Metallic,
    /// Its opacity, beside that of the base colour.
    Opacity,
    /// The colour that it emits, sRGB.
    Emissive,
}

impl MapRole {
    /// All of them, in their order.
    pub const ALL: [Self; 6] = [Self::Normal, Self::Occlusion, Self::Roughness, Self::Metallic, Self::Opacity, Self::Emissive];

    /// What it is called in a sentence: "its …".
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normals",
            Self::Occlusion => "occlusion",
            Self::Roughness => "roughness",
            Self::Metallic => "metalness",
            Self::Opacity => "opacity",
            Self::Emissive => "emission",
        }
    }

    /// Whether one channel of the image counts; otherwise red, green and blue do.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Self::Normal | Self::Emissive)
    }
}

/// An image that says something of a surface. All but those of emission hold numbers as they are, without loss (REP-158 §3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The image. Its alpha means nothing unless it is the channel.
    pub texture: Arc<Texture>,
    /// Which channel counts, if only one does.
    pub channel: Channel,
    /// Of normals: the factor of x and y. Of occlusion `s`: a value `v` counts as `1 + s (v - 1)`. Of others 1.
    pub strength: f32,
}

impl Map {
    /// One channel of an image.
    pub fn of(texture: Arc<Texture>, channel: Channel) -> Self {
        Self { texture, channel, strength: 1.0 }
    }
}

/// A channel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Red, or the grey of an image without colours.
    Red,
    /// Green.
    Green,
    /// Blue.
    Blue,
    /// Opacity.
    Alpha,
}

impl Channel {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Red, Self::Green, Self::Blue, Self::Alpha];
}

/// The index of refraction where nothing says otherwise.
pub const PLAIN_IOR: f32 = 1.5;

impl Material {
    /// A dielectric of one colour.
    pub fn plain(name: impl Into<String>, base_color: [f32; 4]) -> Self {
        Self {
            name: name.into(),
            base_color,
            shows_corner_colors: false,
            base_color_texture: None,
            metallic: 0.0,
            roughness: 0.5,
            emissive: [0.0; 3],
            ior: PLAIN_IOR,
            maps: BTreeMap::new(),
        }
    }

    /// Every image that it shows.
    pub fn textures(&self) -> impl Iterator<Item = &Arc<Texture>> {
        self.base_color_texture.iter().chain(self.maps.values().map(|map| &map.texture))
    }

    /// Whether it shows any image.
    pub fn has_textures(&self) -> bool {
        self.textures().next().is_some()
    }

    /// Takes away the images that are not to be kept. What they are the factor of stays.
    pub fn retain_textures(&mut self, keeps: impl Fn(&Texture) -> bool) {
        self.base_color_texture.take_if(|texture| !keeps(texture));
        self.maps.retain(|_, map| keeps(&map.texture));
    }

    /// What shows the colours of a mesh's corners where neither the mesh nor the robot names a material.
    pub fn of_corners(name: impl Into<String>) -> Self {
        Self { shows_corner_colors: true, ..Self::plain(name, [1.0; 4]) }
    }

    /// The sRGB component of a linear value (IEC 61966-2-1).
    pub fn srgb(linear: f64) -> f64 {
        let linear = linear.clamp(0.0, 1.0);
        if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
    }

    /// The linear value of an sRGB component (IEC 61966-2-1).
    pub fn linear(srgb: f64) -> f64 {
        if srgb <= 0.040_45 { srgb / 12.92 } else { ((srgb + 0.055) / 1.055).powf(2.4) }
    }
}

/// An image file in one of the two formats that USD and glTF share (REP-158 §3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// The stem of its file's name, for a name in the output.
    pub name: String,
    /// What `bytes` are.
    pub format: ImageFormat,
    /// The encoded image.
    pub bytes: Arc<[u8]>,
    /// SHA-256 of `bytes`, in lower-case hex: the same image is the same texture, wherever it came from.
    pub sha256: String,
    /// Whether any of it may be transparent.
    pub has_alpha: bool,
}

/// How a texture is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
}

impl ImageFormat {
    /// The usual ending of a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    /// The media type.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}
