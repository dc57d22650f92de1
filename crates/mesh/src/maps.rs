//! The images of a material other than its base colour ([`MapRole`]). A mesh has one set of texture
//! coordinates, so they need the same placement; an image with another one is replaced by its mean.

use std::sync::Arc;

use super::texture::{self, Values};
use super::{Source, codes};
use urdf_usd_robot::{Channel, Map, MapRole, Material, Texture};

/// The common placement of a material's images: that of the first.
pub(super) struct Laid<P>(Option<P>);

impl<P: PartialEq> Laid<P> {
    /// Starts with the placement of the base colour's image, if any.
    pub fn new(base_color: Option<P>) -> Self {
        Self(base_color)
    }

    /// Returns whether a placement agrees with that of the images before.
    pub fn fits(&mut self, lies: P) -> bool {
        match &self.0 {
            Some(first) => *first == lies,
            None => {
                self.0 = Some(lies);
                true
            }
        }
    }

    /// Returns the placement; `None` if there are no images.
    pub fn into_inner(self) -> Option<P> {
        self.0
    }
}

impl Source<'_> {
    /// Returns the map of one channel of an image, converted by `values`. `None` if the image is
    /// unreadable, which is reported.
    pub(super) fn map(
        &mut self,
        image: &Arc<Texture>,
        values: Values,
        channel: Channel,
    ) -> Option<Map> {
        let key = (image.sha256.clone(), values);
        let made = match self.maps.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = texture::map(image, values);
                if made.is_none() {
                    let message = format!("the image `{}` can't be decoded", image.name);
                    self.report(
                        &codes::TEXTURE_UNREADABLE,
                        message,
                        "export the image again",
                    );
                }
                self.maps.insert(key, made.clone());
                made
            }
        };
        let made = made?;
        // Some readers don't expand grey to the green and blue channels.
        let channel = if channel != Channel::Alpha && texture::is_grey(&made) {
            Channel::Red
        } else {
            channel
        };
        Some(Map::of(made, channel))
    }

    /// Returns whether an image that is used as a bump map holds normals. `None` if it can't be
    /// decoded, which is reported once.
    pub(super) fn holds_normals(&mut self, image: &Arc<Texture>) -> Option<bool> {
        if let Some(known) = self.with_normals.get(&image.sha256) {
            return *known;
        }
        let holds_normals = texture::holds_normals(image);
        if holds_normals.is_none() {
            let message = format!("the image `{}` can't be decoded", image.name);
            self.report(
                &codes::TEXTURE_UNREADABLE,
                message,
                "export the image again",
            );
        }
        self.with_normals
            .insert(image.sha256.clone(), holds_normals);
        holds_normals
    }
}

/// Adds a map to a material. One that doesn't fit, or has no effect, is replaced by its mean.
pub(super) fn add(
    material: &mut Material,
    role: MapRole,
    map: Map,
    fits: bool,
    source: &mut Source,
) {
    let says_nothing = match role {
        MapRole::Opacity => mean(&map) == Some(1.0),
        MapRole::Normal | MapRole::Occlusion => map.strength == 0.0,
        MapRole::Roughness => material.roughness == 0.0,
        MapRole::Metallic => material.metallic == 0.0,
        MapRole::Emissive => material.emissive == [0.0; 3],
        MapRole::Clearcoat | MapRole::ClearcoatRoughness => material.clearcoat == 0.0,
    };
    if says_nothing {
        return;
    }
    material.maps.insert(role, map);
    if !fits {
        let outcome = replace_by_mean(material, role);
        let message = format!(
            "the image of the {} of the material `{}` does not lie as that before it: a mesh has one set of texture coordinates; {outcome}",
            role.name(),
            material.name
        );
        source.report(
            &codes::SIMPLIFIED,
            message,
            "give all images of the material the same texture coordinates and placement",
        );
    }
}

/// Removes all maps from a material whose mesh has no texture coordinates.
pub(super) fn flatten(material: &mut Material, source: &mut Source) {
    for role in MapRole::ALL
        .into_iter()
        .filter(|role| material.maps.contains_key(role))
        .collect::<Vec<_>>()
    {
        let outcome = replace_by_mean(material, role);
        let message = format!(
            "the image of the {} of the material `{}` can't be placed, since the mesh has no texture coordinates; {outcome}",
            role.name(),
            material.name
        );
        source.report(
            &codes::SIMPLIFIED,
            message,
            "export the mesh with texture coordinates",
        );
    }
    if !material.has_opacity_image() {
        material.opacity_threshold = None;
    }
}

/// Replaces a map by its mean, or removes it if a mean makes no sense for its role. Returns a
/// description of the outcome for a message.
pub fn replace_by_mean(material: &mut Material, role: MapRole) -> &'static str {
    const MEAN: &str = "its mean counts";
    let Some(map) = material.maps.remove(&role) else {
        return MEAN;
    };
    let value = || mean(&map).unwrap_or(1.0);
    match role {
        // A mean normal is that of the plain surface; a mean occlusion would darken it evenly.
        MapRole::Normal | MapRole::Occlusion => return "it is left out",
        MapRole::Roughness => material.roughness *= value(),
        MapRole::Metallic => material.metallic *= value(),
        MapRole::Opacity => material.base_color[3] *= value(),
        MapRole::Clearcoat => material.clearcoat *= value(),
        MapRole::ClearcoatRoughness => material.clearcoat_roughness *= value(),
        MapRole::Emissive => {
            let mean = texture::mean_color(&map.texture).unwrap_or([1.0; 4]);
            for (emissive, mean) in material.emissive.iter_mut().zip(mean) {
                *emissive *= mean;
            }
        }
    }
    MEAN
}

/// Returns the mean of a map's channel.
fn mean(map: &Map) -> Option<f32> {
    let channel = Channel::ALL
        .iter()
        .position(|channel| *channel == map.channel)?;
    texture::mean_data(&map.texture)?.get(channel).copied()
}
