//! Materials, textures and images, deduplicated.

use std::collections::HashMap;

use super::binary::{Binary, Content};
use super::images::{Made, Picture, Pictures, as_is};
use crate::json::document::{
    AlphaMode, Clearcoat, EmissiveStrength, Image, Ior, Material, MaterialExtensions,
    MetallicRoughness, NormalReference, OcclusionReference, Sampling, Specular, Texture,
    TextureExtensions, TextureReference, TextureTransform,
};
use crate::json::values::{Index, position_or_push};
use urdf_usd_robot::{self as robot, ImagePlacement, MapRole, PLAIN_IOR, Wrap, decimal};
use urdf_usd_store::Store;

/// Properties of a surface that affect its glTF material.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground {
    /// Whether the surface has texture coordinates.
    pub textured: bool,
    /// Whether any vertex colour is translucent.
    pub translucent: bool,
    /// Whether back faces may be visible.
    pub double_sided: bool,
}

/// Textures of a material; `None` for those that it does not have.
struct Textures {
    base_color: Option<TextureReference>,
    surface: Option<TextureReference>,
    normal: Option<TextureReference>,
    occlusion: Option<TextureReference>,
    emissive: Option<TextureReference>,
    clearcoat: Option<TextureReference>,
    clearcoat_roughness: Option<TextureReference>,
}

/// The materials of a document under construction.
#[derive(Default)]
pub struct Paint {
    pub materials: Vec<Material>,
    pub textures: Vec<Texture>,
    pub images: Vec<Image>,
    pub samplers: Vec<Sampling>,
    materials_known: HashMap<String, Index>,
    /// Image indices by the keys of their pictures; `None` if an image can't be made.
    images_known: HashMap<String, Option<Index>>,
    has_transforms: bool,
    made: HashMap<String, Option<Made>>,
}

impl Paint {
    /// Creates an empty list. `made` has the images by key; `None` for those that can't be made.
    pub fn new(made: HashMap<String, Option<Made>>) -> Self {
        Self {
            made,
            ..Self::default()
        }
    }

    /// Returns the material that shows `source` on `ground`, and adds it if it is absent. Vertex
    /// colours of the ground multiply the material.
    pub fn material(
        &mut self,
        source: &robot::Material,
        ground: Ground,
        binary: &mut Binary,
    ) -> Index {
        let pictures = if ground.textured {
            Pictures::of(source)
        } else {
            Pictures::default()
        };
        let textures = self.textures(source, &pictures, binary);
        let color = match textures.base_color {
            // The factor multiplies the texture. The source's colour is a substitute for the
            // texture, so it is not used here; its opacity applies in addition to the texture's.
            Some(_) => [1.0, 1.0, 1.0, source.base_color[3]],
            None => source.base_color,
        }
        .map(share);
        let has_alpha = pictures.base_color.as_ref().is_some_and(Picture::has_alpha);
        let is_translucent =
            color[3] < 1.0 || ground.translucent || (textures.base_color.is_some() && has_alpha);
        let cutoff = source.opacity_threshold.filter(|_| is_translucent);
        let alpha_mode = is_translucent.then_some(if cutoff.is_some() {
            AlphaMode::Mask
        } else {
            AlphaMode::Blend
        });
        let strength = |role| {
            source
                .maps
                .get(&role)
                .map(|map| map.strength)
                .filter(|strength| *strength != 1.0)
        };
        let (emissive_factor, emissive_strength) = radiance(source.emissive);
        let material = Material {
            name: source.name.clone(),
            pbr_metallic_roughness: MetallicRoughness {
                base_color_factor: color,
                base_color_texture: textures.base_color,
                metallic_factor: share(source.metallic),
                roughness_factor: share(source.roughness),
                metallic_roughness_texture: textures.surface,
            },
            normal_texture: textures.normal.map(|texture| NormalReference {
                texture,
                scale: strength(MapRole::Normal),
            }),
            occlusion_texture: textures.occlusion.map(|texture| OcclusionReference {
                texture,
                strength: strength(MapRole::Occlusion),
            }),
            emissive_texture: textures.emissive,
            emissive_factor: Some(emissive_factor).filter(|factor| *factor != [0.0; 3]),
            alpha_mode,
            alpha_cutoff: cutoff.filter(|cutoff| *cutoff != 0.5),
            double_sided: ground.double_sided,
            extensions: MaterialExtensions {
                clearcoat: (source.clearcoat > 0.0).then(|| Clearcoat {
                    clearcoat_factor: share(source.clearcoat),
                    clearcoat_texture: textures.clearcoat,
                    clearcoat_roughness_factor: share(source.clearcoat_roughness),
                    clearcoat_roughness_texture: textures.clearcoat_roughness,
                }),
                emissive_strength,
                ior: (source.ior != PLAIN_IOR).then_some(Ior { ior: source.ior }),
                specular: source
                    .specular
                    .map(|mirrored| relative(mirrored, source.ior)),
            },
        };
        self.add(material)
    }

