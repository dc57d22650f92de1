//! Materials, textures and images, each once.

use std::collections::HashMap;

use super::binary::{Binary, Content};
use super::images::{Made, Picture, Pictures};
use crate::json::document::{
    AlphaMode, EmissiveStrength, Image, Ior, Material, MaterialExtensions, MetallicRoughness, NormalReference,
    OcclusionReference, Texture, TextureReference,
};
use crate::json::values::Index;
use urdf_usd_robot::{self as robot, MapRole, PLAIN_IOR};
use urdf_usd_store::Store;

/// What of a material depends on the surface that shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground {
    /// Whether it has texture coordinates.
    pub textured: bool,
    /// Whether some of its own colours are not opaque.
    pub translucent: bool,
    /// Whether its inside may be seen.
    pub double_sided: bool,
}

/// The materials of a document in the making.
#[derive(Default)]
pub struct Paint {
    pub materials: Vec<Material>,
    pub textures: Vec<Texture>,
    pub images: Vec<Image>,
    materials_known: HashMap<String, Index>,
    /// By the keys of their pictures; `None` if one can't be had.
    textures_known: HashMap<String, Option<Index>>,
    made: HashMap<String, Option<Made>>,
}

impl Paint {
    /// `made`: pictures by their keys; `None` for those that can't be had.
    pub fn new(made: HashMap<String, Option<Made>>) -> Self {
        Self { made, ..Self::default() }
    }

    /// The material that shows `source` on `ground`, new if there is none yet. The ground's own colours multiply all it shows.
    pub fn material(&mut self, source: &robot::Material, ground: Ground, binary: &mut Binary) -> Index {
        let pictures = if ground.textured { Pictures::of(source) } else { Pictures::default() };
        let mut texture = |picture: &Option<Picture<'_>>| self.texture(picture.as_ref()?, binary);
        let base_color = texture(&pictures.base_color);
        let surface = texture(&pictures.surface);
        let normal = texture(&pictures.normal);
        let occlusion = texture(&pictures.occlusion);
        let emissive = texture(&pictures.emissive);
        let color = match base_color {
            // The factor multiplies the image, and the source's colour only stands in for it; its opacity counts beside the image's.
            Some(_) => [1.0, 1.0, 1.0, source.base_color[3]],
            None => source.base_color,
        }
        .map(share);
        let has_alpha = pictures.base_color.as_ref().is_some_and(Picture::has_alpha);
        let alpha_mode = match base_color {
            _ if color[3] < 1.0 || ground.translucent => Some(AlphaMode::Blend),
            // Images with alpha are mostly cut-outs; blending them would draw surfaces in the wrong order.
            Some(_) if has_alpha => Some(AlphaMode::Mask),
            _ => None,
        };
        let reference = |index: Index| TextureReference { index };
        let strength = |role| source.maps.get(&role).map(|map| map.strength).filter(|strength| *strength != 1.0);
        let (emissive_factor, emissive_strength) = radiance(source.emissive);
        let material = Material {
            name: source.name.clone(),
            pbr_metallic_roughness: MetallicRoughness {
                base_color_factor: color,
                base_color_texture: base_color.map(reference),
                metallic_factor: share(source.metallic),
                roughness_factor: share(source.roughness),
                metallic_roughness_texture: surface.map(reference),
            },
            normal_texture: normal.map(|index| NormalReference { index, scale: strength(MapRole::Normal) }),
            occlusion_texture: occlusion.map(|index| OcclusionReference { index, strength: strength(MapRole::Occlusion) }),
            emissive_texture: emissive.map(reference),
            emissive_factor: Some(emissive_factor).filter(|factor| *factor != [0.0; 3]),
            alpha_mode,
            double_sided: ground.double_sided,
            extensions: MaterialExtensions {
                emissive_strength,
                ior: (source.ior != PLAIN_IOR).then_some(Ior { ior: source.ior }),
            },
        };
        self.add(material)
    }

