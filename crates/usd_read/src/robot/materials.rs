//! UsdPreviewSurface materials of a stage, as far as they consist of numbers and images.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::bindings::Bindings;
use super::primvars::{COLOR, OPACITY, Primvar};
use super::scene::Scene;
use crate::codes;
use urdf_usd_mesh::{MAX_PIXELS_TOGETHER, mean_color, replace_by_mean, texture_within};
use urdf_usd_resolve::File;
use urdf_usd_robot::{
    Channel, ImagePlacement, Map, MapRole, Material, MaterialId, PLAIN_CLEARCOAT_ROUGHNESS,
    PLAIN_IOR, Robot, Texture, Wrap,
};
use urdf_usd_stage::{
    Prim, PrimId, Stage, Value, asset_paths, double, double_array, numbers, text, vectors,
};
use urdf_usd_usd_author::layout::default_material;

/// Maximum number of connections between an input and its value.
const MAX_STEPS: usize = 32;
/// The materials read so far.
pub(super) struct Materials<'s, 'a> {
    scene: &'s Scene<'a>,
    /// The bindings of materials to prims.
    pub bindings: Bindings<'s, 'a>,
    /// By prim; `None` if the prim is not a readable material.
    read: HashMap<PrimId, Option<Read>>,
    /// The materials of shapes by name and bits of the base colour: a robot may have one for each shape.
    alike: HashMap<(String, [u32; 4]), Vec<MaterialId>>,
    /// The names of the sets of texture coordinates that the images of the current material use.
    uv_sets: Vec<String>,
    /// Images by resolved path.
    images: HashMap<String, Option<Arc<Texture>>>,
    /// Remaining pixel budget of all images together.
    pixels: u64,
}

/// A material of a stage.
#[derive(Clone)]
struct Read {
    material: Material,
    /// The primvar with the texture coordinates of its images, if it names one.
    uv_set: Option<String>,
}

/// The material of a part of a mesh.
pub(super) struct OfPart {
    pub material: Material,
    /// The primvar with its texture coordinates, if the material names one.
    pub uv_set: Option<String>,
}

/// The source of an input's value.
pub(super) enum Source<'a> {
    Value(&'a Value),
    /// An output of a shader.
    Shader(PrimId, String),
}

impl<'s, 'a> Materials<'s, 'a> {
    pub fn new(scene: &'s Scene<'a>) -> Self {
        Self {
            scene,
            bindings: Bindings::new(scene),
            read: HashMap::new(),
            alike: HashMap::new(),
            uv_sets: Vec::new(),
            images: HashMap::new(),
            pixels: MAX_PIXELS_TOGETHER,
        }
    }

    pub fn scene(&self) -> &'s Scene<'a> {
        self.scene
    }

    /// Returns the material of a part of a mesh, unless it is that of the mesh. If looks vary, the
    /// two may differ in another variant.
    pub fn of_part(&mut self, part: PrimId, mesh: PrimId) -> Option<OfPart> {
        let bound = self.bindings.seen(part)?;
        if !self.scene.may_vary && self.bindings.seen(mesh) == Some(bound) {
            return None;
        }
        let Read { material, uv_set } = self.material(bound)?;
        let material = self.colored(mesh, material);
        Some(OfPart { material, uv_set })
    }

    /// Returns the name of the primvar with the texture coordinates of a prim's material, if it
    /// names one.
    pub fn uv_set(&mut self, id: PrimId) -> Option<String> {
        let bound = self.bindings.seen(id)?;
        self.material(bound)?.uv_set
    }

    /// Returns a material as it appears on a prim: if it shows the prim's display colour and that
    /// is uniform, the colour becomes part of the material.
    fn colored(&self, id: PrimId, material: Material) -> Material {
        if !material.shows_corner_colors || has_many_colors(self.scene.stage, id) {
            return material;
        }
        let Some(Material {
            base_color: [r, g, b, opacity],
            ..
        }) = self.display_color(id)
        else {
            return material;
        };
        let base_color = [r, g, b, opacity * material.base_color[3]];
        Material {
            shows_corner_colors: false,
            base_color,
            ..material
        }
    }

