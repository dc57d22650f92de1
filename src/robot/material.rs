//! How a surface looks.

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
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// Linear red, green, blue.
    pub emissive: [f32; 3],
}

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
        }
    }

    /// What shows the colours of a mesh's corners where neither the mesh nor the robot names a material.
    pub fn of_corners(name: impl Into<String>) -> Self {
        Self { shows_corner_colors: true, ..Self::plain(name, [1.0; 4]) }
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
