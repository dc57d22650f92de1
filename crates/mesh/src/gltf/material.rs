//! Materials of a glTF file, their textures, and how vertex colours combine with them.

use std::sync::Arc;

use gltf::json::material::AlphaMode;
use gltf::json::validation::Checked;
use gltf::json::{self, Index};
use serde_json::Value;

use super::{Reader, decode_data, has_extension, plainly};
use crate::assembly::NONE;
use crate::maps::{self, Laid};
use crate::texture::{Use, Values};
use crate::{Error, MAX_IOR, codes, stem};
use urdf_usd_robot::{Channel, ImagePlacement, Map, MapRole, Material, PLAIN_IOR, Texture, Wrap};

/// Extensions with images in unsupported formats, the formats, and the glTF Transform command that
/// converts them to PNG.
const FOREIGN_IMAGES: &[(&str, &str, Option<&str>)] = &[
    ("KHR_texture_basisu", "KTX2", Some("ktxdecompress")),
    ("EXT_texture_avif", "AVIF", Some("png")),
    ("MSFT_texture_dds", "DDS", None),
];

const TRANSFORM: &str = "KHR_texture_transform";
const CLEARCOAT: &str = "KHR_materials_clearcoat";
const SPECULAR_GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";

/// Supported extensions of materials, and those that only describe how a material was authored.
const READ: &[&str] = &[
    CLEARCOAT,
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_specular",
    "KHR_materials_unlit",
    SPECULAR_GLOSSINESS,
];

/// A material and the way it is used.
pub(super) struct Look {
    material: Material,
    /// The indices in the assembly of the material as it is, and of its variant for primitives with
    /// vertex colours.
    plain: Option<u32>,
    colored: Option<u32>,
    opacity: Opacity,
    /// The `TEXCOORD_n` of its textures.
    pub texcoord: u32,
    /// The placement of its textures, unless the material holds it itself.
    pub placement: ImagePlacement,
}

impl Look {
    /// Returns the material for vertices with or without colours. The colours include the
    /// material's base colour.
    pub fn shown(&self, has_colors: bool) -> Material {
        let mut material = self.material.clone();
        if has_colors {
            (material.base_color, material.shows_corner_colors) = ([1.0; 4], true);
        } else {
            material.base_color[3] = self.opacity.seen(
                material.base_color[3],
                material.base_color_texture.is_some(),
            );
        }
        material
    }
}

/// The alpha mode of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Opacity {
    /// Alpha is ignored.
    Opaque,
    /// Alpha is opacity.
    Blend,
    /// Opaque at or above the cutoff, transparent below.
    Mask(f32),
}

impl Opacity {
    fn of(material: &json::Material) -> Self {
        match material.alpha_mode {
            Checked::Valid(AlphaMode::Blend) => Self::Blend,
            Checked::Valid(AlphaMode::Mask) => {
                Self::Mask(material.alpha_cutoff.map_or(0.5, |cutoff| cutoff.0))
            }
            _ => Self::Opaque,
        }
    }

    /// Returns the effective opacity. With a mask image the cutoff is applied to the image, so the
    /// factor is kept.
    fn seen(self, opacity: f32, has_image: bool) -> f32 {
        match self {
            Self::Opaque => 1.0,
            Self::Mask(cutoff) if !has_image => f32::from(u8::from(opacity >= cutoff)),
            Self::Blend | Self::Mask(_) => opacity,
        }
    }
}

impl<'a> Reader<'a, '_, '_> {
    /// Reads the material of a primitive once; returns its index in `looks`.
    pub(super) fn look(&mut self, index: Option<Index<json::Material>>) -> Option<usize> {
        let index = index?.value();
        let Some(material) = self.root.materials.get(index) else {
            self.source.report(
                &codes::MATERIAL,
                format!("there is no material {index}"),
                "",
            );
            return None;
        };
        if let Some(known) = self.look_index.get(index).copied().flatten() {
            return Some(known);
        }
        let look = self.read_material(material);
        self.looks.push(look);
        let new = self.looks.len() - 1;
        if let Some(known) = self.look_index.get_mut(index) {
            *known = Some(new);
        }
        Some(new)
    }