    /// Returns the material of a prim, or else one of its display colour. `None` if that equals the
    /// default material that the writer uses for shapes without one.
    pub fn of_shape(&mut self, robot: &mut Robot, id: PrimId) -> Option<MaterialId> {
        let material = self
            .bindings
            .seen(id)
            .and_then(|bound| self.material(bound))
            .map(|read| self.colored(id, read.material));
        let material = material.or_else(|| self.display_color(id))?;
        if material == default_material() {
            return None;
        }
        let key = (
            material.name.clone(),
            material.base_color.map(|part| (part + 0.0).to_bits()),
        );
        let alike = self.alike.entry(key).or_default();
        let is_same = |known: &&MaterialId| robot.materials()[**known] == material;
        if let Some(known) = alike.iter().find(is_same) {
            return Some(*known);
        }
        let new = robot.add_material(material);
        alike.push(new);
        Some(new)
    }

    /// Returns the uniform display colour and opacity of a prim; each may come from an ancestor.
    fn display_color(&self, id: PrimId) -> Option<Material> {
        let stage = self.scene.stage;
        if has_many_colors(stage, id) {
            return None;
        }
        let color = Primvar::find(stage, id, COLOR)?;
        let [r, g, b] = color.single(&vectors(color.value)?)?.map(unit);
        let opacity = Primvar::find(stage, id, OPACITY)
            .and_then(|opacity| opacity.single(&double_array(opacity.value)?))
            .unwrap_or(1.0);
        Some(Material::plain("", [r, g, b, unit(opacity)]))
    }

    fn material(&mut self, id: PrimId) -> Option<Read> {
        if let Some(known) = self.read.get(&id) {
            return known.clone();
        }
        self.uv_sets.clear();
        let material = self.parse(id);
        let mut uv_sets = std::mem::take(&mut self.uv_sets).into_iter();
        let uv_set = uv_sets.next();
        if let Some(other) = uv_sets.find(|other| Some(other) != uv_set.as_ref()) {
            let first = uv_set.as_deref().unwrap_or_default();
            let message = format!(
                "material {:?}: its images use the texture coordinates {first} and {other}; {first} is read for all",
                self.scene.stage[id].name()
            );
            let help = "let all images of a material use the same texture coordinates";
            self.scene.report(&codes::MATERIAL, id, None, message, help);
        }
        let read = material.map(|material| Read { material, uv_set });
        self.read.insert(id, read.clone());
        read
    }

    fn parse(&mut self, id: PrimId) -> Option<Material> {
        let prim = &self.scene.stage[id];
        let name = super::display_name(self.scene, id).unwrap_or_else(|| prim.name().to_owned());
        let outputs = prim
            .attributes
            .iter()
            .filter(|(name, _)| name.starts_with("outputs:") && name.ends_with("surface"));
        // In reverse order `outputs:surface` is before those of MaterialX and MDL.
        let shaders: Vec<PrimId> = outputs
            .rev()
            .filter_map(|(name, _)| match self.source(id, name)? {
                Source::Shader(shader, _) => Some(shader),
                Source::Value(_) => None,
            })
            .collect();
        let identifier = |shader: PrimId| self.scene.stage[shader].text("info:id");
        let is_preview = |shader: &PrimId| identifier(*shader) == Some("UsdPreviewSurface");
        if let Some(surface) = shaders.iter().copied().find(is_preview) {
            return Some(self.surface(surface, name));
        }
        if let Some(shader) = shaders.iter().copied().find(|shader| self.is_mdl(*shader))
            && let Some(material) = self.mdl(shader, &name)
        {
            return Some(material);
        }
        // A material that only describes contacts has no appearance.
        if prim.has("PhysicsMaterialAPI") && shaders.is_empty() {
            return None;
        }
        let what = match shaders.first() {
            None => "has no surface shader".to_owned(),
            Some(&shader) if self.is_mdl(shader) => format!(
                "is an MDL material ({}) without a parameter that is read",
                self.mdl_name(shader)
            ),
            Some(&shader) => match self.scene.stage[shader].text("info:id") {
                Some(identifier) => {
                    format!("has the surface shader {identifier}, which is not read")
                }
                None => "has a surface shader without info:id".to_owned(),
            },
        };
        let message = format!("material {name:?} {what}; its look is left out");
        let help = "connect a UsdPreviewSurface to outputs:surface of the material";
        self.scene.report(&codes::MATERIAL, id, None, message, help);
        None
    }

