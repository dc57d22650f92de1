//! The materials of a stage (UsdShade): their universal surfaces, textures and images.

use std::collections::{BTreeSet, HashMap, HashSet};

use urdf_usd_stage::{Attribute, Prim, PrimId, SharedValue, Stage, asset_paths};

/// Maximum length of a chain of connections.
const MAX_CONNECTIONS: usize = 64;

/// The inputs of UsdPreviewSurface; renderers ignore others.
const INPUTS: [&str; 15] = [
    "clearcoat",
    "clearcoatRoughness",
    "diffuseColor",
    "displacement",
    "emissiveColor",
    "ior",
    "metallic",
    "normal",
    "occlusion",
    "opacity",
    "opacityMode",
    "opacityThreshold",
    "roughness",
    "specularColor",
    "useSpecularWorkflow",
];

/// Inputs of UsdPreviewSurface that are data, not colors.
const DATA: [&str; 6] = [
    "normal",
    "metallic",
    "roughness",
    "occlusion",
    "clearcoatRoughness",
    "displacement",
];

/// Returns the resolved paths of the images that have to be lossless (REP-158 §3.2): those that feed inputs
/// with data, or are read for their alpha.
pub fn data_images(stage: &Stage) -> BTreeSet<String> {
    let shading = Shading::new(stage);
    let textures = shading
        .materials
        .iter()
        .flat_map(|material| &material.textures);
    let is_data = |texture: &&Texture| {
        texture.data_input().is_some() || texture.feeds.iter().any(|(_, output)| output == "a")
    };
    textures
        .filter(is_data)
        .filter_map(|texture| shading.image_of(texture)?.resolved.clone())
        .collect()
}

impl Texture {
    /// Returns an input with data that it feeds.
    pub fn data_input(&self) -> Option<&str> {
        let mut inputs = self.feeds.iter().map(|(input, _)| input.as_str());
        inputs.find(|input| DATA.contains(input))
    }
}

/// The materials of a stage.
#[derive(Clone, Debug, Default)]
pub struct Shading {
    /// Every visual material: not those with physical properties only.
    pub materials: Vec<Material>,
    /// Every image that an attribute names: of shaders, materials and lights, and others by the
    /// extension of the file.
    pub images: Vec<Image>,
    /// Indices of `materials` by prim.
    by_prim: HashMap<PrimId, usize>,
    /// Indices of `images` by prim and attribute.
    by_attribute: HashMap<(PrimId, String), usize>,
}

/// A material.
#[derive(Clone, Debug)]
pub struct Material {
    /// The prim.
    pub prim: PrimId,
    /// The shader that is connected to `outputs:surface`.
    pub surface: Option<PrimId>,
    /// The shaders of the universal surface, which is the first, if it is a UsdPreviewSurface.
    pub shaders: Vec<PrimId>,
    /// The textures (UsdUVTexture) among them.
    pub textures: Vec<Texture>,
    /// The primvars that it reads for other purposes than texture coordinates.
    pub colors: BTreeSet<String>,
}

/// A texture of a universal surface.
#[derive(Clone, Debug)]
pub struct Texture {
    /// The shader.
    pub shader: PrimId,
    /// The index of its image in [`Shading::images`].
    pub image: Option<usize>,
    /// The inputs of the surface that it feeds, with the output that it feeds them from:
    /// `diffuseColor`, `rgb`.
    pub feeds: BTreeSet<(String, String)>,
    /// The primvar with its texture coordinates.
    pub primvar: Option<String>,
    /// Whether a shader between primvar and texture changes the coordinates.
    pub is_transformed: bool,
    /// Whether it repeats, along s and t.
    pub repeats: [bool; 2],
}

/// An image that an attribute names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The prim with the attribute.
    pub prim: PrimId,
    /// The attribute.
    pub attribute: String,
    /// The authored path.
    pub authored: String,
    /// The resolved path; `None` if the file does not exist.
    pub resolved: Option<String>,
    /// True if it is the image of a light.
    pub is_of_light: bool,
}

impl Image {
    /// Whether the path is a pattern of many tiles.
    pub fn is_udim(&self) -> bool {
        is_udim(&self.authored)
    }
}

impl Shading {
    /// Returns whether a path that an attribute names is one of its images.
    pub fn is_image(&self, prim: PrimId, attribute: &str, path: &str) -> bool {
        let first = self.by_attribute.get(&(prim, attribute.to_owned()));
        let images = first.and_then(|first| self.images.get(*first..));
        // The images of an attribute are next to each other.
        let mut images = images
            .into_iter()
            .flatten()
            .take_while(|image| image.prim == prim && image.attribute == attribute);
        images.any(|image| image.authored == path)
    }

