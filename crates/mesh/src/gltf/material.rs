//! Materials of a glTF file, their textures, and how the colours of vertices go with them.

use std::sync::Arc;

use gltf::json::material::AlphaMode;
use gltf::json::validation::Checked;
use gltf::json::{self, Index};
use serde_json::Value;

use super::{Reader, decode_data, has_extension, plainly};
use crate::assembly::NONE;
use crate::maps::{self, Laid};
use crate::texture::{self, Values};
use crate::{Error, MAX_IOR, codes, stem};
use urdf_usd_robot::{Channel, Map, MapRole, Material, PLAIN_IOR, Texture};

/// Extensions with images in formats that are not read, the formats, and the command of glTF Transform that makes PNG of them.
const FOREIGN_IMAGES: &[(&str, &str, Option<&str>)] = &[
    ("KHR_texture_basisu", "KTX2", Some("ktxdecompress")),
    ("EXT_texture_avif", "AVIF", Some("png")),
    ("MSFT_texture_dds", "DDS", None),
];

const TRANSFORM: &str = "KHR_texture_transform";
const SPECULAR_GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";

/// Extensions of materials that are read, or that say nothing but how a material is made.
const READ: &[&str] = &["KHR_materials_emissive_strength", "KHR_materials_ior", "KHR_materials_unlit", SPECULAR_GLOSSINESS];

/// A material as it is used.
pub(super) struct Look {
    material: Material,
    /// Its index in the assembly: as it is, and for primitives whose vertices have colours.
    plain: Option<u32>,
    colored: Option<u32>,
    opacity: Opacity,
    /// The `TEXCOORD_n` that its texture uses, and how it lies.
    pub texcoord: u32,
    pub placement: Option<Placement>,
}

impl Look {
    /// The material as it shows on vertices with or without colours of their own, which then have its colour in them.
    pub fn shown(&self, has_colors: bool) -> Material {
        let mut material = self.material.clone();
        if has_colors {
            (material.base_color, material.shows_corner_colors) = ([1.0; 4], true);
        } else {
            material.base_color[3] = self.opacity.seen(material.base_color[3], material.base_color_texture.is_some());
        }
        material
    }
}

/// What an opacity does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Opacity {
    /// Nothing.
    Opaque,
    /// It is what it is.
    Blend,
    /// From the value on all is opaque, below all is transparent.
    Mask(f32),
}

impl Opacity {
    fn of(material: &json::Material) -> Self {
        match material.alpha_mode {
            Checked::Valid(AlphaMode::Blend) => Self::Blend,
            Checked::Valid(AlphaMode::Mask) => Self::Mask(material.alpha_cutoff.map_or(0.5, |cutoff| cutoff.0)),
            _ => Self::Opaque,
        }
    }

    /// The opacity that is seen. That of a mask's image lies in the image, so that what multiplies it stays.
    fn seen(self, opacity: f32, has_image: bool) -> f32 {
        match self {
            Self::Opaque => 1.0,
            Self::Mask(cutoff) if !has_image => f32::from(u8::from(opacity >= cutoff)),
            Self::Blend | Self::Mask(_) => opacity,
        }
    }
}

/// KHR_texture_transform.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placement {
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

impl<'a> Reader<'a, '_, '_> {
    /// The material of a primitive, read once: an index into `looks`.
    pub(super) fn look(&mut self, index: Option<Index<json::Material>>) -> Option<usize> {
        let index = index?.value();
        let Some(material) = self.root.materials.get(index) else {
            self.source.report(&codes::MATERIAL, format!("there is no material {index}"), "");
            return None;
        };
        if let Some(known) = self.look_index[index] {
            return Some(known);
        }
        let look = self.read_material(material);
        self.looks.push(look);
        self.look_index[index] = Some(self.looks.len() - 1);
        self.look_index[index]
    }

