//! Materials: colours, textures and their placement.

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
    /// Linear red, green, blue and opacity, each 0 to 1. With a texture: the fallback where it
    /// can't be shown.
    pub base_color: [f32; 4],
    /// Whether the vertex colours of a mesh multiply the base colour and its texture. A reader that
    /// sets this has multiplied the base colour into the vertex colours, so the base colour is
    /// white.
    pub shows_corner_colors: bool,
    /// The image that gives colour (and opacity, if it has alpha), sRGB.
    pub base_color_texture: Option<Arc<Texture>>,
    /// Placement of the base colour texture, which also applies to the opacity map.
    pub base_color_placement: ImagePlacement,
    /// Alpha cut-off, 0 to 1: the surface is opaque where its opacity is at least this, invisible
    /// elsewhere. `None`: alpha blending.
    pub opacity_threshold: Option<f32>,
    /// 0 to 1. With a map: the factor of its values.
    pub metallic: f32,
    /// 0 to 1. With a map: the factor of its values.
    pub roughness: f32,
    /// Linear red, green, blue. With a map: the factor of its colours.
    pub emissive: [f32; 3],
    /// The index of refraction, at least 1.
    pub ior: f32,
    /// Specular reflectance at normal incidence (F0), linear red, green and blue, each 0 to 1, if
    /// it differs from the one that follows from `ior`. Only for a dielectric.
    pub specular: Option<[f32; 3]>,
    /// Clearcoat weight, 0 to 1. With a map: the factor of its values.
    pub clearcoat: f32,
    /// Clearcoat roughness, 0 to 1. With a map: the factor of its values.
    pub clearcoat_roughness: f32,
    /// All maps except the base colour. Roughness and metallic maps have the same placement. They
    /// use the same texture coordinates of the mesh as the base colour texture.
    pub maps: BTreeMap<MapRole, Map>,
}

/// A named choice of materials for parts of visuals; everything else stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct LookVariant {
    /// The name; unique in the robot.
    pub name: String,
    /// The materials that replace the present ones, by part; `None`: no material.
    pub materials: BTreeMap<VisualPart, Option<Material>>,
}

/// A part of a visual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisualPart {
    /// The link that it is on.
    pub link: LinkId,
    /// Index of the visual in the link.
    pub visual: usize,
    /// Index of the part in its mesh; 0 for a primitive.
    pub part: usize,
}

/// The material property that a map controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapRole {
    /// The surface normal in tangent space: red, green and blue are x, y (towards the top of the
    /// image) and z, from -1 to 1.
    Normal,
    /// Ambient occlusion: 1 is unoccluded.
    Occlusion,
    /// Roughness.
    Roughness,
    /// Metalness.
    Metallic,
    /// Opacity, with that of the base colour as its factor.
    Opacity,
    /// Emitted colour, sRGB.
    Emissive,
    /// Clearcoat weight.
    Clearcoat,
    /// Clearcoat roughness.
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

    /// Returns its name for use in a sentence, after "its".
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

    /// Returns whether the map has one channel; otherwise it has red, green and blue.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Self::Normal | Self::Emissive)
    }
}

/// An image that controls a material property. All but emission are linear data, not sRGB, in a
/// lossless encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The image. Its alpha is ignored unless it is the channel.
    pub texture: Arc<Texture>,
    /// The channel of a scalar map; ignored for others.
    pub channel: Channel,
    /// Strength. Normals: the factor of x and y. Occlusion `s`: a value `v` counts as `1 + s (v -
    /// 1)`. Others: 1.
    pub strength: f32,
    /// Placement of the image.
    pub placement: ImagePlacement,
}

impl Map {
    /// Creates a map of one channel of an image.
    pub fn of(texture: Arc<Texture>, channel: Channel) -> Self {
        Self {
            texture,
            channel,
            strength: 1.0,
            placement: ImagePlacement::default(),
        }
    }
}

/// The transform from texture coordinates, with (0, 0) at the lower left, to image coordinates:
/// scale, then rotation, then translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImagePlacement {
    /// Wrap modes: horizontal, then vertical.
    pub wrap: [Wrap; 2],
    /// Factors.
    pub scale: [f32; 2],
    /// Radians, counter-clockwise.
    pub rotation: f64,
    /// In multiples of the image's width and height.
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
    /// Returns whether the transform differs from the identity.
    pub fn is_moved(&self) -> bool {
        let plain = Self::default();
        (self.scale, self.rotation, self.translation)
            != (plain.scale, plain.rotation, plain.translation)
    }

    /// Transforms texture coordinates to image coordinates.
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