    /// Returns the textures of `pictures`, with the placement of `source`.
    fn textures(
        &mut self,
        source: &robot::Material,
        pictures: &Pictures<'_>,
        binary: &mut Binary,
    ) -> Textures {
        let placement = |role| {
            let map = source.maps.get(&role);
            map.map(|map| map.placement).unwrap_or_default()
        };
        let mut texture = |picture: &Option<Picture<'_>>, placement| {
            self.texture(picture.as_ref()?, placement, binary)
        };
        let of_color = if source.base_color_texture.is_some() {
            source.base_color_placement
        } else {
            placement(MapRole::Opacity)
        };
        let of_surface = if source.maps.contains_key(&MapRole::Roughness) {
            MapRole::Roughness
        } else {
            MapRole::Metallic
        };
        // The order of these fields determines the indices of the textures.
        Textures {
            base_color: texture(&pictures.base_color, of_color),
            surface: texture(&pictures.surface, placement(of_surface)),
            normal: texture(&pictures.normal, placement(MapRole::Normal)),
            occlusion: texture(&pictures.occlusion, placement(MapRole::Occlusion)),
            emissive: texture(&pictures.emissive, placement(MapRole::Emissive)),
            clearcoat: texture(&pictures.clearcoat, placement(MapRole::Clearcoat)),
            clearcoat_roughness: texture(
                &pictures.clearcoat_roughness,
                placement(MapRole::ClearcoatRoughness),
            ),
        }
    }

    /// Returns the material of colliders. It is masked and fully transparent, so that viewers
    /// without KHR_node_visibility don't draw them either. Programs that show colliders can raise
    /// its opacity.
    pub fn unseen(&mut self) -> Index {
        self.add(Material {
            name: "collision".to_owned(),
            pbr_metallic_roughness: MetallicRoughness {
                base_color_factor: [0.1, 0.4, 0.8, 0.0],
                base_color_texture: None,
                metallic_factor: 0.0,
                roughness_factor: 1.0,
                metallic_roughness_texture: None,
            },
            normal_texture: None,
            occlusion_texture: None,
            emissive_texture: None,
            emissive_factor: None,
            alpha_mode: Some(AlphaMode::Mask),
            alpha_cutoff: None,
            double_sided: false,
            extensions: MaterialExtensions::default(),
        })
    }

    fn add(&mut self, material: Material) -> Index {
        // Floats implement neither `Eq` nor `Hash`: the debug text serves as the key.
        *self
            .materials_known
            .entry(format!("{material:?}"))
            .or_insert_with(|| {
                self.materials.push(material);
                self.materials.len() - 1
            })
    }

    /// Returns the extensions that the materials use.
    pub fn extensions(&self) -> impl Iterator<Item = &'static str> {
        let says = |what: fn(&MaterialExtensions) -> bool| {
            self.materials
                .iter()
                .any(|material| what(&material.extensions))
        };
        let used = [
            (
                "KHR_materials_clearcoat",
                says(|extensions| extensions.clearcoat.is_some()),
            ),
            (
                "KHR_materials_emissive_strength",
                says(|extensions| extensions.emissive_strength.is_some()),
            ),
            (
                "KHR_materials_ior",
                says(|extensions| extensions.ior.is_some()),
            ),
            (
                "KHR_materials_specular",
                says(|extensions| extensions.specular.is_some()),
            ),
            ("KHR_texture_transform", self.has_transforms),
        ];
        used.into_iter()
            .filter(|(_, is_used)| *is_used)
            .map(|(name, _)| name)
    }

    /// Returns the texture of `picture` with `placement`; `None` if the image can't be made.
    fn texture(
        &mut self,
        picture: &Picture<'_>,
        placement: ImagePlacement,
        binary: &mut Binary,
    ) -> Option<TextureReference> {
        let texture = Texture {
            sampler: self.sampler(placement.wrap),
            source: self.image(picture, binary)?,
        };
        let index = position_or_push(&mut self.textures, texture);
        let transform = placement.is_moved().then(|| transform(&placement));
        self.has_transforms |= transform.is_some();
        Some(TextureReference {
            index,
            extensions: TextureExtensions { transform },
        })
    }

    fn sampler(&mut self, wrap: [Wrap; 2]) -> Option<Index> {
        let [wrap_s, wrap_t] = wrap.map(|wrap| match wrap {
            Wrap::Repeat => None,
            Wrap::Mirror => Some(MIRRORED_REPEAT),
            Wrap::Clamp => Some(CLAMP_TO_EDGE),
        });
        let sampling = Sampling { wrap_s, wrap_t };
        (wrap_s.is_some() || wrap_t.is_some())
            .then(|| position_or_push(&mut self.samplers, sampling))
    }

    /// Returns the image of `picture`; `None` if it can't be made.
    fn image(&mut self, picture: &Picture<'_>, binary: &mut Binary) -> Option<Index> {
        let key = picture.key();
        if let Some(known) = self.images_known.get(&key) {
            return *known;
        }
        // The picture has not been converted ahead: use it unchanged.
        let made = self.made.remove(&key).unwrap_or_else(|| {
            let texture = picture.texture(&Store::none())?;
            Some(Made {
                content: Content::new(as_is(&texture)),
                texture,
            })
        });
        let index = made.map(|Made { texture, content }| {
            let buffer_view = binary.view(&content, None);
            self.images.push(Image {
                name: texture.name.clone(),
                mime_type: texture.format.mime(),
                buffer_view,
            });
            self.images.len() - 1
        });
        self.images_known.insert(key, index);
        index
    }
}

