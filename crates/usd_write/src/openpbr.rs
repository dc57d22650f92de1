//! `openpbr.usda`: the overlay with a MaterialX OpenPBR network on `outputs:mtlx:surface` of every
//! material.

use super::Scene;
use super::library::{Form, Instance, Look, MaterialEntry, Visual};
use urdf_usd_robot::{Channel, ImagePlacement, Map, MapRole, Material, PLAIN_IOR, Wrap};
use urdf_usd_usd_author::layout::{REPRESENTATION, TIERS};
use urdf_usd_usd_author::{Attribute, Layer, Prim, Value, token};

/// Version of MaterialX that defines the nodes used here.
const VERSION: &str = "1.39";

/// Maximum specular reflectance: a fully reflecting surface would need an infinite index of
/// refraction.
const MOST_MIRRORED: f32 = 0.99;

/// Path of the class prims that overlay the materials inside instances.
const INSTANCES: &str = "/OpenPbrInstances";

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let (mut layer, root) = super::layer(scene, "OpenPBR networks on outputs:mtlx:surface");
    layer.over(&root);
    for entry in scene.library.materials.values() {
        author_material(
            &mut layer,
            &format!("{root}/Materials/{}", entry.name),
            entry,
        );
    }
    for instance in scene.library.instances.values() {
        author_instance(scene, &mut layer, instance);
    }
    for (link, plan) in scene.plan.links.iter() {
        for visual in &scene.library.visuals[link] {
            refer_from(scene, &mut layer, &format!("{}/visual", plan.path), visual);
        }
    }
    layer
}

/// Overlays the materials inside an instance. Stronger opinions can't reach inside a shared
/// prototype, except through a reference on the visual itself: a class with overs for the
/// materials.
fn author_instance(scene: &Scene<'_>, layer: &mut Layer, instance: &Instance) {
    let Some(path) = overlay_of(scene, instance) else {
        return;
    };
    let Form::Mesh(mesh) = instance.form else {
        return;
    };
    layer.class(INSTANCES, "Scope");
    layer.class(&path, "Xform");
    for subset in &scene.library.meshes[mesh].subsets {
        let entry = &scene.library.materials[subset.material];
        author_material(layer, &format!("{path}/Materials/{}", entry.name), entry);
    }
}

/// Returns the path of the class that overlays an instance; `None` if the instance has no materials
/// of its own.
fn overlay_of(scene: &Scene<'_>, instance: &Instance) -> Option<String> {
    match instance.form {
        Form::Mesh(mesh) if !scene.library.meshes[mesh].subsets.is_empty() => {
            Some(format!("{INSTANCES}/{}", instance.name))
        }
        _ => None,
    }
}

/// Adds to a visual, in each variant, a reference to the overlay of its instance.
fn refer_from(scene: &Scene<'_>, layer: &mut Layer, scope: &str, visual: &Visual) {
    let mut refer = |path: String, look: Look| {
        if let Some(overlay) = overlay_of(scene, &scene.library.instances[look.instance]) {
            layer.over(&path).reference("", &overlay);
        }
    };
    if !visual.has_tiers() {
        refer(format!("{scope}/{}", visual.name), visual.default_look());
        return;
    }
    for (tier, look) in TIERS.into_iter().zip(visual.looks) {
        refer(
            format!("{scope}{{{REPRESENTATION}={tier}}}{}", visual.name),
            look,
        );
    }
}

/// Authors the network of a material with the values of its UsdPreviewSurface.
fn author_material(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    layer
        .over(path)
        .apply(["MaterialXConfigAPI"])
        .attribute("config:mtlx:version", Attribute::string(VERSION).uniform())
        .attribute(
            "outputs:mtlx:surface",
            Attribute::connected("token", format!("{path}/OpenPBR.outputs:out")),
        );
    author_surface(
        &mut layer.def(&format!("{path}/OpenPBR"), "Shader"),
        &entry.material,
    );
    author_base_color(layer, path, entry);
    author_opacity(layer, path, entry);
    author_maps(layer, path, entry);
}

