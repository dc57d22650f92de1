//! How a surface looks.

#![allow(
    clippy::indexing_slicing,
    reason = "texture coordinates have the indices 0 and 1"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::LinkId;

/// A surface: metallic-roughness, in linear colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The name in the source; may be empty and need not be unique.
    pub name: String,
    /// Linear red, green, blue and opacity, each 0 to 1. With a texture: what stands in for it
    /// where it can't be shown.
    pub base_color: [f32; 4],
    /// Whether the colours of a mesh's corners multiply the base colour and its texture. A reader
    /// that sets this has multiplied the base colour into the corners, so that it is white.
    pub shows_corner_colors: bool,
    /// The image that gives colour (and opacity, if it has alpha), sRGB.
    pub base_color_texture: Option<Arc<Texture>>,
    /// How that image lies. The image of opacity lies as it does.
    pub base_color_placement: ImagePlacement,
    /// From 0 to 1: where the opacity is at least this the surface is opaque, elsewhere nothing is
    /// seen. `None`: it is as opaque as it says.
    pub opacity_threshold: Option<f32>,
    /// 0 to 1. With a map: the factor of its values.
    pub metallic: f32,
    /// 0 to 1. With a map: the factor of its values.
    pub roughness: f32,
    /// Linear red, green, blue. With a map: the factor of its colours.
    pub emissive: [f32; 3],
    /// The index of refraction, at least 1.
    pub ior: f32,
    /// Linear red, green and blue, each 0 to 1: how much of the light from straight above it
    /// mirrors, where that is not what the index of refraction makes of it. Only of a surface that
    /// is no metal at all.
    pub specular: Option<[f32; 3]>,
    /// How much of a clear lacquer is on it, 0 to 1. With a map: the factor of its values.
    pub clearcoat: f32,
    /// The roughness of the lacquer, 0 to 1. With a map: the factor of its values.
    pub clearcoat_roughness: f32,
    /// The images of all but the base colour. Those of roughness and of metalness lie alike. They
    /// use the mesh's texture coordinates, as that of the base colour does.
    pub maps: BTreeMap<MapRole, Map>,
}

/// A choice of materials for some of what is seen, which changes nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct LookVariant {
    /// The name; unique in the robot.
    pub name: String,
    /// What shows on a part of a visual instead of its material; `None`: no material.
    pub materials: BTreeMap<VisualPart, Option<Material>>,
}

/// A part of something that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisualPart {
    /// The link that it is on.
    pub link: LinkId,
    /// Which of the link's visuals.
    pub visual: usize,
    /// Which part of its mesh; 0 of a solid.
    pub part: usize,
}

/// What an image says of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapRole {
    /// Which way the surface looks, in tangent space: red, green and blue are x, y (towards the
    /// image's upper side) and z, from -1 to 1.
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
    /// How much lacquer is on it.
    Clearcoat,
    /// The roughness of the lacquer.
    ClearcoatRoughness,
}

impl MapRole {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::Normal,
        Self::Occlusion,
        Self::Roughness,
        Self::Metallic,
        Self::Opacity,
        Self::Emissive,
        Self::Clearcoat,
        Self::ClearcoatRoughness,
    ];

    /// What it is called in a sentence: "its …".
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normals",
            Self::Occlusion => "occlusion",
            Self::Roughness => "roughness",
            Self::Metallic => "metalness",
            Self::Opacity => "opacity",
            Self::Emissive => "emission",
            Self::Clearcoat => "clear coat",
            Self::ClearcoatRoughness => "clear coat's roughness",
        }
    }

    /// Whether one channel of the image counts; otherwise red, green and blue do.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Self::Normal | Self::Emissive)
    }
}

/// An image that says something of a surface. All but those of emission hold numbers as they are,
/// without loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The image. Its alpha means nothing unless it is the channel.
    pub texture: Arc<Texture>,
    /// Which channel counts, if only one does.
    pub channel: Channel,
    /// Of normals: the factor of x and y. Of occlusion `s`: a value `v` counts as `1 + s (v - 1)`.
    /// Of others 1.
    pub strength: f32,
    /// How the image lies.
    pub placement: ImagePlacement,
}

impl Map {
    /// One channel of an image.
    pub fn of(texture: Arc<Texture>, channel: Channel) -> Self {
        Self {
            texture,
            channel,
            strength: 1.0,
            placement: ImagePlacement::default(),
        }
    }
}

/// How an image lies on texture coordinates, whose (0, 0) is its lower left: where on the image a
/// point of the surface is follows from its coordinates by the scale, then the rotation, then the
/// translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImagePlacement {
    /// How the image goes on beyond its left and right edge, and beyond its lower and upper one.
    pub wrap: [Wrap; 2],
    /// Factors.
    pub scale: [f32; 2],
    /// Radians, counter-clockwise.
    pub rotation: f64,
    /// In widths and heights of the image.
    pub translation: [f32; 2],
}