/// Wrap mode: continuation of an image beyond an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Repeats the image.
    #[default]
    Repeat,
    /// Repeats the image, mirrored every other time.
    Mirror,
    /// Repeats the pixels of the edge.
    Clamp,
}

impl Wrap {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::Repeat, Self::Mirror, Self::Clamp];
}

/// A channel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Red, or the grey of a greyscale image.
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

/// Default index of refraction.
pub const PLAIN_IOR: f32 = 1.5;

/// Default roughness of the clearcoat.
pub const PLAIN_CLEARCOAT_ROUGHNESS: f32 = 0.01;

/// Default alpha cut-off of images that are mostly cut-outs.
const CUT_OUT: f32 = 0.5;

impl Material {
    /// Creates a dielectric of one colour.
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

    /// Returns all its textures.
    pub fn textures(&self) -> impl Iterator<Item = &Arc<Texture>> {
        self.base_color_texture
            .iter()
            .chain(self.maps.values().map(|map| &map.texture))
    }

    /// Returns whether a texture controls its opacity.
    pub fn has_opacity_image(&self) -> bool {
        self.maps.contains_key(&MapRole::Opacity)
            || self
                .base_color_texture
                .as_ref()
                .is_some_and(|texture| texture.has_alpha)
    }

    /// Sets the default alpha cut-off if its opacity image is a mask, for sources that don't
    /// distinguish cut-outs from translucency. Blending a mask would draw surfaces in the wrong order.
    pub fn cut_out(&mut self, is_mask: impl FnOnce(&Texture) -> bool) {
        let map = self.maps.get(&MapRole::Opacity).map(|map| &map.texture);
        let of_color = self.base_color_texture.as_ref();
        let image = map.or(of_color.filter(|texture| texture.has_alpha));
        if self.base_color[3] >= 1.0 && image.is_some_and(|image| is_mask(image)) {
            self.opacity_threshold = Some(CUT_OUT);
        }
    }

    /// Returns the reflectance of a dielectric at normal incidence (F0), from its index of
    /// refraction.
    pub fn reflectance(ior: f32) -> f32 {
        ((ior - 1.0) / (ior + 1.0)).powi(2)
    }

    /// Returns one placement for all its images, for a writer that supports only one: that of the
    /// base colour, or else of the first map.
    pub fn placement(&self) -> ImagePlacement {
        let first = self.maps.values().next().map(|map| map.placement);
        self.base_color_texture
            .as_ref()
            .map(|_| self.base_color_placement)
            .or(first)
            .unwrap_or_default()
    }

    /// Returns whether it has any texture.
    pub fn has_textures(&self) -> bool {
        self.textures().next().is_some()
    }

    /// Removes the textures for which `keeps` returns false. Their factors stay.
    pub fn retain_textures(&mut self, keeps: impl Fn(&Texture) -> bool) {
        self.base_color_texture.take_if(|texture| !keeps(texture));
        self.maps.retain(|_, map| keeps(&map.texture));
    }

    /// Creates a material that shows vertex colours, for meshes for which neither the mesh nor the
    /// robot names a material.
    pub fn of_corners(name: impl Into<String>) -> Self {
        Self {
            shows_corner_colors: true,
            ..Self::plain(name, [1.0; 4])
        }
    }

    /// Converts a linear value to an sRGB component (IEC 61966-2-1).
    pub fn srgb(linear: f64) -> f64 {
        let linear = linear.clamp(0.0, 1.0);
        if linear <= 0.003_130_8 {
            linear * 12.92
        } else {
            1.055 * linear.powf(1.0 / 2.4) - 0.055
        }
    }

    /// Converts an sRGB component to a linear value (IEC 61966-2-1).
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
    /// The stem of its file's name, from which its name in the output is made.
    pub name: String,
    /// The encoding of `bytes`.
    pub format: ImageFormat,
    /// The encoded image.
    pub bytes: Arc<[u8]>,
    /// SHA-256 of `bytes`, in lower-case hex: identifies equal images from different files.
    pub sha256: String,
    /// Whether any pixel may be transparent.
    pub has_alpha: bool,
}

/// The encoding of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
}

impl ImageFormat {
    /// Returns the usual file name extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    /// Returns the media type.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}