/// Authors the constant inputs of a surface.
fn author_surface(surface: &mut Prim<'_>, material: &Material) {
    surface
        .attribute(
            "info:id",
            Attribute::token("ND_open_pbr_surface_surfaceshader").uniform(),
        )
        .attribute("inputs:base_metalness", Attribute::float(material.metallic))
        .attribute(
            "inputs:specular_roughness",
            Attribute::float(material.roughness),
        )
        .attribute("outputs:out", Attribute::declared("token"));
    // OpenPBR emits nothing by default: its luminance is 0.
    if material.emissive != [0.0; 3] {
        surface
            .attribute(
                "inputs:emission_color",
                Attribute::color3f(material.emissive),
            )
            .attribute("inputs:emission_luminance", Attribute::float(1.0));
    }
    if material.clearcoat > 0.0 {
        surface
            .attribute(
                "inputs:coat_roughness",
                Attribute::float(material.clearcoat_roughness),
            )
            .attribute("inputs:coat_weight", Attribute::float(material.clearcoat));
    }
    match material.specular {
        Some(specular) => author_specular(surface, specular),
        None if material.ior != PLAIN_IOR => {
            surface.attribute("inputs:specular_ior", Attribute::float(material.ior));
        }
        None => {}
    }
}

/// Authors a specular colour: its largest component becomes the index of refraction, and the colour
/// is divided by it.
fn author_specular(surface: &mut Prim<'_>, specular: [f32; 3]) {
    // Fresnel at normal incidence: F0 = ((n − 1) / (n + 1))², so n = (1 + √F0) / (1 − √F0).
    let most = specular.into_iter().fold(0.0, f32::max).min(MOST_MIRRORED);
    let root = most.sqrt();
    let color = specular.map(|part| {
        if most > 0.0 {
            (part / most).min(1.0)
        } else {
            0.0
        }
    });
    surface
        .attribute("inputs:specular_color", Attribute::color3f(color))
        .attribute(
            "inputs:specular_ior",
            Attribute::float((1.0 + root) / (1.0 - root)),
        );
}

/// Returns whether the opacity is the alpha channel of the base colour texture.
fn takes_alpha(material: &Material) -> bool {
    let texture = material.base_color_texture.as_ref();
    texture.is_some_and(|texture| texture.has_alpha)
        && !material.maps.contains_key(&MapRole::Opacity)
}

/// Authors the base colour: a texture, vertex colours, or a constant.
fn author_base_color(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    let material = &entry.material;
    let surface = format!("{path}/OpenPBR");
    let set = |layer: &mut Layer, color| {
        layer.over(&surface).attribute("inputs:base_color", color);
    };
    let connected =
        |node: &str| Attribute::connected("color3f", format!("{path}/{node}.outputs:out"));
    if let Some(texture) = &material.base_color_texture {
        let has_alpha = takes_alpha(material);
        let node = if has_alpha {
            "MtlxColor"
        } else {
            "MtlxTexture"
        };
        set(layer, connected(node));
        author_texture(
            layer,
            path,
            entry.file(texture),
            material.base_color,
            has_alpha,
        );
        author_coordinates(
            layer,
            path,
            &format!("{path}/MtlxTexture"),
            &material.base_color_placement,
        );
    } else if entry.from_corners.color {
        set(layer, connected("MtlxCornerColor"));
        author_primvar_reader(
            layer,
            &format!("{path}/MtlxCornerColor"),
            "color3",
            "color3f",
            "displayColor",
        );
    } else {
        let [red, green, blue, _] = material.base_color;
        set(layer, Attribute::color3f([red, green, blue]));
    }
}