/// OpenGL enums of texture wrapping modes.
const CLAMP_TO_EDGE: u32 = 33071;
const MIRRORED_REPEAT: u32 = 33648;

/// Converts a placement to coordinates whose v points down. The offset has the fewest digits that
/// reproduce the translation exactly.
fn transform(placement: &ImagePlacement) -> TextureTransform {
    let (sin, cos) = placement.rotation.sin_cos();
    let height = f64::from(placement.scale[1]);
    let [x, y] = placement.translation;
    let offset = [
        decimal::shortest(f64::from(x) - sin * height, |offset| {
            (offset + sin * height) as f32 == x
        }),
        decimal::shortest(1.0 - f64::from(y) - cos * height, |offset| {
            (1.0 - offset - cos * height) as f32 == y
        }),
    ];
    TextureTransform {
        offset: offset.map(|part| part + 0.0),
        rotation: placement.rotation,
        scale: placement.scale,
    }
}

/// Returns the specular factor that gives the reflectance `mirrored` with an index of refraction of
/// `ior`.
fn relative(mirrored: [f32; 3], ior: f32) -> Specular {
    let reflectance = f64::from(robot::Material::reflectance(ior));
    let factor = |part: f32| {
        let factor = if reflectance > 0.0 {
            f64::from(part) / reflectance
        } else {
            0.0
        };
        decimal::shortest(factor, |factor| (factor * reflectance) as f32 == part) as f32
    };
    Specular {
        specular_color_factor: mirrored.map(factor),
    }
}

/// Splits emission into a factor of at most 1 and, if it exceeds 1, a strength. The strength is a
/// power of two, so that the division is exact.
fn radiance(emissive: [f32; 3]) -> ([f32; 3], Option<EmissiveStrength>) {
    let most = emissive.into_iter().fold(0.0, f32::max).min(MOST_RADIANT);
    if most <= 1.0 {
        return (emissive.map(share), None);
    }
    let strength = most.log2().ceil().exp2();
    (
        emissive.map(|x| share(x / strength)),
        Some(EmissiveStrength {
            emissive_strength: strength,
        }),
    )
}

/// Maximum emission that is written.
const MOST_RADIANT: f32 = 1e6;