    /// Returns the index of a primitive's material in the assembly, and the colours of its vertices
    /// multiplied by the base colour.
    pub(super) fn dressed(
        &mut self,
        look: Option<usize>,
        mut colors: Vec<[f32; 4]>,
    ) -> (u32, Vec<[f32; 4]>) {
        let Some(look) = look.and_then(|look| self.looks.get_mut(look)) else {
            // A primitive without a material is opaque.
            colors.iter_mut().for_each(|color| color[3] = 1.0);
            return (NONE, colors);
        };
        let has_image = look.material.base_color_texture.is_some();
        if look.opacity == Opacity::Opaque {
            colors.iter_mut().for_each(|color| color[3] = 1.0);
        }
        // White colours have no effect; without them the mesh needs no colour array.
        if colors.is_empty() || (!self.is_kept && colors.iter().all(|color| *color == [1.0; 4])) {
            let material = look.shown(false);
            return (
                *look
                    .plain
                    .get_or_insert_with(|| self.assembly.material(material)),
                Vec::new(),
            );
        }
        for color in &mut colors {
            for (part, factor) in color.iter_mut().zip(look.material.base_color) {
                *part *= factor;
            }
            color[3] = look.opacity.seen(color[3], has_image);
        }
        let material = look.shown(true);
        (
            *look
                .colored
                .get_or_insert_with(|| self.assembly.material(material)),
            colors,
        )
    }

    fn read_material(&mut self, material: &'a json::Material) -> Look {
        let name = material.name.clone().unwrap_or_default();
        let mut lost = Vec::new();
        let base = self.base(material, &mut lost);
        let opacity = Opacity::of(material);
        let mut factor = base.factor;
        if opacity == Opacity::Opaque {
            factor[3] = 1.0;
        }
        let factor = factor.map(|x| unit(x, 1.0));
        let usage = if opacity == Opacity::Opaque {
            Use::Opaque
        } else {
            Use::Transparent
        };
        let info = base.info;
        let image = info.as_ref().and_then(|info| self.image(info.index, usage));
        let has_image = image.is_some();
        if has_image && factor[..3] != [1.0; 3] {
            lost.push("multiplies its texture with a colour".to_owned());
        }
        let mut maps = base.maps;
        maps.extend(self.other_maps(material));
        let mut result = Material::plain(name, factor);
        result.base_color_texture = image;
        result.metallic = unit(base.metallic, 1.0);
        result.roughness = unit(base.roughness, 1.0);
        result.emissive = emissive(material);
        add_lacquer(material, &mut result, &mut lost);
        add_refraction(material, base.metallic > 0.0, &mut result, &mut lost);
        for what in lost {
            let message = format!("the material `{}` {what}", result.name);
            self.source.report(&codes::SIMPLIFIED, message, "");
        }
        if let Opacity::Mask(cutoff) = opacity
            && has_image
        {
            result.opacity_threshold = Some(unit(cutoff, 0.5));
        }
        if is_unlit(material) {
            maps.clear();
        }
        let (texcoord, placement) = self.add_maps(&mut result, info, maps);
        Look {
            material: result,
            plain: None,
            colored: None,
            opacity,
            texcoord,
            placement,
        }
    }