/// Authors the opacity, unless it comes from a separate image: `author_maps` handles that.
fn author_opacity(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    let material = &entry.material;
    if material.maps.contains_key(&MapRole::Opacity) {
        return;
    }
    let [.., opacity] = material.base_color;
    let connected =
        |node: &str| Attribute::connected("float", format!("{path}/{node}.outputs:out"));
    let value = if takes_alpha(material) {
        connected("MtlxOpacity")
    } else if entry.from_corners.opacity {
        author_primvar_reader(
            layer,
            &format!("{path}/MtlxCornerOpacity"),
            "float",
            "float",
            "displayOpacity",
        );
        connected("MtlxCornerOpacity")
    } else if opacity < 1.0 {
        Attribute::float(opacity)
    } else {
        return;
    };
    layer
        .over(&format!("{path}/OpenPBR"))
        .attribute("inputs:geometry_opacity", value);
}

/// Authors the images other than the base colour's.
fn author_maps(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    let material = &entry.material;
    for (&role, map) in &material.maps {
        if let Some(use_of_map) = MapUse::of(role, map, material) {
            author_map(layer, path, entry, &use_of_map);
        }
    }
    if material.base_color_texture.is_none() && material.has_textures() {
        author_primvar_reader(
            layer,
            &format!("{path}/MtlxTexCoord"),
            "vector2",
            "float2",
            "st",
        );
    }
}

/// The connection of an image to an input of the surface.
struct MapUse<'a> {
    role: MapRole,
    map: &'a Map,
    /// Name of its nodes, after the prefix `Mtlx`.
    word: &'static str,
    /// The connected input of the surface.
    input: &'static str,
    /// Factor applied to the image.
    factor: f32,
}

impl<'a> MapUse<'a> {
    /// Returns the connection of a map; `None` for occlusion, which has no OpenPBR input because
    /// the intended renderers compute it.
    fn of(role: MapRole, map: &'a Map, material: &Material) -> Option<Self> {
        let (word, input, factor) = match role {
            MapRole::Normal => ("Normal", "inputs:geometry_normal", map.strength),
            MapRole::Roughness => ("Roughness", "inputs:specular_roughness", material.roughness),
            MapRole::Metallic => ("Metallic", "inputs:base_metalness", material.metallic),
            MapRole::Opacity => ("Opacity", "inputs:geometry_opacity", material.base_color[3]),
            MapRole::Emissive => ("Emissive", "inputs:emission_color", 1.0),
            MapRole::Clearcoat => ("Clearcoat", "inputs:coat_weight", material.clearcoat),
            MapRole::ClearcoatRoughness => (
                "ClearcoatRoughness",
                "inputs:coat_roughness",
                material.clearcoat_roughness,
            ),
            MapRole::Occlusion => return None,
        };
        Some(Self {
            role,
            map,
            word,
            input,
            factor,
        })
    }
}

/// Authors an image, and the nodes between it and the input of the surface.
fn author_map(layer: &mut Layer, path: &str, entry: &MaterialEntry, of: &MapUse<'_>) {
    let &MapUse { role, map, .. } = of;
    let image = format!("{path}/Mtlx{}Texture", of.word);
    let (node, type_name, space) = match role {
        MapRole::Emissive => ("ND_image_color3", "color3f", "srgb_texture"),
        MapRole::Normal => ("ND_image_vector3", "float3", "raw"),
        _ => ("ND_image_vector4", "float4", "raw"),
    };
    layer
        .def(&image, "Shader")
        .attribute("info:id", Attribute::token(node).uniform())
        .attribute(
            "inputs:file",
            Attribute::asset(format!("./{}", entry.file(&map.texture)))
                .metadata("colorSpace", token(space)),
        )
        .attribute("outputs:out", Attribute::declared(type_name));
    author_coordinates(layer, path, &image, &map.placement);
    let mut end = Output {
        node: image,
        type_name,
    };
    for node in nodes_of_map(of, &entry.material) {
        end = node.author(layer, &format!("{path}/Mtlx{}", of.word), &end);
    }
    layer
        .over(&format!("{path}/OpenPBR"))
        .attribute(of.input, end.connected());
}