    /// The material of a primitive in the assembly, and the colours of its vertices with the base colour in them.
    pub(super) fn dressed(&mut self, look: Option<usize>, mut colors: Vec<[f32; 4]>) -> (u32, Vec<[f32; 4]>) {
        let Some(look) = look.map(|look| &mut self.looks[look]) else {
            // What has no material is opaque.
            colors.iter_mut().for_each(|color| color[3] = 1.0);
            return (NONE, colors);
        };
        let has_image = look.material.base_color_texture.is_some();
        if look.opacity == Opacity::Opaque {
            colors.iter_mut().for_each(|color| color[3] = 1.0);
        }
        if colors.is_empty() || (!self.keeps_white && colors.iter().all(|color| *color == [1.0; 4])) {
            let material = look.shown(false);
            return (*look.plain.get_or_insert_with(|| self.assembly.material(material)), Vec::new());
        }
        for color in &mut colors {
            *color = std::array::from_fn(|i| color[i] * look.material.base_color[i]);
            color[3] = look.opacity.seen(color[3], has_image);
        }
        let material = look.shown(true);
        (*look.colored.get_or_insert_with(|| self.assembly.material(material)), colors)
    }

    fn read_material(&mut self, material: &'a json::Material) -> Look {
        let name = material.name.clone().unwrap_or_default();
        let pbr = &material.pbr_metallic_roughness;
        let extension = |name: &str| material.extensions.as_ref().and_then(|e| e.others.get(name));
        let mut factor = pbr.base_color_factor.0;
        let mut info = pbr.base_color_texture.as_ref().map(TextureInfo::of);
        let (mut metallic, mut roughness) = (pbr.metallic_factor.0, pbr.roughness_factor.0);
        let mut maps = Vec::new();
        let mut simplified = Vec::new();
        // The older model of materials, which takes precedence where it is given.
        if let Some(old) = extension(SPECULAR_GLOSSINESS) {
            factor = numbers(old.get("diffuseFactor")).unwrap_or([1.0; 4]);
            info = old.get("diffuseTexture").and_then(TextureInfo::of_json).or(info);
            metallic = 0.0;
            roughness = 1.0 - old.get("glossinessFactor").and_then(Value::as_f64).unwrap_or(1.0) as f32;
            if old.get("specularGlossinessTexture").is_some() {
                simplified.push("has an image of its specular colour and gloss, which no output has a place for".to_owned());
            }
        } else if let Some(of_both) = &pbr.metallic_roughness_texture {
            maps.push((MapRole::Metallic, TextureInfo::of(of_both), Channel::Blue, 1.0));
            maps.push((MapRole::Roughness, TextureInfo::of(of_both), Channel::Green, 1.0));
        }
        let unlit = extension("KHR_materials_unlit").is_some();
        if unlit {
            (metallic, roughness) = (0.0, 1.0);
            simplified.push("is to be shown without light; it is shown as a matt one".to_owned());
        }
        let opacity = Opacity::of(material);
        if opacity == Opacity::Opaque {
            factor[3] = 1.0;
        }
        let factor = factor.map(|x| unit(x, 1.0));
        let image = info.as_ref().and_then(|info| self.image(info.index));
        if image.is_some() && factor[..3] != [1.0; 3] {
            simplified.push("multiplies its texture with a colour".to_owned());
        }
        let strength = extension("KHR_materials_emissive_strength").and_then(|e| e.get("emissiveStrength")?.as_f64());
        let emissive = if unlit { [0.0; 3] } else { material.emissive_factor.0 };
        let emissive =
            emissive.map(|x| x * strength.unwrap_or(1.0) as f32).map(|x| if x.is_finite() { x.max(0.0) } else { 0.0 });
        if let Some(of_normals) = &material.normal_texture {
            maps.push((MapRole::Normal, TextureInfo::of_normals(of_normals), Channel::Red, of_normals.scale));
        }
        if let Some(of_occlusion) = &material.occlusion_texture {
            let strength = unit(of_occlusion.strength.0, 1.0);
            maps.push((MapRole::Occlusion, TextureInfo::of_occlusion(of_occlusion), Channel::Red, strength));
        }
        maps.extend(material.emissive_texture.as_ref().map(|of| (MapRole::Emissive, TextureInfo::of(of), Channel::Red, 1.0)));
        let ior = extension("KHR_materials_ior").and_then(|e| e.get("ior")?.as_f64()).unwrap_or(f64::from(PLAIN_IOR));
        if !(1.0..=MAX_IOR).contains(&ior) {
            simplified.push(format!("has an index of refraction of {ior}, which no surface has"));
        }
        let extensions = material.extensions.iter().flat_map(|extensions| extensions.others.keys());
        let unknown: Vec<&str> = extensions.map(String::as_str).filter(|name| !READ.contains(name)).collect();
        if !unknown.is_empty() {
            simplified.push(format!("says more by extensions that no output has a place for: {}", unknown.join(", ")));
        }
        for what in simplified {
            self.source.report(&codes::SIMPLIFIED, format!("the material `{name}` {what}"), "");
        }
        let mut result = Material::plain(name, factor);
        let see_through = opacity != Opacity::Opaque;
        result.base_color_texture = image.map(|image| if see_through { image } else { texture::opaque(image) });
        result.metallic = unit(metallic, 1.0);
        result.roughness = unit(roughness, 1.0);
        result.emissive = emissive;
        if (1.0..=MAX_IOR).contains(&ior) {
            result.ior = ior as f32;
        }
        let mut laid = Laid::new(info.map(TextureInfo::lies));
        for (role, info, channel, strength) in maps.into_iter().filter(|_| !unlit) {
            let Some(image) = self.image(info.index) else { continue };
            let map = match role {
                MapRole::Emissive => Some(Map::of(texture::opaque(image), channel)),
                _ => self.source.map(&image, Values::Channels, channel),
            };
            let Some(map) = map else { continue };
            let strength = if strength.is_finite() { strength } else { 1.0 };
            maps::add(&mut result, role, Map { strength, ..map }, laid.fits(info.lies()), self.source);
        }
        let (texcoord, placement) = laid.into_inner().unwrap_or_default();
        Look { material: result, plain: None, colored: None, opacity, texcoord, placement }
    }