    /// Reads the colour and surface by either material model. Adds what can't be represented to
    /// `lost`.
    fn base(&self, material: &json::Material, lost: &mut Vec<String>) -> Base {
        let pbr = &material.pbr_metallic_roughness;
        let mut base = Base {
            factor: pbr.base_color_factor.0,
            info: pbr.base_color_texture.as_ref().map(|info| self.info(info)),
            metallic: pbr.metallic_factor.0,
            roughness: pbr.roughness_factor.0,
            maps: Vec::new(),
        };
        // The older specular-glossiness model takes precedence where it is given.
        if let Some(old) = extension(material, SPECULAR_GLOSSINESS) {
            let glossiness = old.get("glossinessFactor").and_then(Value::as_f64);
            base.factor = numbers(old.get("diffuseFactor")).unwrap_or([1.0; 4]);
            base.info = old
                .get("diffuseTexture")
                .and_then(|info| self.info_of_json(info))
                .or(base.info);
            base.metallic = 0.0;
            base.roughness = 1.0 - glossiness.unwrap_or(1.0) as f32;
            if old.get("specularGlossinessTexture").is_some() {
                lost.push("has an image of its specular colour and gloss, which no output has a place for".to_owned());
            }
        } else if let Some(of_both) = &pbr.metallic_roughness_texture {
            base.maps = [
                (MapRole::Metallic, Channel::Blue),
                (MapRole::Roughness, Channel::Green),
            ]
            .map(|(role, channel)| SurfaceMap {
                role,
                info: self.info(of_both),
                channel,
                strength: 1.0,
            })
            .into();
        }
        if is_unlit(material) {
            (base.metallic, base.roughness) = (0.0, 1.0);
            lost.push("is to be shown without light; it is shown as a matt one".to_owned());
        }
        base
    }

    /// Returns the maps that are not of the base colour, metalness and roughness.
    fn other_maps(&self, material: &json::Material) -> Vec<SurfaceMap> {
        let mut maps = Vec::new();
        if let Some(of_normals) = &material.normal_texture {
            maps.push(SurfaceMap {
                role: MapRole::Normal,
                info: self.info_of(
                    of_normals.index,
                    of_normals.tex_coord,
                    of_normals.extensions.as_ref().map(|e| &e.others),
                ),
                channel: Channel::Red,
                strength: of_normals.scale,
            });
        }
        if let Some(of_occlusion) = &material.occlusion_texture {
            maps.push(SurfaceMap {
                role: MapRole::Occlusion,
                info: self.info_of(
                    of_occlusion.index,
                    of_occlusion.tex_coord,
                    of_occlusion.extensions.as_ref().map(|e| &e.others),
                ),
                channel: Channel::Red,
                strength: unit(of_occlusion.strength.0, 1.0),
            });
        }
        let plain = |role, info, channel| SurfaceMap {
            role,
            info,
            channel,
            strength: 1.0,
        };
        let of_light = material.emissive_texture.as_ref();
        maps.extend(of_light.map(|of| plain(MapRole::Emissive, self.info(of), Channel::Red)));
        for (role, texture, channel) in [
            (MapRole::Clearcoat, "clearcoatTexture", Channel::Red),
            (
                MapRole::ClearcoatRoughness,
                "clearcoatRoughnessTexture",
                Channel::Green,
            ),
        ] {
            let info = extension(material, CLEARCOAT)
                .and_then(|lacquer| lacquer.get(texture))
                .and_then(|info| self.info_of_json(info));
            maps.extend(info.map(|info| plain(role, info, channel)));
        }
        maps
    }

    /// Loads the images of `maps` into a material whose colour has the texture `info`. Returns the
    /// texture coordinates that they use, and their placement unless the material holds it itself.
    fn add_maps(
        &mut self,
        material: &mut Material,
        info: Option<TextureInfo>,
        maps: Vec<SurfaceMap>,
    ) -> (u32, ImagePlacement) {
        material.base_color_placement =
            info.as_ref().map(|info| info.placement).unwrap_or_default();
        // Placements baked into the texture coordinates have to be equal.
        let is_kept = self.is_kept;
        let lies = |info: &TextureInfo| {
            let place = if is_kept {
                ImagePlacement::default()
            } else {
                info.placement
            };
            (
                info.texcoord,
                ImagePlacement {
                    // Wrapping modes don't change the coordinates.
                    wrap: Default::default(),
                    ..place
                },
            )
        };
        let mut laid = Laid::new(info.as_ref().map(lies));
        for wanted in maps {
            let Some(image) = self.image(wanted.info.index, Use::Opaque) else {
                continue;
            };
            let map = match wanted.role {
                MapRole::Emissive => Some(Map::of(image, wanted.channel)),
                _ => self.source.map(&image, Values::Channels, wanted.channel),
            };
            let Some(map) = map else { continue };
            let map = Map {
                strength: Some(wanted.strength)
                    .filter(|strength| strength.is_finite())
                    .unwrap_or(1.0),
                placement: wanted.info.placement,
                ..map
            };
            let fits = laid.fits(lies(&wanted.info));
            maps::add(material, wanted.role, map, fits, self.source);
        }
        if !is_kept {
            let of_maps = material.maps.values_mut().map(|map| &mut map.placement);
            for placement in of_maps.chain([&mut material.base_color_placement]) {
                *placement = ImagePlacement {
                    wrap: placement.wrap,
                    ..ImagePlacement::default()
                };
            }
        }
        laid.into_inner().unwrap_or_default()
    }