/// Returns the nodes applied to an image, in order.
fn nodes_of_map(of: &MapUse<'_>, material: &Material) -> Vec<Node> {
    let mut nodes = Vec::new();
    match of.role {
        MapRole::Normal => nodes.push(Node {
            id: "ND_normalmap_float",
            suffix: "Map",
            input: "inputs:in",
            parameter: ("inputs:scale", Attribute::float(of.factor)),
            type_name: "float3",
        }),
        MapRole::Emissive if material.emissive == [1.0; 3] => {}
        MapRole::Emissive => nodes.push(Node {
            id: "ND_multiply_color3",
            suffix: "Factor",
            input: "inputs:in1",
            parameter: ("inputs:in2", Attribute::color3f(material.emissive)),
            type_name: "color3f",
        }),
        _ => {
            let channel = Channel::ALL
                .iter()
                .position(|channel| *channel == of.map.channel)
                .unwrap_or_default();
            nodes.push(Node {
                id: "ND_extract_vector4",
                suffix: "Channel",
                input: "inputs:in",
                parameter: ("inputs:index", Attribute::int(channel as i32)),
                type_name: "float",
            });
            if of.factor != 1.0 {
                nodes.push(Node {
                    id: "ND_multiply_float",
                    suffix: "Factor",
                    input: "inputs:in1",
                    parameter: ("inputs:in2", Attribute::float(of.factor)),
                    type_name: "float",
                });
            }
        }
    }
    nodes
}

/// The output of a node.
struct Output {
    /// The node's path.
    node: String,
    type_name: &'static str,
}

impl Output {
    /// Returns an input connected to it.
    fn connected(&self) -> Attribute {
        Attribute::connected(self.type_name, format!("{}.outputs:out", self.node))
    }
}

