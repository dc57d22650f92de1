//! MDL materials, such as NVIDIA's OmniPBR, as far as their parameters have a counterpart in
//! UsdPreviewSurface.

use std::collections::BTreeSet;

use super::materials::{Materials, Source, opaque, unit};
use crate::codes;
use urdf_usd_robot::{Channel, ImagePlacement, Map, MapRole, Material};
use urdf_usd_stage::{PrimId, Value, asset_paths, double, numbers};

/// Parameters by what they mean. OmniPBR's come first, then those of other modules.
const COLOR: [&str; 6] = [
    "diffuse_color_constant",
    "diffuse_reflection_color",
    "base_color",
    "diffuse_color",
    "albedo_color",
    "color",
];
const COLOR_IMAGE: [&str; 5] = [
    "diffuse_texture",
    "diffuse_reflection_color_image",
    "base_color_texture",
    "diffuse_color_texture",
    "albedo_texture",
];
const ROUGHNESS: [&str; 3] = [
    "reflection_roughness_constant",
    "specular_reflection_roughness",
    "roughness",
];
const METALLIC: [&str; 3] = ["metallic_constant", "metalness", "metallic"];
const OPACITY: [&str; 2] = ["opacity_constant", "opacity"];
const NORMAL_IMAGE: [&str; 3] = ["normalmap_texture", "normal_texture", "normal_map_texture"];

/// Parameters that have no effect at these values, OmniPBR's defaults.
const NEUTRAL: [(&str, f64); 15] = [
    ("albedo_add", 0.0),
    ("albedo_brightness", 1.0),
    ("albedo_desaturation", 0.0),
    ("ao_to_diffuse", 0.0),
    ("enable_clearcoat", 0.0),
    ("enable_emission", 0.0),
    ("enable_ORM_texture", 0.0),
    ("enable_opacity", 0.0),
    ("flip_tangent_u", 0.0),
    ("flip_tangent_v", 1.0),
    ("project_uvw", 0.0),
    ("specular_level", 0.5),
    ("texture_rotate", 0.0),
    ("uv_space_index", 0.0),
    ("world_or_object", 0.0),
];

/// Prefixes of parameters that have no effect without a flag.
const SWITCHED: [(&str, &str); 5] = [
    ("emissive_", "enable_emission"),
    ("emission_", "enable_emission"),
    ("opacity_", "enable_opacity"),
    ("clearcoat_", "enable_clearcoat"),
    ("ORM_texture", "enable_ORM_texture"),
];

/// Parameters of tools, without an effect on the look.
const WITHOUT_EFFECT: [&str; 1] = ["excludeFromWhiteMode"];

/// The parameters of an MDL shader, and those that were read.
struct Parameters<'m, 's, 'a> {
    materials: &'m mut Materials<'s, 'a>,
    shader: PrimId,
    read: BTreeSet<&'static str>,
}