impl Default for ImagePlacement {
    fn default() -> Self {
        Self {
            wrap: [Wrap::Repeat; 2],
            scale: [1.0; 2],
            rotation: 0.0,
            translation: [0.0; 2],
        }
    }
}

impl ImagePlacement {
    /// Whether it is elsewhere than the coordinates say.
    pub fn is_moved(&self) -> bool {
        let plain = Self::default();
        (self.scale, self.rotation, self.translation)
            != (plain.scale, plain.rotation, plain.translation)
    }

    /// Where on the image coordinates are.
    pub fn apply(&self, uv: [f32; 2]) -> [f32; 2] {
        let (sin, cos) = self.rotation.sin_cos();
        let [u, v] = [0, 1].map(|k| f64::from(uv[k]) * f64::from(self.scale[k]));
        let [x, y] = self.translation.map(f64::from);
        [
            (cos * u - sin * v + x) as f32,
            (sin * u + cos * v + y) as f32,
        ]
    }
}

/// How an image goes on beyond an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// It begins anew.
    #[default]
    Repeat,
    /// It goes back.
    Mirror,
    /// Its edge goes on.
    Clamp,
}

impl Wrap {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::Repeat, Self::Mirror, Self::Clamp];
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

/// The roughness of lacquer where nothing says otherwise.
pub const PLAIN_CLEARCOAT_ROUGHNESS: f32 = 0.01;

/// The threshold of opacity of images that are mostly cut-outs, where nothing says otherwise.
const CUT_OUT: f32 = 0.5;

impl Material {
    /// A dielectric of one colour.
    pub fn plain(name: impl Into<String>, base_color: [f32; 4]) -> Self {
        Self {
            name: name.into(),
            base_color,
            shows_corner_colors: false,
            base_color_texture: None,
            base_color_placement: ImagePlacement::default(),
            opacity_threshold: None,
            metallic: 0.0,
            roughness: 0.5,
            emissive: [0.0; 3],
            ior: PLAIN_IOR,
            specular: None,
            clearcoat: 0.0,
            clearcoat_roughness: PLAIN_CLEARCOAT_ROUGHNESS,
            maps: BTreeMap::new(),
        }
    }

    /// Every image that it shows.
    pub fn textures(&self) -> impl Iterator<Item = &Arc<Texture>> {
        self.base_color_texture
            .iter()
            .chain(self.maps.values().map(|map| &map.texture))
    }

    /// Whether an image says how opaque it is.
    pub fn has_opacity_image(&self) -> bool {
        self.maps.contains_key(&MapRole::Opacity)
            || self
                .base_color_texture
                .as_ref()
                .is_some_and(|texture| texture.has_alpha)
    }

    /// For sources that don't say whether an image of opacity cuts holes or is translucent: most
    /// are cut-outs, and blending them would draw surfaces in the wrong order.
    pub fn cut_out(&mut self) {
        if self.base_color[3] >= 1.0 && self.has_opacity_image() {
            self.opacity_threshold = Some(CUT_OUT);
        }
    }

    /// How much of the light from straight above a dielectric mirrors: the part that follows from
    /// its index of refraction.
    pub fn reflectance(ior: f32) -> f32 {
        ((ior - 1.0) / (ior + 1.0)).powi(2)
    }

    /// How its images lie, for a writer that has one placement for all: as that of the base colour,
    /// or else as the first.
    pub fn placement(&self) -> ImagePlacement {
        let first = self.maps.values().next().map(|map| map.placement);
        self.base_color_texture
            .as_ref()
            .map(|_| self.base_color_placement)
            .or(first)
            .unwrap_or_default()
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

    /// What shows the colours of a mesh's corners where neither the mesh nor the robot names a
    /// material.
    pub fn of_corners(name: impl Into<String>) -> Self {
        Self {
            shows_corner_colors: true,
            ..Self::plain(name, [1.0; 4])
        }
    }

    /// The sRGB component of a linear value (IEC 61966-2-1).
    pub fn srgb(linear: f64) -> f64 {
        let linear = linear.clamp(0.0, 1.0);
        if linear <= 0.003_130_8 {
            linear * 12.92
        } else {
            1.055 * linear.powf(1.0 / 2.4) - 0.055
        }
    }

    /// The linear value of an sRGB component (IEC 61966-2-1).
    pub fn linear(srgb: f64) -> f64 {
        if srgb <= 0.040_45 {
            srgb / 12.92
        } else {
            ((srgb + 0.055) / 1.055).powf(2.4)
        }
    }
}

/// An image file, PNG or JPEG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// The stem of its file's name, for a name in the output.
    pub name: String,
    /// What `bytes` are.
    pub format: ImageFormat,
    /// The encoded image.
    pub bytes: Arc<[u8]>,
    /// SHA-256 of `bytes`, in lower-case hex: the same image is the same texture, wherever it came
    /// from.
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