    fn image(&mut self, index: usize) -> Option<Arc<Texture>> {
        if let Some(known) = self.images.get(&index) {
            return known.clone();
        }
        let image = self.read_image(index).unwrap_or_else(|error| {
            self.source.report(error.code, error.message, &error.help);
            None
        });
        self.images.insert(index, image.clone());
        image
    }

    /// The image of a texture. `None` if it can't be used, which has been reported.
    fn read_image(&mut self, texture: usize) -> Result<Option<Arc<Texture>>, Error> {
        let missing = |message: String| Error::new(&codes::TEXTURE_MISSING, message).help("use PNG or JPEG images");
        let Some(texture) = self.root.textures.get(texture) else {
            return Err(missing(format!("there is no texture {texture}")));
        };
        let others = texture.extensions.as_ref().map(|e| &e.others);
        let webp = others.and_then(|others| others.get("EXT_texture_webp")?.get("source")?.as_u64());
        let index = usize::try_from(webp.unwrap_or(texture.source.value() as u64)).unwrap_or(usize::MAX);
        let Some(image) = self.root.images.get(index) else {
            let foreign = FOREIGN_IMAGES.iter().find(|(name, ..)| has_extension(others, name));
            return Err(foreign.map_or_else(
                || missing(format!("there is no image {index}")),
                |(name, format, command)| {
                    let help =
                        command.map_or_else(|| "convert it to PNG or JPEG".into(), |command| plainly(self.source, command));
                    Error::new(&codes::TEXTURE_FORMAT, format!("an image is {format} ({name}), which is not read")).help(help)
                },
            ));
        };
        let name = image.name.clone().unwrap_or_else(|| format!("{}_image{index}", stem(&self.source.file.path)));
        match (&image.uri, image.buffer_view) {
            (Some(uri), _) => Ok(match uri.strip_prefix("data:") {
                Some(data) => {
                    let bytes = decode_data(data).unwrap_or_default();
                    self.source.embedded_texture(&name, &bytes)
                }
                None => self.source.texture(uri),
            }),
            (None, Some(view)) => {
                let bytes = self.buffers.view(view.value(), &mut self.assembly, self.source);
                let bytes = bytes.map_err(|error| missing(format!("image {index} can't be had: {error}")))?;
                let bytes = bytes.ok_or_else(|| missing(format!("image {index} lies outside of its buffer")))?.to_vec();
                Ok(self.source.embedded_texture(&name, &bytes))
            }
            (None, None) => Err(missing(format!("image {index} has no data"))),
        }
    }
}