impl Parameters<'_, '_, '_> {
    /// Returns the value of the first parameter of `names` that has one.
    fn value<T>(&mut self, names: &[&'static str], to: impl Fn(&Value) -> Option<T>) -> Option<T> {
        for name in names {
            if let Some(Source::Value(value)) = self.materials.input(self.shader, name)
                && let Some(value) = to(value)
            {
                self.read.insert(name);
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self, names: &[&'static str]) -> Option<f64> {
        self.value(names, |value| {
            double(value).filter(|number| number.is_finite())
        })
    }

    fn color(&mut self, names: &[&'static str]) -> Option<[f32; 3]> {
        self.value(names, |value| {
            numbers::<3>(value).map(|color| color.map(unit))
        })
    }

    fn is_on(&mut self, name: &'static str) -> bool {
        let flag = self.value(&[name], |value| match value {
            Value::Bool(flag) => Some(*flag),
            value => double(value).map(|number| number != 0.0),
        });
        flag == Some(true)
    }

    /// Returns the map of the first parameter of `names` with an image.
    fn map(&mut self, names: &[&'static str], channel: Channel) -> Option<Map> {
        for name in names {
            let Some(Source::Value(value)) = self.materials.input(self.shader, name) else {
                continue;
            };
            if asset_paths(value).iter().all(|(path, _)| path.is_empty()) {
                continue;
            }
            // An image that can't be loaded is reported where it is loaded.
            self.read.insert(name);
            let texture = self.materials.image_at(self.shader, name)?;
            let texture = match channel {
                Channel::Alpha => texture,
                _ => opaque(texture),
            };
            return Some(Map {
                placement: self.placement(),
                ..Map::of(texture, channel)
            });
        }
        None
    }

    fn placement(&mut self) -> ImagePlacement {
        let mut pair = |name: &'static str| {
            self.value(&[name], |value| {
                numbers::<2>(value).map(|pair| pair.map(|x| x as f32))
            })
        };
        let plain = ImagePlacement::default();
        ImagePlacement {
            scale: pair("texture_scale").unwrap_or(plain.scale),
            translation: pair("texture_translate").unwrap_or(plain.translation),
            ..plain
        }
    }

    /// Returns a factor and its map: the image, if its influence is at least one half, or else the
    /// constant.
    fn factor(
        &mut self,
        constant: f32,
        [image, influence]: [&'static str; 2],
        packed: Option<Map>,
    ) -> (f32, Option<Map>) {
        let share = self.number(&[influence]).unwrap_or(0.0);
        if share <= 0.0 {
            self.read.insert(image);
            return (constant, None);
        }
        if share < 1.0 {
            self.read.remove(influence);
        }
        let map = packed.or_else(|| self.map(&[image], Channel::Red));
        match map.filter(|_| share >= 0.5) {
            Some(map) => (1.0, Some(map)),
            None => (constant, None),
        }
    }

    /// Returns the names of the authored parameters that have an effect and were not read.
    fn left(&mut self) -> Vec<String> {
        let is_off: Vec<&str> = SWITCHED
            .into_iter()
            .filter(|(_, switch)| !self.is_on(switch))
            .map(|(prefix, _)| prefix)
            .collect();
        let prim = &self.materials.scene().stage[self.shader];
        let mut left = Vec::new();
        for (name, attribute) in prim.attributes.iter() {
            let Some(name) = name.strip_prefix("inputs:") else {
                continue;
            };
            let is_neutral = attribute.value.as_deref().is_none_or(|value| {
                let number = match value {
                    Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
                    value => double(value),
                };
                let is_plain = NEUTRAL
                    .into_iter()
                    .any(|(neutral, at)| neutral == name && number == Some(at));
                let is_empty_path = matches!(value, Value::AssetPath(_))
                    && asset_paths(value).iter().all(|(path, _)| path.is_empty());
                is_plain || is_empty_path
            });
            if !(self.read.contains(name)
                || is_neutral && attribute.connections.is_empty()
                || WITHOUT_EFFECT.contains(&name)
                || is_off.iter().any(|prefix| name.starts_with(prefix)))
            {
                left.push(name.to_owned());
            }
        }
        left
    }

    fn material(&mut self, name: &str) -> Material {
        let tint = self.color(&["diffuse_tint"]);
        let [r, g, b] = self.color(&COLOR).unwrap_or([0.2; 3]);
        let mut material = Material::plain(name, [r, g, b, 1.0]);
        match self.map(&COLOR_IMAGE, Channel::Red) {
            Some(map) => {
                material.base_color = [1.0; 4];
                material.base_color_texture = Some(map.texture);
                material.base_color_placement = map.placement;
                if tint.is_some_and(|tint| tint != [1.0; 3]) {
                    // The model has no colour that multiplies an image.
                    self.read.remove("diffuse_tint");
                }
            }
            None => {
                let [x, y, z] = tint.unwrap_or([1.0; 3]);
                material.base_color = [r * x, g * y, b * z, 1.0];
            }
        }
        self.reflection(&mut material);
        self.opacity(&mut material);
        if self.is_on("enable_emission") {
            material.emissive = self.color(&["emissive_color"]).unwrap_or([1.0; 3]);
            if let Some(map) = self.map(&["emissive_color_texture"], Channel::Red) {
                material.maps.insert(MapRole::Emissive, map);
            }
        }
        if let Some(map) = self.map(&NORMAL_IMAGE, Channel::Red) {
            let strength = self.number(&["bump_factor"]).unwrap_or(1.0) as f32;
            let map = Map { strength, ..map };
            material.maps.insert(MapRole::Normal, map);
        }
        material
    }

    fn reflection(&mut self, material: &mut Material) {
        let packed = self
            .is_on("enable_ORM_texture")
            .then(|| self.map(&["ORM_texture"], Channel::Red))
            .flatten();
        let channel = |channel: Channel| packed.clone().map(|map| Map { channel, ..map });
        let constant = self.number(&ROUGHNESS).map_or(0.5, unit);
        let images = [
            "reflectionroughness_texture",
            "reflection_roughness_texture_influence",
        ];
        let (roughness, map) = self.factor(constant, images, channel(Channel::Green));
        material.roughness = roughness;
        material
            .maps
            .extend(map.map(|map| (MapRole::Roughness, map)));
        let constant = self.number(&METALLIC).map_or(0.0, unit);
        let images = ["metallic_texture", "metallic_texture_influence"];
        let (metallic, map) = self.factor(constant, images, channel(Channel::Blue));
        material.metallic = metallic;
        material
            .maps
            .extend(map.map(|map| (MapRole::Metallic, map)));
        let strength = self.number(&["ao_to_diffuse"]).map_or(0.0, unit);
        let occlusion = channel(Channel::Red).or_else(|| self.map(&["ao_texture"], Channel::Red));
        if let Some(map) = occlusion.filter(|_| strength > 0.0) {
            let map = Map { strength, ..map };
            material.maps.insert(MapRole::Occlusion, map);
        }
    }

    fn opacity(&mut self, material: &mut Material) {
        let prim = &self.materials.scene().stage[self.shader];
        // OmniPBR has a flag for it; without one the value counts.
        let has_flag = prim.attributes.contains_key("inputs:enable_opacity");
        let is_omni_pbr = self.materials.mdl_name(self.shader).starts_with("OmniPBR");
        let is_on = self.is_on("enable_opacity");
        if !is_on && (has_flag || is_omni_pbr) {
            return;
        }
        material.base_color[3] = self.number(&OPACITY).map_or(1.0, unit);
        material.opacity_threshold = self
            .number(&["opacity_threshold"])
            .map(unit)
            .filter(|threshold| *threshold > 0.0);
        if self.is_on("enable_opacity_texture") {
            // Mode 0 takes the alpha channel, the others the grey of the colours.
            let channel = match self.number(&["opacity_mode"]) {
                Some(0.0) => Channel::Alpha,
                _ => Channel::Red,
            };
            if let Some(map) = self.map(&["opacity_texture"], channel) {
                material.maps.insert(MapRole::Opacity, map);
            }
        }
    }
}

impl Materials<'_, '_> {
    /// Returns whether a shader is written in MDL.
    pub(super) fn is_mdl(&self, shader: PrimId) -> bool {
        let prim = &self.scene().stage[shader];
        prim.attributes.contains_key("info:mdl:sourceAsset")
    }

    /// Returns the name of the MDL material of a shader.
    pub(super) fn mdl_name(&self, shader: PrimId) -> &str {
        let prim = &self.scene().stage[shader];
        let identifier = prim.text("info:mdl:sourceAsset:subIdentifier");
        identifier
            .or_else(|| {
                let file = prim.text("info:mdl:sourceAsset")?.rsplit('/').next()?;
                file.split('.').next()
            })
            .unwrap_or("MDL")
    }

    /// Reads an MDL shader; `None` if it has no parameter that a UsdPreviewSurface has.
    pub(super) fn mdl(&mut self, shader: PrimId, name: &str) -> Option<Material> {
        let module = self.mdl_name(shader).to_owned();
        let is_omni_pbr = module.starts_with("OmniPBR");
        let mut parameters = Parameters {
            materials: self,
            shader,
            read: BTreeSet::new(),
        };
        let material = parameters.material(name);
        let authored = &parameters.materials.scene().stage[shader].attributes;
        let is_authored = |name: &&str| authored.contains_key(&format!("inputs:{name}"));
        if !is_omni_pbr && !parameters.read.iter().any(is_authored) {
            return None;
        }
        let left = parameters.left();
        if !left.is_empty() {
            let message = format!(
                "material {name:?}: these parameters of {module} are left out: {}",
                left.join(", ")
            );
            let help = "author a UsdPreviewSurface with the look that other renderers should show";
            self.scene()
                .report(&codes::MATERIAL, shader, None, message, help);
        }
        Some(material)
    }
}