    /// Returns the image that a texture shows.
    pub fn image_of(&self, texture: &Texture) -> Option<&Image> {
        self.images.get(texture.image?)
    }

    pub(super) fn new(stage: &Stage) -> Self {
        let mut shading = Self::default();
        for (id, prim) in stage.present() {
            for image in images(stage, id, prim) {
                shading
                    .by_attribute
                    .entry((id, image.attribute.clone()))
                    .or_insert(shading.images.len());
                shading.images.push(image);
            }
        }
        for (id, prim) in stage
            .present()
            .filter(|(_, prim)| prim.type_name == "Material")
        {
            let has_outputs = prim
                .attributes
                .keys()
                .any(|name| name.starts_with("outputs:"));
            if has_outputs || !prim.has("PhysicsMaterialAPI") {
                let material = shading.material(stage, id);
                shading.by_prim.insert(id, shading.materials.len());
                shading.materials.push(material);
            }
        }
        shading
    }

    /// Returns the material of a prim: its own, or that of the nearest ancestor with one.
    pub fn material_of(&self, stage: &Stage, id: PrimId) -> Option<&Material> {
        let bound = stage.self_and_ancestors(id).find_map(|id| {
            let targets = [
                "material:binding:full",
                "material:binding:preview",
                "material:binding",
            ]
            .map(|name| stage[id].targets(name));
            targets.into_iter().find_map(<[String]>::first)
        })?;
        let prim = stage.at(bound)?;
        self.materials.get(*self.by_prim.get(&prim)?)
    }

    fn material(&self, stage: &Stage, id: PrimId) -> Material {
        let surface = stage[id]
            .attributes
            .get("outputs:surface")
            .and_then(|output| source(stage, output))
            .map(|(id, _)| id);
        let mut material = Material {
            prim: id,
            surface,
            shaders: Vec::new(),
            textures: Vec::new(),
            colors: BTreeSet::new(),
        };
        let is_known =
            |surface: &PrimId| stage[*surface].text("info:id") == Some("UsdPreviewSurface");
        let Some(surface) = surface.filter(is_known) else {
            return material;
        };
        material.shaders.push(surface);
        let mut textures: HashMap<PrimId, usize> = HashMap::new();
        let mut shaders: HashSet<PrimId> = [surface].into();
        for input_name in INPUTS {
            let Some(input) = stage[surface]
                .attributes
                .get(&format!("inputs:{input_name}"))
            else {
                continue;
            };
            let mut seen = HashSet::new();
            let mut next: Vec<(PrimId, String)> = source(stage, input).into_iter().collect();
            while let Some((shader, output)) = next.pop() {
                if !seen.insert((shader, output.clone())) {
                    continue;
                }
                if shaders.insert(shader) {
                    material.shaders.push(shader);
                }
                let prim = &stage[shader];
                match prim.text("info:id") {
                    Some("UsdUVTexture") => {
                        let feed = (input_name.to_owned(), output);
                        let known = textures.get(&shader);
                        if let Some(texture) = known.and_then(|&at| material.textures.get_mut(at)) {
                            texture.feeds.insert(feed);
                            continue;
                        }
                        let (texture, readers) = self.texture(stage, shader, feed);
                        material
                            .shaders
                            .extend(readers.into_iter().filter(|reader| shaders.insert(*reader)));
                        textures.insert(shader, material.textures.len());
                        material.textures.push(texture);
                        continue;
                    }
                    Some(reader) if reader.starts_with("UsdPrimvarReader") => {
                        material
                            .colors
                            .extend(input_text(stage, prim, "inputs:varname"));
                    }
                    _ => {}
                }
                let inputs = prim
                    .attributes
                    .iter()
                    .filter(|(name, _)| name.starts_with("inputs:"));
                next.extend(inputs.filter_map(|(_, input)| source(stage, input)));
            }
        }
        material
    }