/// A node with one connected input and one parameter.
struct Node {
    id: &'static str,
    /// Suffix of its name.
    suffix: &'static str,
    /// The connected input.
    input: &'static str,
    parameter: (&'static str, Attribute),
    /// Type of its output.
    type_name: &'static str,
}

impl Node {
    /// Authors the node, with a name that starts with `prefix`, connected to `source`.
    fn author(self, layer: &mut Layer, prefix: &str, source: &Output) -> Output {
        let (parameter, value) = self.parameter;
        let node = format!("{prefix}{}", self.suffix);
        layer
            .def(&node, "Shader")
            .attribute("info:id", Attribute::token(self.id).uniform())
            .attribute(self.input, source.connected())
            .attribute("outputs:out", Attribute::declared(self.type_name))
            .attribute(parameter, value);
        Output {
            node,
            type_name: self.type_name,
        }
    }
}

/// Authors the image of a texture: its colour, and its opacity if it has an alpha channel.
fn author_texture(layer: &mut Layer, path: &str, file: &str, fallback: [f32; 4], has_alpha: bool) {
    let [red, green, blue, _] = fallback;
    let (node, type_name, default) = if has_alpha {
        (
            "ND_image_color4",
            "color4f",
            Attribute::new("color4f", Value::Vec4f(fallback.into())),
        )
    } else {
        (
            "ND_image_color3",
            "color3f",
            Attribute::color3f([red, green, blue]),
        )
    };
    layer
        .def(&format!("{path}/MtlxTexture"), "Shader")
        .attribute("info:id", Attribute::token(node).uniform())
        .attribute("inputs:default", default)
        .attribute(
            "inputs:file",
            Attribute::asset(format!("./{file}")).metadata("colorSpace", token("srgb_texture")),
        )
        .attribute("outputs:out", Attribute::declared(type_name));
    author_primvar_reader(
        layer,
        &format!("{path}/MtlxTexCoord"),
        "vector2",
        "float2",
        "st",
    );
    if has_alpha {
        let texture = || Attribute::connected("color4f", format!("{path}/MtlxTexture.outputs:out"));
        layer
            .def(&format!("{path}/MtlxColor"), "Shader")
            .attribute(
                "info:id",
                Attribute::token("ND_convert_color4_color3").uniform(),
            )
            .attribute("inputs:in", texture())
            .attribute("outputs:out", Attribute::declared("color3f"));
        layer
            .def(&format!("{path}/MtlxOpacity"), "Shader")
            .attribute("info:id", Attribute::token("ND_extract_color4").uniform())
            .attribute("inputs:in", texture())
            .attribute("inputs:index", Attribute::int(3))
            .attribute("outputs:out", Attribute::declared("float"));
    }
}

/// Authors the placement of the image at `image`: its texture coordinates, each the dot product
/// with a row of the transform, and its wrap modes.
fn author_coordinates(layer: &mut Layer, path: &str, image: &str, placement: &ImagePlacement) {
    let mut end = format!("{path}/MtlxTexCoord");
    if placement.is_moved() {
        let (sin, cos) = placement.rotation.sin_cos();
        let [width, height] = placement.scale.map(f64::from);
        let rows = [
            ("S", [cos * width, -sin * height]),
            ("T", [sin * width, cos * height]),
        ];
        for (axis, row) in rows {
            layer
                .def(&format!("{image}{axis}"), "Shader")
                .attribute(
                    "info:id",
                    Attribute::token("ND_dotproduct_vector2").uniform(),
                )
                .attribute(
                    "inputs:in1",
                    Attribute::connected("float2", format!("{end}.outputs:out")),
                )
                .attribute("inputs:in2", Attribute::float2(row.map(|part| part as f32)))
                .attribute("outputs:out", Attribute::declared("float"));
        }
        let mut turned = layer.def(&format!("{image}Turned"), "Shader");
        turned.attribute("info:id", Attribute::token("ND_combine2_vector2").uniform());
        for (input, (axis, _)) in ["inputs:in1", "inputs:in2"].into_iter().zip(rows) {
            turned.attribute(
                input,
                Attribute::connected("float", format!("{image}{axis}.outputs:out")),
            );
        }
        turned.attribute("outputs:out", Attribute::declared("float2"));
        end = format!("{image}Placed");
        layer
            .def(&end, "Shader")
            .attribute("info:id", Attribute::token("ND_add_vector2").uniform())
            .attribute(
                "inputs:in1",
                Attribute::connected("float2", format!("{image}Turned.outputs:out")),
            )
            .attribute("inputs:in2", Attribute::float2(placement.translation))
            .attribute("outputs:out", Attribute::declared("float2"));
    }
    let mut shader = layer.over(image);
    shader.attribute(
        "inputs:texcoord",
        Attribute::connected("float2", format!("{end}.outputs:out")),
    );
    for (name, wrap) in ["inputs:uaddressmode", "inputs:vaddressmode"]
        .into_iter()
        .zip(placement.wrap)
    {
        let mode = match wrap {
            // MaterialX's default.
            Wrap::Repeat => continue,
            Wrap::Mirror => "mirror",
            Wrap::Clamp => "clamp",
        };
        shader.attribute(name, Attribute::string(mode).uniform());
    }
}

/// Authors a node that reads the primvar `name`, with the type `kind` in MaterialX and `type_name`
/// in USD.
fn author_primvar_reader(
    layer: &mut Layer,
    path: &str,
    kind: &str,
    type_name: &'static str,
    name: &str,
) {
    layer
        .def(path, "Shader")
        .attribute(
            "info:id",
            Attribute::token(format!("ND_geompropvalue_{kind}")).uniform(),
        )
        .attribute("inputs:geomprop", Attribute::string(name))
        .attribute("outputs:out", Attribute::declared(type_name));
}