    fn image(&mut self, index: usize, usage: Use) -> Option<Arc<Texture>> {
        if let Some(known) = self.images.get(&index, usage) {
            return known;
        }
        let image = self.read_image(index, usage).unwrap_or_else(|error| {
            self.source.report(error.code, error.message, &error.help);
            None
        });
        self.images.insert(index, usage, image.clone());
        image
    }

    /// Loads the image of a texture. `None` if it is unusable, which has been reported.
    fn read_image(&mut self, texture: usize, usage: Use) -> Result<Option<Arc<Texture>>, Error> {
        let is_counted = self.images.has(&texture);
        let missing = |message: String| {
            Error::new(&codes::TEXTURE_MISSING, message).help("use PNG or JPEG images")
        };
        let Some(texture) = self.root.textures.get(texture) else {
            return Err(missing(format!("there is no texture {texture}")));
        };
        let others = texture.extensions.as_ref().map(|e| &e.others);
        // The extension's image takes precedence over the plain one, which is its fallback.
        let webp =
            others.and_then(|others| others.get("EXT_texture_webp")?.get("source")?.as_u64());
        let index =
            usize::try_from(webp.unwrap_or(texture.source.value() as u64)).unwrap_or(usize::MAX);
        let Some(image) = self.root.images.get(index) else {
            let foreign = FOREIGN_IMAGES
                .iter()
                .find(|(name, ..)| has_extension(others, name));
            return Err(foreign.map_or_else(
                || missing(format!("there is no image {index}")),
                |(name, format, command)| {
                    let help = command.map_or_else(
                        || "convert it to PNG or JPEG".into(),
                        |command| plainly(self.source, command),
                    );
                    Error::new(
                        &codes::TEXTURE_FORMAT,
                        format!("an image is {format} ({name}), which is not read"),
                    )
                    .help(help)
                },
            ));
        };
        let name = image
            .name
            .clone()
            .unwrap_or_else(|| format!("{}_image{index}", stem(self.source.path)));
        match (&image.uri, image.buffer_view) {
            (Some(uri), _) => Ok(match uri.strip_prefix("data:") {
                Some(data) => {
                    let bytes = decode_data(data).unwrap_or_default();
                    self.source
                        .embedded_texture(&name, &bytes, usage, is_counted)
                }
                None => self.source.texture(uri, usage),
            }),
            (None, Some(view)) => {
                let bytes = self
                    .buffers
                    .view(view.value(), &mut self.assembly, self.source);
                let bytes = bytes
                    .map_err(|error| missing(format!("image {index} can't be had: {error}")))?;
                let bytes = bytes
                    .ok_or_else(|| missing(format!("image {index} lies outside of its buffer")))?
                    .to_vec();
                Ok(self
                    .source
                    .embedded_texture(&name, &bytes, usage, is_counted))
            }
            (None, None) => Err(missing(format!("image {index} has no data"))),
        }
    }
}

/// The colour and surface of a material, before its images are loaded.
struct Base {
    /// The base colour; a factor if there is an image of it.
    factor: [f32; 4],
    /// The image of the base colour.
    info: Option<TextureInfo>,
    metallic: f32,
    roughness: f32,
    maps: Vec<SurfaceMap>,
}