    fn surface(&mut self, id: PrimId, name: String) -> Material {
        // The fallback of `diffuseColor` in UsdPreviewSurface.
        let mut material = Material::plain(name, [0.18, 0.18, 0.18, 1.0]);
        self.color_and_opacity(id, &mut material);
        material.opacity_threshold = self.opacity_threshold(id);
        self.reflection(id, &mut material);
        if let Some(Source::Shader(shader, output)) = self.input(id, "occlusion")
            && let Some((map, strength, _)) = self.scalar(shader, &output)
        {
            material
                .maps
                .insert(MapRole::Occlusion, Map { strength, ..map });
        }
        self.emission(id, &mut material);
        self.normal(id, &mut material);
        if let Some(Source::Value(value)) = self.input(id, "ior") {
            material.ior = double(value)
                .filter(|ior| *ior >= 1.0 && ior.is_finite())
                .map_or(PLAIN_IOR, |ior| ior as f32);
        }
        let displaces = match self.input(id, "displacement") {
            Some(Source::Value(value)) => double(value).is_some_and(|number| number != 0.0),
            Some(Source::Shader(..)) => true,
            None => false,
        };
        if displaces {
            self.left_out(id, "inputs:displacement", "its displacement");
        }
        self.lay_alike(id, &mut material);
        material
    }

    /// Reads the colour and the opacity, each a value or an image. The opacity decides whether the
    /// alpha channel of the colour's image is used.
    fn color_and_opacity(&mut self, id: PrimId, material: &mut Material) {
        let opacity = self.input(id, "opacity");
        if let Some(Source::Value(value)) = &opacity {
            material.base_color[3] = double(value).map_or(1.0, unit);
        }
        let mut has_own_alpha = false;
        match self.input(id, "diffuseColor") {
            Some(Source::Value(value)) => {
                if let Some(color) = numbers::<3>(value) {
                    let [r, g, b] = color.map(unit);
                    material.base_color = [r, g, b, material.base_color[3]];
                }
            }
            Some(Source::Shader(shader, _)) if self.is_primvar(shader, "displayColor") => {
                material.shows_corner_colors = true;
                material.base_color = [1.0, 1.0, 1.0, material.base_color[3]];
            }
            Some(Source::Shader(shader, _)) => {
                has_own_alpha = matches!(&opacity, Some(Source::Shader(of, output)) if *of == shader && output == "a");
                self.color_of_image(shader, has_own_alpha, material);
            }
            None => {}
        }
        if !has_own_alpha
            && let Some(Source::Shader(shader, output)) = &opacity
            && let Some((map, factor, _)) = self.scalar(*shader, output)
        {
            material.base_color[3] = factor;
            material.maps.insert(MapRole::Opacity, map);
        }
    }

    /// Reads the image of the colour; its fallback becomes the constant colour. `has_own_alpha`:
    /// its alpha channel is the opacity.
    fn color_of_image(&mut self, shader: PrimId, has_own_alpha: bool, material: &mut Material) {
        let fallback = self.scene.stage[shader]
            .value("inputs:fallback")
            .and_then(numbers::<4>);
        let [r, g, b, a] = fallback.map_or([1.0; 4], |fallback| fallback.map(unit));
        if let Some(texture) = self.image(shader) {
            let texture = if has_own_alpha {
                texture
            } else {
                opaque(texture)
            };
            material.base_color_texture = Some(texture);
            material.base_color_placement = self.placement(shader);
            self.expect_plain(shader, "the image of its colour");
        }
        let opacity = if has_own_alpha {
            a
        } else {
            material.base_color[3]
        };
        material.base_color = [r, g, b, opacity];
    }