    /// The material of what collides. It is fully transparent and masked, so that a viewer without KHR_node_visibility draws
    /// nothing either; whoever wants to show colliders gives them an opacity.
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
            double_sided: false,
            extensions: MaterialExtensions::default(),
        })
    }

    fn add(&mut self, material: Material) -> Index {
        // Floats make no keys, but what they look like does.
        *self.materials_known.entry(format!("{material:?}")).or_insert_with(|| {
            self.materials.push(material);
            self.materials.len() - 1
        })
    }

    /// The texture that shows `picture`; `None` if that can't be had.
    fn texture(&mut self, picture: &Picture<'_>, binary: &mut Binary) -> Option<Index> {
        let key = picture.key();
        if let Some(known) = self.textures_known.get(&key) {
            return *known;
        }
        // A picture that nobody made ready is made as it is.
        let made = self.made.remove(&key).unwrap_or_else(|| {
            let texture = picture.texture(&Store::none())?;
            Some(Made { content: Content::new(texture.bytes.to_vec()), texture })
        });
        let index = made.map(|Made { texture, content }| {
            let buffer_view = binary.view(&content, None);
            self.images.push(Image { name: texture.name.clone(), mime_type: texture.format.mime(), buffer_view });
            self.textures.push(Texture { source: self.images.len() - 1 });
            self.textures.len() - 1
        });
        self.textures_known.insert(key, index);
        index
    }
}

/// Emitted light as a factor up to one, and what that is multiplied with if it is not enough: a power of two, so that nothing is rounded.
fn radiance(emissive: [f32; 3]) -> ([f32; 3], Option<EmissiveStrength>) {
    let most = emissive.into_iter().fold(0.0, f32::max).min(MOST_RADIANT);
    if most <= 1.0 {
        return (emissive.map(share), None);
    }
    let strength = most.log2().ceil().exp2();
    (emissive.map(|x| share(x / strength)), Some(EmissiveStrength { emissive_strength: strength }))
}

/// Nothing emits more.
const MOST_RADIANT: f32 = 1e6;

/// `value` as a share of one.
fn share(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 }
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
        for source in [&glass, &wood, &leaf, &wood, &glass] {
            paint.material(source, Ground { textured: true, ..Ground::default() }, &mut binary);
        }
        let modes: Vec<_> = paint.materials.iter().map(|m| m.alpha_mode).collect();
        assert_eq!(modes, [Some(AlphaMode::Blend), None, Some(AlphaMode::Mask)]);
        assert_eq!(paint.materials[0].pbr_metallic_roughness.base_color_factor, [0.5, 1.0, 0.0, 0.25]);
        assert_eq!(paint.materials[1].pbr_metallic_roughness.base_color_factor, [1.0; 4]);
        assert_eq!((paint.images.len(), binary.views.len()), (2, 1), "one view for equal bytes");
    }

    #[test]
    fn translucent_corners_blend() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        for translucent in [false, true] {
            paint.material(&robot::Material::of_corners(""), Ground { translucent, ..Ground::default() }, &mut binary);
        }
        let found: Vec<_> =
            paint.materials.iter().map(|m| (m.alpha_mode, m.pbr_metallic_roughness.base_color_factor)).collect();
        assert_eq!(found, [(None, [1.0; 4]), (Some(AlphaMode::Blend), [1.0; 4])]);
    }

    #[test]
    fn a_texture_without_coordinates_leaves_the_colour() {
        let (mut paint, mut binary) = (Paint::default(), Binary::default());
        let mut wood = robot::Material::plain("wood", [0.5, 0.25, 0.125, 1.0]);
        wood.base_color_texture = Some(texture(false));
        let index = paint.material(&wood, Ground { double_sided: true, ..Ground::default() }, &mut binary);
        assert_eq!(paint.materials[index].pbr_metallic_roughness.base_color_factor, [0.5, 0.25, 0.125, 1.0]);
        assert!(paint.textures.is_empty() && paint.images.is_empty());
    }
}