/// A map of a material before its image is loaded.
struct SurfaceMap {
    role: MapRole,
    info: TextureInfo,
    channel: Channel,
    strength: f32,
}

/// Returns an extension of a material that is read as JSON.
fn extension<'m>(material: &'m json::Material, name: &str) -> Option<&'m Value> {
    material.extensions.as_ref()?.others.get(name)
}

/// Returns whether a material is unlit.
fn is_unlit(material: &json::Material) -> bool {
    extension(material, "KHR_materials_unlit").is_some()
}

/// Returns the emission of a material.
fn emissive(material: &json::Material) -> [f32; 3] {
    if is_unlit(material) {
        return [0.0; 3];
    }
    let strength = extension(material, "KHR_materials_emissive_strength")
        .and_then(|says| says.get("emissiveStrength")?.as_f64());
    material
        .emissive_factor
        .0
        .map(|x| x * strength.unwrap_or(1.0) as f32)
        .map(|x| if x.is_finite() { x.max(0.0) } else { 0.0 })
}

/// Reads the clear coat without its images. Adds losses to `lost`.
fn add_lacquer(material: &json::Material, to: &mut Material, lost: &mut Vec<String>) {
    let lacquer = extension(material, CLEARCOAT);
    let of_lacquer =
        |factor: &str| lacquer.and_then(|e| e.get(factor)?.as_f64()).unwrap_or(0.0) as f32;
    to.clearcoat = unit(of_lacquer("clearcoatFactor"), 0.0);
    if to.clearcoat > 0.0 {
        to.clearcoat_roughness = unit(of_lacquer("clearcoatRoughnessFactor"), 0.0);
    }
    if lacquer.is_some_and(|e| e.get("clearcoatNormalTexture").is_some()) {
        lost.push(
            "has an image of its clear coat's normals, which no output has a place for".to_owned(),
        );
    }
}

/// Reads the index of refraction and the specular reflection. Adds what can't be represented,
/// including unsupported extensions, to `lost`.
fn add_refraction(
    material: &json::Material,
    is_metal: bool,
    to: &mut Material,
    lost: &mut Vec<String>,
) {
    let ior = extension(material, "KHR_materials_ior")
        .and_then(|e| e.get("ior")?.as_f64())
        .unwrap_or(f64::from(PLAIN_IOR));
    let is_possible = (1.0..=MAX_IOR).contains(&ior);
    if !is_possible {
        lost.push(format!(
            "has an index of refraction of {ior}, which no surface has"
        ));
    }
    let extensions = material
        .extensions
        .iter()
        .flat_map(|extensions| extensions.others.keys());
    let unknown: Vec<&str> = extensions
        .map(String::as_str)
        .filter(|name| !READ.contains(name))
        .collect();
    if !unknown.is_empty() {
        lost.push(format!(
            "says more by extensions that no output has a place for: {}",
            unknown.join(", ")
        ));
    }
    to.ior = if is_possible { ior as f32 } else { PLAIN_IOR };
    let specular =
        extension(material, "KHR_materials_specular").and_then(|says| specular(says, to.ior, lost));
    if specular.is_some() && is_metal {
        lost.push("is a metal with a specular colour, which no output has a place for".to_owned());
    }
    to.specular = specular.filter(|_| !is_metal);
}

/// A reference to a texture in a material.
struct TextureInfo {
    index: usize,
    /// The `TEXCOORD_n` of the texture.
    texcoord: u32,
    placement: ImagePlacement,
}

/// Extensions by name.
type Extensions = serde_json::Map<String, Value>;