    /// Reads the opacity threshold of a cutout material.
    fn opacity_threshold(&self, id: PrimId) -> Option<f32> {
        match self.input(id, "opacityThreshold")? {
            Source::Value(value) => double(value).map(unit).filter(|threshold| *threshold > 0.0),
            Source::Shader(..) => {
                self.left_out(
                    id,
                    "inputs:opacityThreshold",
                    "the image of its opacityThreshold",
                );
                None
            }
        }
    }

    /// Reads the reflection of a surface: its metalness or specular colour, its roughness and its
    /// clear coat.
    fn reflection(&mut self, id: PrimId, material: &mut Material) {
        // The specular workflow has no metalness.
        let specular = matches!(self.input(id, "useSpecularWorkflow"), Some(Source::Value(value)) if double(value) == Some(1.0));
        if specular {
            material.specular = Some(self.specular(id));
        } else {
            self.factor(id, "metallic", MapRole::Metallic, material);
        }
        self.factor(id, "roughness", MapRole::Roughness, material);
        self.factor(id, "clearcoat", MapRole::Clearcoat, material);
        self.factor(
            id,
            "clearcoatRoughness",
            MapRole::ClearcoatRoughness,
            material,
        );
        // Without a clear coat its roughness is invisible: materials that look alike become equal.
        if material.clearcoat == 0.0 {
            material.clearcoat_roughness = PLAIN_CLEARCOAT_ROUGHNESS;
            material.maps.retain(|role, _| {
                !matches!(role, MapRole::Clearcoat | MapRole::ClearcoatRoughness)
            });
        }
    }

    /// Reads a number from 0 to 1, or a map of one.
    fn factor(&mut self, id: PrimId, input: &str, role: MapRole, material: &mut Material) {
        let value = match self.input(id, input) {
            Some(Source::Value(value)) => double(value).map(unit),
            Some(Source::Shader(shader, output)) => {
                self.scalar(shader, &output).map(|(map, factor, _)| {
                    material.maps.insert(role, map);
                    factor
                })
            }
            None => None,
        };
        let place = match role {
            MapRole::Metallic => &mut material.metallic,
            MapRole::Roughness => &mut material.roughness,
            MapRole::Clearcoat => &mut material.clearcoat,
            _ => &mut material.clearcoat_roughness,
        };
        *place = value.unwrap_or(*place);
    }

    /// Reads the emission of a surface.
    fn emission(&mut self, id: PrimId, material: &mut Material) {
        match self.input(id, "emissiveColor") {
            Some(Source::Value(value)) => {
                let emissive = numbers::<3>(value).unwrap_or_default();
                material.emissive = emissive.map(|x| {
                    if x.is_finite() {
                        x.max(0.0) as f32
                    } else {
                        0.0
                    }
                });
            }
            Some(Source::Shader(shader, _)) => {
                if let Some(texture) = self.image(shader) {
                    let [r, g, b, _] = self.scale_and_bias(shader).0;
                    material.emissive = [r, g, b].map(|x| x.max(0.0));
                    let placement = self.placement(shader);
                    let map = Map {
                        placement,
                        ..Map::of(opaque(texture), Channel::Red)
                    };
                    material.maps.insert(MapRole::Emissive, map);
                }
            }
            None => {}
        }
    }