    /// Returns a texture, and the shaders that provide its coordinates.
    fn texture(
        &self,
        stage: &Stage,
        shader: PrimId,
        feed: (String, String),
    ) -> (Texture, Vec<PrimId>) {
        let mut readers = Vec::new();
        let prim = &stage[shader];
        let image = self
            .by_attribute
            .get(&value_holder(stage, shader, "inputs:file"))
            .copied();
        let (mut primvar, mut is_transformed) = (None, false);
        let mut next = prim
            .attributes
            .get("inputs:st")
            .and_then(|input| source(stage, input));
        for _ in 0..MAX_CONNECTIONS {
            let Some((reader, _)) = next.take() else {
                break;
            };
            readers.push(reader);
            let reader = &stage[reader];
            if reader
                .text("info:id")
                .is_some_and(|id| id.starts_with("UsdPrimvarReader"))
            {
                primvar = input_text(stage, reader, "inputs:varname");
            } else {
                is_transformed = true;
                next = reader
                    .attributes
                    .get("inputs:in")
                    .and_then(|input| source(stage, input));
            }
        }
        let wraps = ["inputs:wrapS", "inputs:wrapT"].map(|name| input_text(stage, prim, name));
        let repeats = wraps.map(|wrap| matches!(wrap.as_deref(), Some("repeat" | "mirror")));
        (
            Texture {
                shader,
                image,
                feeds: [feed].into(),
                primvar,
                is_transformed,
                repeats,
            },
            readers,
        )
    }
}

/// Returns whether a path is a pattern of many tiles.
fn is_udim(path: &str) -> bool {
    ["<UDIM>", "<UVTILE", "%(UDIM)", "<udim>"]
        .iter()
        .any(|mark| path.contains(mark))
}

/// Extensions of image files.
const EXTENSIONS: [&str; 20] = [
    "avif", "basis", "bmp", "dds", "exr", "gif", "hdr", "heic", "jpeg", "jpg", "ktx", "ktx2",
    "png", "psd", "ptex", "tga", "tif", "tiff", "tx", "webp",
];

/// Returns whether a prim is part of the network of a material.
pub fn is_shading(prim: &Prim) -> bool {
    matches!(prim.type_name.as_str(), "Shader" | "NodeGraph" | "Material")
}

/// Iterates over the images that the attributes of a prim name.
///
/// Every file that an input of a shader names is an image, whatever its name.
fn images(stage: &Stage, id: PrimId, prim: &Prim) -> impl Iterator<Item = Image> {
    let is_shading = is_shading(prim);
    let is_in_dome = stage
        .ancestors(id)
        .any(|above| stage[above].type_name.starts_with("DomeLight"));
    prim.attributes.iter().flat_map(move |(name, attribute)| {
        let value = attribute
            .value
            .as_ref()
            .and_then(SharedValue::unless_large_array);
        let paths = value.map(asset_paths).unwrap_or_default();
        let is_texture = is_shading && name.starts_with("inputs:");
        // Before OpenUSD 21.02, the names of inputs of lights had no prefix.
        let is_of_light = !is_shading && name.trim_start_matches("inputs:") == "texture:file"
            || is_texture && is_in_dome;
        let is_image = move |path: &str| {
            let name = path.rsplit(['/', '[']).next().unwrap_or(path);
            let extension = name.trim_end_matches(']').rsplit_once('.');
            let extension = extension.map(|(_, extension)| extension.to_ascii_lowercase());
            is_texture
                || is_of_light
                || is_udim(path)
                || extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
        };
        let images = paths.into_iter().filter(move |(path, _)| is_image(path));
        images.map(move |(authored, resolved)| Image {
            prim: id,
            attribute: name.clone(),
            authored,
            resolved,
            is_of_light,
        })
    })
}

/// Follows the connections of an input or output to a shader, and the name of its output.
fn source(stage: &Stage, attribute: &Attribute) -> Option<(PrimId, String)> {
    let mut connection = attribute.connections.first()?;
    for _ in 0..MAX_CONNECTIONS {
        let (path, name) = connection.split_once('.')?;
        let id = stage.at(path)?;
        if stage[id].type_name == "Shader" {
            return Some((id, name.strip_prefix("outputs:").unwrap_or(name).to_owned()));
        }
        // Node graphs and materials forward the value.
        connection = stage[id].attributes.get(name)?.connections.first()?;
    }
    None
}

/// Follows the connections of an input to the prim and attribute that hold its value, such as an
/// input of the material.
fn value_holder(stage: &Stage, id: PrimId, input: &str) -> (PrimId, String) {
    let mut holder = (id, input.to_owned());
    for _ in 0..MAX_CONNECTIONS {
        let attribute = stage[holder.0].attributes.get(&holder.1);
        let Some((path, name)) = attribute
            .and_then(|a| a.connections.first())
            .and_then(|c| c.split_once('.'))
        else {
            break;
        };
        let Some(next) = stage.at(path).filter(|_| name.starts_with("inputs:")) else {
            break;
        };
        holder = (next, name.to_owned());
    }
    holder
}

fn input_text(stage: &Stage, prim: &Prim, input: &str) -> Option<String> {
    let (holder, name) = value_holder(stage, stage.at(&prim.path)?, input);
    stage[holder].text(&name).map(str::to_owned)
}
