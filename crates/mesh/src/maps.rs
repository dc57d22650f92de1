//! The images of a material beside that of its base colour ([`MapRole`]). A mesh has one set of
//! texture coordinates, so they have to lie as that does; where one can't be placed its mean stands
//! for it.

use std::sync::Arc;

use super::texture::{self, Values};
use super::{Source, codes};
use urdf_usd_robot::{Channel, Map, MapRole, Material, Texture};

/// How the images of a material lie on the mesh: as the first of them.
pub(super) struct Laid<P>(Option<P>);

impl<P: PartialEq> Laid<P> {
    /// As the base colour's image, if there is one.
    pub fn new(base_color: Option<P>) -> Self {
        Self(base_color)
    }

    /// Whether an image that lies like this fits those before it.
    pub fn fits(&mut self, lies: P) -> bool {
        match &self.0 {
            Some(first) => *first == lies,
            None => {
                self.0 = Some(lies);
                true
            }
        }
    }

    /// How they lie; `None` if there are none.
    pub fn into_inner(self) -> Option<P> {
        self.0
    }
}

impl Source<'_> {
    /// The map of one channel of an image, or of what `values` makes of all. `None` if the image
    /// can't be read, which is reported.
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
        // Not every reader finds the grey of an image in its green and blue, too.
        let channel = if channel != Channel::Alpha && texture::is_grey(&made) {
            Channel::Red
        } else {
            channel
        };
        Some(Map::of(made, channel))
    }

    /// Whether an image that is called a bump map holds normals. `None` if it can't be decoded,
    /// which is reported once.
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

/// Gives a material a map. One that does not fit, or that says nothing, leaves its mean.
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

/// Takes all maps from a material whose mesh has no texture coordinates.
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

/// Puts the mean of a map in its place. What has none is left out. Returns what became of it, for a
/// sentence.
pub fn replace_by_mean(material: &mut Material, role: MapRole) -> &'static str {
    const MEAN: &str = "its mean counts";
    let Some(map) = material.maps.remove(&role) else {
        return MEAN;
    };
    let value = || mean(&map).unwrap_or(1.0);
    match role {
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

/// The mean of a map's channel.
fn mean(map: &Map) -> Option<f32> {
    let channel = Channel::ALL
        .iter()
        .position(|channel| *channel == map.channel)?;
    texture::mean_data(&map.texture)?.get(channel).copied()
}