/// Clamps `value` to [0, 1]; NaN becomes 0.
fn share(value: f32) -> f32 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0) + 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn texture(has_alpha: bool) -> Arc<robot::Texture> {
        Arc::new(robot::Texture {
            name: "wood".into(),
            format: robot::ImageFormat::Png,
            bytes: Arc::from(*b"image"),
            sha256: format!("{has_alpha}"),
            has_alpha,
        })
    }

    #[test]
    fn opacity_blends_and_cut_outs_are_masked() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        let glass = robot::Material::plain("glass", [0.5, 2.0, f32::NAN, 0.25]);
        let mut wood = robot::Material::plain("wood", [0.5, 0.5, 0.5, 1.0]);
        wood.base_color_texture = Some(texture(false));
        let mut leaf = wood.clone();
        leaf.base_color_texture = Some(texture(true));
        let mut blended = leaf.clone();
        blended.name = "haze".into();
        leaf.cut_out(|_| true);
        for source in [&glass, &wood, &leaf, &wood, &glass, &blended] {
            paint.material(
                source,
                Ground {
                    textured: true,
                    ..Ground::default()
                },
                &mut binary,
            );
        }
        let modes: Vec<_> = paint.materials.iter().map(|m| m.alpha_mode).collect();
        assert_eq!(
            modes,
            [
                Some(AlphaMode::Blend),
                None,
                Some(AlphaMode::Mask),
                Some(AlphaMode::Blend)
            ]
        );
        assert_eq!(paint.materials[2].alpha_cutoff, None, "one half");
        assert_eq!(
            paint.materials[0].pbr_metallic_roughness.base_color_factor,
            [0.5, 1.0, 0.0, 0.25]
        );
        assert_eq!(
            paint.materials[1].pbr_metallic_roughness.base_color_factor,
            [1.0; 4]
        );
        assert_eq!(
            (paint.images.len(), binary.views.len()),
            (2, 1),
            "one view for equal bytes"
        );
    }

    #[test]
    fn an_image_that_lies_elsewhere_is_one_image_with_a_sampler_and_a_transform() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        let mut wood = robot::Material::plain("wood", [1.0; 4]);
        wood.base_color_texture = Some(texture(false));
        let ground = Ground {
            textured: true,
            ..Ground::default()
        };
        paint.material(&wood, ground, &mut binary);
        wood.base_color_placement = ImagePlacement {
            wrap: [Wrap::Mirror, Wrap::Repeat],
            scale: [2.0, 3.0],
            rotation: std::f64::consts::FRAC_PI_2,
            translation: [0.1, 0.25],
        };
        let index = paint.material(&wood, ground, &mut binary);
        assert_eq!(
            (
                paint.images.len(),
                paint.textures.len(),
                paint.samplers.len()
            ),
            (1, 2, 1)
        );
        assert_eq!(
            paint.samplers[0],
            Sampling {
                wrap_s: Some(MIRRORED_REPEAT),
                wrap_t: None
            }
        );
        let reference = paint.materials[index]
            .pbr_metallic_roughness
            .base_color_texture
            .clone()
            .unwrap();
        let TextureTransform {
            offset,
            rotation,
            scale,
        } = reference.extensions.transform.unwrap();
        assert_eq!(scale, [2.0, 3.0]);
        // The same point of the image in coordinates with v up and with v down.
        for [u, v] in [[0.0_f32, 0.0], [1.0, 0.0], [0.25, 0.75]] {
            let [s, t] = wood.base_color_placement.apply([u, v]);
            let (sin, cos) = rotation.sin_cos();
            let (x, y) = (f64::from(u) * 2.0, f64::from(1.0 - v) * 3.0);
            let found = [cos * x + sin * y + offset[0], cos * y - sin * x + offset[1]];
            assert!(
                (found[0] - f64::from(s)).abs() < 1e-6
                    && (1.0 - found[1] - f64::from(t)).abs() < 1e-6,
                "{found:?}"
            );
        }
        assert_eq!(
            paint.extensions().collect::<Vec<_>>(),
            ["KHR_texture_transform"]
        );
    }

    #[test]
    fn a_specular_colour_is_relative_to_the_index_of_refraction() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        let source = robot::Material {
            specular: Some([0.04, 0.5, 1.0]),
            ..robot::Material::plain("lacquer", [0.5; 4])
        };
        let source = robot::Material {
            clearcoat: 0.5,
            clearcoat_roughness: 0.25,
            ..source
        };
        let index = paint.material(&source, Ground::default(), &mut binary);
        let MaterialExtensions {
            clearcoat,
            specular,
            ..
        } = &paint.materials[index].extensions;
        let factor = specular.as_ref().unwrap().specular_color_factor;
        assert!(
            factor
                .iter()
                .zip([1.0, 12.5, 25.0])
                .all(|(factor, wanted)| (factor / wanted - 1.0).abs() < 1e-6),
            "{factor:?}"
        );
        let clearcoat = clearcoat.as_ref().unwrap();
        assert_eq!(
            (
                clearcoat.clearcoat_factor,
                clearcoat.clearcoat_roughness_factor
            ),
            (0.5, 0.25)
        );
        assert_eq!(
            paint.extensions().collect::<Vec<_>>(),
            ["KHR_materials_clearcoat", "KHR_materials_specular"]
        );
    }

    #[test]
    fn translucent_corners_blend() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        for translucent in [false, true] {
            paint.material(
                &robot::Material::of_corners(""),
                Ground {
                    translucent,
                    ..Ground::default()
                },
                &mut binary,
            );
        }
        let found: Vec<_> = paint
            .materials
            .iter()
            .map(|m| (m.alpha_mode, m.pbr_metallic_roughness.base_color_factor))
            .collect();
        assert_eq!(
            found,
            [(None, [1.0; 4]), (Some(AlphaMode::Blend), [1.0; 4])]
        );
    }

    #[test]
    fn a_texture_without_coordinates_leaves_the_colour() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        let mut wood = robot::Material::plain("wood", [0.5, 0.25, 0.125, 1.0]);
        wood.base_color_texture = Some(texture(false));
        let index = paint.material(
            &wood,
            Ground {
                double_sided: true,
                ..Ground::default()
            },
            &mut binary,
        );
        assert_eq!(
            paint.materials[index]
                .pbr_metallic_roughness
                .base_color_factor,
            [0.5, 0.25, 0.125, 1.0]
        );
        assert!(paint.textures.is_empty() && paint.images.is_empty());
    }
}