impl Reader<'_, '_, '_> {
    fn info(&self, info: &json::texture::Info) -> TextureInfo {
        self.info_of(
            info.index,
            info.tex_coord,
            info.extensions.as_ref().map(|e| &e.others),
        )
    }

    fn info_of(
        &self,
        index: Index<json::Texture>,
        texcoord: u32,
        extensions: Option<&Extensions>,
    ) -> TextureInfo {
        self.placed(
            index.value(),
            texcoord,
            extensions.and_then(|e| e.get(TRANSFORM)),
        )
    }

    fn info_of_json(&self, info: &Value) -> Option<TextureInfo> {
        let index = usize::try_from(info.get("index")?.as_u64()?).ok()?;
        Some(self.placed(
            index,
            texcoord(info).unwrap_or(0),
            info.get("extensions").and_then(|e| e.get(TRANSFORM)),
        ))
    }

    fn placed(&self, index: usize, of_info: u32, transform: Option<&Value>) -> TextureInfo {
        let sampler = self
            .root
            .textures
            .get(index)
            .and_then(|texture| self.root.samplers.get(texture.sampler?.value()));
        let wrap = sampler
            .map(|sampler| [&sampler.wrap_s, &sampler.wrap_t].map(wrap))
            .unwrap_or_default();
        let mut placement = ImagePlacement {
            wrap,
            ..ImagePlacement::default()
        };
        let Some(transform) = transform else {
            return TextureInfo {
                index,
                texcoord: of_info,
                placement,
            };
        };
        // glTF has v pointing down: apply the same transform to coordinates with v flipped.
        let [x, y] = numbers_of(transform.get("offset")).unwrap_or([0.0; 2]);
        placement.scale = numbers(transform.get("scale")).unwrap_or([1.0; 2]);
        placement.rotation = transform
            .get("rotation")
            .and_then(Value::as_f64)
            .unwrap_or(0.0);
        let (sin, cos) = placement.rotation.sin_cos();
        let height = f64::from(placement.scale[1]);
        placement.translation = [x + sin * height, 1.0 - y - cos * height].map(|part| part as f32);
        TextureInfo {
            index,
            // The transform's own set takes precedence (KHR_texture_transform).
            texcoord: texcoord(transform).unwrap_or(of_info),
            placement,
        }
    }
}

fn texcoord(of: &Value) -> Option<u32> {
    u32::try_from(of.get("texCoord")?.as_u64()?).ok()
}

fn wrap(mode: &Checked<json::texture::WrappingMode>) -> Wrap {
    use gltf::json::texture::WrappingMode;

    match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    }
}

/// Returns the normal reflectance of a dielectric by KHR_materials_specular; `None` if it is the
/// default.
fn specular(says: &Value, ior: f32, simplified: &mut Vec<String>) -> Option<[f32; 3]> {
    let strength = says
        .get("specularFactor")
        .and_then(Value::as_f64)
        .unwrap_or(1.0) as f32;
    let color = numbers(says.get("specularColorFactor")).unwrap_or([1.0; 3]);
    if says.get("specularTexture").is_some() || says.get("specularColorTexture").is_some() {
        simplified.push(
            "has an image of its specular colour, which no output has a place for".to_owned(),
        );
    }
    let reflectance = Material::reflectance(ior);
    let mirrored = color.map(|part| unit(unit(part * reflectance, 0.0) * strength, 0.0));
    (strength != 1.0 || color != [1.0; 3]).then_some(mirrored)
}

/// Converts texture coordinates with (0, 0) at the upper left to (0, 0) at the lower left.
pub(super) fn lower_left([u, v]: [f32; 2], placement: &ImagePlacement) -> [f32; 2] {
    let uv = [u, 1.0 - v];
    if placement.is_moved() {
        placement.apply(uv)
    } else {
        uv
    }
}

/// Parses N finite numbers of a JSON array.
fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f32; N]> {
    numbers_of(value)
        .map(|numbers| numbers.map(|n| n as f32))
        .filter(|numbers| numbers.iter().all(|n| n.is_finite()))
}

/// The same in double precision.
fn numbers_of<const N: usize>(value: Option<&Value>) -> Option<[f64; N]> {
    let list: Vec<f64> = value?
        .as_array()?
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    list.try_into().ok()
}

/// Clamps to 0 and 1; `otherwise` for NaN.
fn unit(value: f32, otherwise: f32) -> f32 {
    if value.is_nan() {
        otherwise
    } else {
        value.clamp(0.0, 1.0)
    }
}