/// What a material says about a texture.
struct TextureInfo {
    index: usize,
    texcoord: u32,
    placement: Option<Placement>,
}

impl TextureInfo {
    fn of(info: &json::texture::Info) -> Self {
        let transform = info.extensions.as_ref().and_then(|e| e.others.get(TRANSFORM));
        Self { index: info.index.value(), texcoord: info.tex_coord, placement: None }.placed(transform)
    }

    fn of_normals(info: &json::material::NormalTexture) -> Self {
        let transform = info.extensions.as_ref().and_then(|e| e.others.get(TRANSFORM));
        Self { index: info.index.value(), texcoord: info.tex_coord, placement: None }.placed(transform)
    }

    fn of_occlusion(info: &json::material::OcclusionTexture) -> Self {
        let transform = info.extensions.as_ref().and_then(|e| e.others.get(TRANSFORM));
        Self { index: info.index.value(), texcoord: info.tex_coord, placement: None }.placed(transform)
    }

    /// The `TEXCOORD_n` that it uses, and how it lies.
    fn lies(self) -> (u32, Option<Placement>) {
        (self.texcoord, self.placement)
    }

    fn of_json(info: &Value) -> Option<Self> {
        let index = usize::try_from(info.get("index")?.as_u64()?).ok()?;
        let texcoord = info.get("texCoord").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let transform = info.get("extensions").and_then(|e| e.get(TRANSFORM));
        Some(Self { index, texcoord, placement: None }.placed(transform))
    }

    fn placed(mut self, transform: Option<&Value>) -> Self {
        let Some(transform) = transform else { return self };
        self.texcoord =
            transform.get("texCoord").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(self.texcoord);
        self.placement = Some(Placement {
            offset: numbers(transform.get("offset")).unwrap_or([0.0; 2]),
            rotation: transform.get("rotation").and_then(Value::as_f64).unwrap_or(0.0) as f32,
            scale: numbers(transform.get("scale")).unwrap_or([1.0; 2]),
        });
        self
    }
}

/// Texture coordinates with (0, 0) at the lower left, from those with (0, 0) at the upper left.
pub(super) fn lower_left([u, v]: [f32; 2], placement: Option<&Placement>) -> [f32; 2] {
    let [u, v] = placement.map_or([u, v], |Placement { offset, rotation, scale }| {
        let (sin, cos) = rotation.sin_cos();
        let (u, v) = (u * scale[0], v * scale[1]);
        [cos * u + sin * v + offset[0], cos * v - sin * u + offset[1]]
    });
    [u, 1.0 - v]
}

/// N finite numbers in a JSON array.
fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f32; N]> {
    let list: Vec<f32> =
        value?.as_array()?.iter().filter_map(|n| n.as_f64().map(|n| n as f32)).filter(|n| n.is_finite()).collect();
    list.try_into().ok()
}

/// Between 0 and 1; `otherwise` if it is no number.
fn unit(value: f32, otherwise: f32) -> f32 {
    if value.is_nan() { otherwise } else { value.clamp(0.0, 1.0) }
}