    /// Reads the normal map.
    fn normal(&mut self, id: PrimId, material: &mut Material) {
        if let Some(Source::Shader(shader, _)) = self.input(id, "normal")
            && let Some(texture) = self.image(shader)
        {
            // A normal map of strength s has the scale 2 · s and the bias −s.
            let strength = self.scale_and_bias(shader).0[0] / 2.0;
            let strength = if strength > 0.0 { strength } else { 1.0 };
            let placement = self.placement(shader);
            material.maps.insert(
                MapRole::Normal,
                Map {
                    strength,
                    placement,
                    ..Map::of(opaque(texture), Channel::Red)
                },
            );
        }
    }

    /// Returns the colour of the specular workflow; for an image, its mean.
    fn specular(&mut self, id: PrimId) -> [f32; 3] {
        match self.input(id, "specularColor") {
            Some(Source::Value(value)) => {
                numbers::<3>(value).map_or([0.0; 3], |color| color.map(unit))
            }
            Some(Source::Shader(shader, _)) => {
                let mean = self.image(shader).and_then(|texture| mean_color(&texture));
                self.left_out(
                    id,
                    "inputs:specularColor",
                    "the image of its specular colour (its mean counts)",
                );
                let (scale, _) = self.scale_and_bias(shader);
                let [red, green, blue, _] = scale;
                mean.map_or([0.0; 3], |[r, g, b, _]| {
                    [r * red, g * green, b * blue].map(|part| unit(f64::from(part)))
                })
            }
            None => [0.0; 3],
        }
    }

    /// Gives maps that share an image in glTF the same placement: roughness with metalness, and
    /// colour with opacity.
    fn lay_alike(&self, id: PrimId, material: &mut Material) {
        let placement =
            |material: &Material, role: MapRole| material.maps.get(&role).map(|map| map.placement);
        let of_color = material
            .base_color_texture
            .as_ref()
            .map(|_| material.base_color_placement);
        let pairs = [
            (
                placement(material, MapRole::Roughness),
                MapRole::Metallic,
                "inputs:metallic",
            ),
            (of_color, MapRole::Opacity, "inputs:opacity"),
        ];
        for (first, role, input) in pairs {
            let Some((first, second)) = first.zip(placement(material, role)) else {
                continue;
            };
            if first != second {
                let outcome = replace_by_mean(material, role);
                self.left_out(
                    id,
                    input,
                    &format!("where its image of {} lies ({outcome})", role.name()),
                );
            }
        }
    }

    /// Reads one channel of an image: the map, its scale and its bias.
    fn scalar(&mut self, shader: PrimId, output: &str) -> Option<(Map, f32, f32)> {
        if self.is_primvar(shader, "displayOpacity") {
            return None;
        }
        let texture = self.image(shader)?;
        let ([red, green, blue, alpha], bias) = self.scale_and_bias(shader);
        let (channel, scale, bias) = match (output, bias) {
            ("g", [_, bias, _, _]) => (Channel::Green, green, bias),
            ("b", [_, _, bias, _]) => (Channel::Blue, blue, bias),
            ("a", [.., bias]) => (Channel::Alpha, alpha, bias),
            (_, [bias, ..]) => (Channel::Red, red, bias),
        };
        let texture = if channel == Channel::Alpha {
            texture
        } else {
            opaque(texture)
        };
        let map = Map {
            placement: self.placement(shader),
            ..Map::of(texture, channel)
        };
        Some((map, unit(f64::from(scale)), bias))
    }

    fn scale_and_bias(&self, shader: PrimId) -> ([f32; 4], [f32; 4]) {
        let prim = &self.scene.stage[shader];
        let of = |name: &str, otherwise: f32| {
            let numbers = prim.value(name).and_then(numbers::<4>);
            numbers.map_or([otherwise; 4], |numbers| numbers.map(|x| x as f32))
        };
        (of("inputs:scale", 1.0), of("inputs:bias", 0.0))
    }

    /// Reports properties of an image that the model does not represent.
    fn expect_plain(&self, shader: PrimId, what: &str) {
        let (scale, bias) = self.scale_and_bias(shader);
        if scale != [1.0; 4] || bias != [0.0; 4] {
            self.left_out(shader, "inputs:scale", &format!("scale and bias of {what}"));
        }
    }

    fn left_out(&self, id: PrimId, property: &str, what: &str) {
        let message = format!(
            "shader {:?}: {what} is left out: the model has no word for it",
            self.scene.stage[id].name()
        );
        self.scene.report(
            &codes::MATERIAL,
            id,
            Some(property),
            message,
            "nothing need be done, unless it matters",
        );
    }

    /// Returns the name of the primvar that a shader reads.
    fn read_primvar(&self, shader: PrimId) -> Option<&'a str> {
        let id = self.scene.stage[shader].text("info:id")?;
        if !id.starts_with("UsdPrimvarReader") {
            return None;
        }
        match self.input(shader, "varname")? {
            Source::Value(value) => text(value),
            Source::Shader(..) => None,
        }
    }

    /// Returns whether a shader reads a primvar.
    fn is_primvar(&self, shader: PrimId, name: &str) -> bool {
        self.read_primvar(shader) == Some(name)
    }

    /// Returns the source of a shader input; `None` if it is not authored.
    pub fn input(&self, id: PrimId, name: &str) -> Option<Source<'a>> {
        self.source(id, &format!("inputs:{name}"))
    }

    /// Follows the connections of an attribute through the interfaces of materials and node graphs.
    fn source(&self, id: PrimId, attribute: &str) -> Option<Source<'a>> {
        let stage = self.scene.stage;
        let (mut at, mut name) = (id, attribute.to_owned());
        for _ in 0..MAX_STEPS {
            let found = stage[at].attributes.get(&name)?;
            let Some(connection) = found.connections.first() else {
                return found.value.as_deref().map(Source::Value);
            };
            let (path, property) = connection.rsplit_once('.')?;
            at = stage.at(path)?;
            let output = property.strip_prefix("outputs:");
            if let Some(output) = output.filter(|_| is_shader(&stage[at])) {
                return Some(Source::Shader(at, output.to_owned()));
            }
            property.clone_into(&mut name);
        }
        None
    }

    /// Returns the placement of a UsdUVTexture: its wrap modes, and the UsdTransform2d of its
    /// texture coordinates.
    fn placement(&mut self, shader: PrimId) -> ImagePlacement {
        self.uv_sets.extend(self.primvar_of(shader));
        let wrap = ["wrapS", "wrapT"].map(|name| {
            let Some(Source::Value(value)) = self.input(shader, name) else {
                return Wrap::Repeat;
            };
            match text(value) {
                Some("mirror") => Wrap::Mirror,
                Some("clamp") => Wrap::Clamp,
                Some("black") => {
                    self.left_out(
                        shader,
                        &format!("inputs:{name}"),
                        "the black beyond the edges of its image (the edge goes on)",
                    );
                    Wrap::Clamp
                }
                // `useMetadata` has no effect: PNG and JPEG have no wrap metadata.
                _ => Wrap::Repeat,
            }
        });
        let mut placement = ImagePlacement {
            wrap,
            ..ImagePlacement::default()
        };
        let Some(transform) = self.transform(shader, "st") else {
            return placement;
        };
        let pair = |name: &str, otherwise: [f32; 2]| match self.input(transform, name) {
            Some(Source::Value(value)) => {
                numbers::<2>(value).map_or(otherwise, |pair| pair.map(|x| x as f32))
            }
            _ => otherwise,
        };
        placement.scale = pair("scale", placement.scale);
        placement.translation = pair("translation", placement.translation);
        if let Some(Source::Value(value)) = self.input(transform, "rotation") {
            placement.rotation = double(value)
                .filter(|degrees| degrees.is_finite())
                .unwrap_or(0.0)
                .to_radians();
        }
        if self.transform(transform, "in").is_some() {
            self.left_out(
                transform,
                "inputs:in",
                "the transform of texture coordinates before it",
            );
        }
        placement
    }

    /// Returns the name of the primvar that an image takes its texture coordinates from.
    fn primvar_of(&self, shader: PrimId) -> Option<String> {
        let (mut at, mut input) = (shader, "st");
        for _ in 0..MAX_STEPS {
            let Some(Source::Shader(of, _)) = self.input(at, input) else {
                return None;
            };
            if self.scene.stage[of].text("info:id") != Some("UsdTransform2d") {
                return self.read_primvar(of).map(str::to_owned);
            }
            (at, input) = (of, "in");
        }
        None
    }

    /// Returns the UsdTransform2d connected to an input of a shader.
    fn transform(&self, shader: PrimId, input: &str) -> Option<PrimId> {
        match self.input(shader, input)? {
            Source::Shader(of, _) => Some(of)
                .filter(|of| self.scene.stage[*of].text("info:id") == Some("UsdTransform2d")),
            Source::Value(_) => None,
        }
    }

    /// Loads the image of a UsdUVTexture.
    fn image(&mut self, shader: PrimId) -> Option<Arc<Texture>> {
        let prim = &self.scene.stage[shader];
        if prim.text("info:id") != Some("UsdUVTexture") {
            let what = format!(
                "what comes from {}",
                prim.text("info:id").unwrap_or("a shader without info:id")
            );
            self.left_out(shader, "info:id", &what);
            return None;
        }
        self.image_at(shader, "file")
    }

    /// Loads the image at an input of a shader.
    pub fn image_at(&mut self, shader: PrimId, input: &str) -> Option<Arc<Texture>> {
        let Some(Source::Value(file)) = self.input(shader, input) else {
            return None;
        };
        let property = format!("inputs:{input}");
        let (written, found) = asset_paths(file).into_iter().next()?;
        let missing = |reason: &str| {
            let message = format!("the image @{written}@ can't be used: {reason}");
            let help = "put the image where the asset looks for it, as PNG or JPEG";
            self.scene
                .report(&codes::TEXTURE, shader, Some(&property), message, help);
        };
        if written.contains("<UDIM>") {
            missing("it is a set of tiles (UDIM)");
            return None;
        }
        let Some(found) = found else {
            missing("it leads to no file");
            return None;
        };
        if let Some(known) = self.images.get(&found) {
            return known.clone();
        }
        let loaded = match self.scene.stage.bytes(&found) {
            Ok(bytes) => {
                let inside = found
                    .strip_suffix(']')
                    .and_then(|path| path.rsplit('[').next())
                    .unwrap_or(&found);
                let file = File {
                    path: Path::new(inside).to_owned(),
                    bytes: bytes.into(),
                };
                texture_within(&file, &mut self.pixels)
                    .map_err(|error| missing(&error.to_string()))
                    .ok()
            }
            Err(error) => {
                missing(&error.to_string());
                None
            }
        };
        self.images.insert(found, loaded.clone());
        loaded
    }
}

/// Returns whether the colour or opacity of a mesh varies: then they are not part of a material.
pub(super) fn has_many_colors(stage: &Stage, id: PrimId) -> bool {
    let find = |name: &str| Primvar::find(stage, id, name);
    stage[id].type_name == "Mesh"
        && find(COLOR).is_some_and(|colors| {
            colors.count() > 0
                && (colors.varies() || find(OPACITY).is_some_and(|opacities| opacities.varies()))
        })
}

/// Returns the image for a material that ignores its alpha channel.
pub(super) fn opaque(texture: Arc<Texture>) -> Arc<Texture> {
    if texture.has_alpha {
        Arc::new(Texture {
            has_alpha: false,
            ..Texture::clone(&texture)
        })
    } else {
        texture
    }
}

fn is_shader(prim: &Prim) -> bool {
    prim.type_name == "Shader"
}

/// Clamps a number to the range 0 to 1.
pub(super) fn unit(number: f64) -> f32 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(0.0, 1.0) as f32
    }
}
