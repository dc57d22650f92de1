//! `materials.usda`: every distinct material once, as UsdPreviewSurface (REP-158 §3.1) in linear
//! colour.
//!
//! Materials that show vertex colours read the mesh's primvars `displayColor` and `displayOpacity`
//! explicitly: renderers show these only on meshes without a material.

use super::Scene;
use super::library::MaterialEntry;
use urdf_usd_robot::{Channel, ImagePlacement, Map, MapRole, Material, PLAIN_IOR, Wrap};
use urdf_usd_usd_author::{Attribute, Layer, Prim};

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let mut layer = Layer::new("Every distinct material once", "Materials");
    layer.def("/Materials", "Scope");
    for entry in scene.library.materials.values() {
        author_material(&mut layer, entry);
    }
    layer
}

fn author_material(layer: &mut Layer, entry: &MaterialEntry) {
    let path = format!("/Materials/{}", entry.name);
    let material = &entry.material;
    let mut prim = layer.def(&path, "Material");
    if !material.name.is_empty() && material.name != entry.name {
        prim.display_name(&material.name);
    }
    prim.attribute(
        "outputs:surface",
        Attribute::connected("token", format!("{path}/PreviewSurface.outputs:surface")),
    );
    let mut surface = layer.def(&format!("{path}/PreviewSurface"), "Shader");
    author_numbers(&mut surface, entry);
    author_color(&mut surface, &path, entry);
    if entry.from_corners.color {
        author_primvar_reader(
            layer,
            &format!("{path}/CornerColor"),
            "float3",
            "displayColor",
        );
    }
    if entry.from_corners.opacity {
        author_primvar_reader(
            layer,
            &format!("{path}/CornerOpacity"),
            "float",
            "displayOpacity",
        );
    }
    if material.has_textures() {
        author_images(layer, &path, entry);
    }
}

/// Authors the numeric inputs of the surface, whether or not there are images.
fn author_numbers(surface: &mut Prim<'_>, entry: &MaterialEntry) {
    let material = &entry.material;
    surface
        .attribute("info:id", Attribute::token("UsdPreviewSurface").uniform())
        .attribute("inputs:metallic", Attribute::float(material.metallic))
        .attribute("inputs:roughness", Attribute::float(material.roughness))
        .attribute("outputs:surface", Attribute::declared("token"));
    if material.emissive != [0.0; 3] {
        surface.attribute(
            "inputs:emissiveColor",
            Attribute::color3f(material.emissive),
        );
    }
    if material.ior != PLAIN_IOR {
        surface.attribute("inputs:ior", Attribute::float(material.ior));
    }
    if let Some(specular) = material.specular {
        surface
            .attribute("inputs:specularColor", Attribute::color3f(specular))
            .attribute("inputs:useSpecularWorkflow", Attribute::int(1));
    }
    if material.clearcoat > 0.0 {
        surface
            .attribute("inputs:clearcoat", Attribute::float(material.clearcoat))
            .attribute(
                "inputs:clearcoatRoughness",
                Attribute::float(material.clearcoat_roughness),
            );
    }
    let [_, _, _, opacity] = material.base_color;
    let is_translucent =
        material.has_opacity_image() || opacity < 1.0 || entry.from_corners.opacity;
    if let Some(threshold) = material
        .opacity_threshold
        .filter(|threshold| *threshold > 0.0 && is_translucent)
    {
        surface.attribute("inputs:opacityThreshold", Attribute::float(threshold));
    }
}

/// Authors the colour and the opacity of the surface: an image, vertex colours, or numbers.
fn author_color(surface: &mut Prim<'_>, path: &str, entry: &MaterialEntry) {
    let (material, from_corners) = (&entry.material, entry.from_corners);
    let [red, green, blue, opacity] = material.base_color;
    match &material.base_color_texture {
        Some(_) => {
            surface.attribute(
                "inputs:diffuseColor",
                Attribute::connected("color3f", format!("{path}/Texture.outputs:rgb")),
            );
        }
        None if from_corners.color => {
            let source = format!("{path}/CornerColor.outputs:result");
            surface.attribute(
                "inputs:diffuseColor",
                Attribute::connected("color3f", source),
            );
        }
        None => {
            surface.attribute(
                "inputs:diffuseColor",
                Attribute::color3f([red, green, blue]),
            );
        }
    }
    match &material.base_color_texture {
        _ if material.maps.contains_key(&MapRole::Opacity) => {}
        Some(texture) if texture.has_alpha => {
            surface.attribute(
                "inputs:opacity",
                Attribute::connected("float", format!("{path}/Texture.outputs:a")),
            );
        }
        _ if from_corners.opacity => {
            let source = format!("{path}/CornerOpacity.outputs:result");
            surface.attribute("inputs:opacity", Attribute::connected("float", source));
        }
        _ if opacity < 1.0 => {
            surface.attribute("inputs:opacity", Attribute::float(opacity));
        }
        _ => {}
    }
}

/// Authors the images of a material and their placement.
fn author_images(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    let material = &entry.material;
    let lies = |placement| Lies {
        placement,
        material,
    };
    if let Some(texture) = &material.base_color_texture {
        let mut shader = author_image(
            layer,
            path,
            "Texture",
            entry.file(texture),
            true,
            &lies(material.base_color_placement),
        );
        shader
            .attribute("inputs:fallback", Attribute::float4(material.base_color))
            .attribute("outputs:rgb", Attribute::declared("float3"));
        if texture.has_alpha && !material.maps.contains_key(&MapRole::Opacity) {
            shader.attribute("outputs:a", Attribute::declared("float"));
        }
    }
    if let Some(map) = material.maps.get(&MapRole::Normal) {
        // Maps the range 0 to 1 to −1 to 1.
        let (s, file) = (map.strength, entry.file(&map.texture));
        author_image(
            layer,
            path,
            "NormalTexture",
            file,
            false,
            &lies(map.placement),
        )
        .attribute("inputs:bias", Attribute::float4([-s, -s, -1.0, 0.0]))
        .attribute("inputs:fallback", Attribute::float4([0.0, 0.0, 1.0, 1.0]))
        .attribute(
            "inputs:scale",
            Attribute::float4([2.0 * s, 2.0 * s, 2.0, 1.0]),
        )
        .attribute("outputs:rgb", Attribute::declared("float3"));
        let source = format!("{path}/NormalTexture.outputs:rgb");
        author_surface(
            layer,
            path,
            "inputs:normal",
            Attribute::connected("normal3f", source),
        );
    }
    if let Some(map) = material.maps.get(&MapRole::Emissive) {
        let [red, green, blue] = material.emissive;
        let file = entry.file(&map.texture);
        let mut shader = author_image(
            layer,
            path,
            "EmissiveTexture",
            file,
            true,
            &lies(map.placement),
        );
        shader
            .attribute("inputs:fallback", Attribute::float4([0.0, 0.0, 0.0, 1.0]))
            .attribute("outputs:rgb", Attribute::declared("float3"));
        if material.emissive != [1.0; 3] {
            shader.attribute("inputs:scale", Attribute::float4([red, green, blue, 1.0]));
        }
        let source = format!("{path}/EmissiveTexture.outputs:rgb");
        author_surface(
            layer,
            path,
            "inputs:emissiveColor",
            Attribute::connected("color3f", source),
        );
    }
    author_scalars(layer, path, entry);
    author_primvar_reader(layer, &format!("{path}/TexCoord"), "float2", "st");
    author_transforms(layer, path, material);
}

/// Authors the transforms of texture coordinates.
fn author_transforms(layer: &mut Layer, path: &str, material: &Material) {
    for (number, placement) in transforms(material).into_iter().enumerate() {
        let [scale, translation] = [placement.scale, placement.translation];
        layer
            .def(&format!("{path}/{}", transform_name(number)), "Shader")
            .attribute("info:id", Attribute::token("UsdTransform2d").uniform())
            .attribute(
                "inputs:in",
                Attribute::connected("float2", format!("{path}/TexCoord.outputs:result")),
            )
            .attribute(
                "inputs:rotation",
                Attribute::float(placement.rotation.to_degrees() as f32),
            )
            .attribute("inputs:scale", Attribute::float2(scale))
            .attribute("inputs:translation", Attribute::float2(translation))
            .attribute("outputs:result", Attribute::declared("float2"));
    }
}

/// Returns the distinct transforms of texture coordinates that the material's images need.
fn transforms(material: &Material) -> Vec<ImagePlacement> {
    let of_color = material
        .base_color_texture
        .as_ref()
        .map(|_| material.base_color_placement);
    let mut found: Vec<ImagePlacement> = Vec::new();
    for placement in of_color
        .into_iter()
        .chain(material.maps.values().map(|map| map.placement))
    {
        // Wrap modes belong to the shader of the image, so they do not need a transform of their
        // own.
        let placement = ImagePlacement {
            wrap: Default::default(),
            ..placement
        };
        if placement.is_moved() && !found.contains(&placement) {
            found.push(placement);
        }
    }
    found
}

fn transform_name(number: usize) -> String {
    if number == 0 {
        "Transform".to_owned()
    } else {
        format!("Transform{}", number + 1)
    }
}

/// Authors roughness, metalness, occlusion, opacity and clear coat. An image that provides several
/// of them is one shader.
fn author_scalars(layer: &mut Layer, path: &str, entry: &MaterialEntry) {
    let material = &entry.material;
    let lies = |placement| Lies {
        placement,
        material,
    };
    let mut done: Vec<MapRole> = Vec::new();
    for role in SCALARS {
        let Some(map) = material.maps.get(&role).filter(|_| !done.contains(&role)) else {
            continue;
        };
        let mut roles = vec![(role, map)];
        let others = SCALARS
            .into_iter()
            .filter(|other| *other != role && !done.contains(other))
            .filter_map(|other| Some((other, material.maps.get(&other)?)));
        for (other, of_other) in others {
            let is_same = of_other.texture.sha256 == map.texture.sha256
                && of_other.placement == map.placement;
            // A shader has one scale and bias per channel, so roles of one channel need shaders of
            // their own.
            let shares = |(_, known): &(MapRole, &Map)| known.channel == of_other.channel;
            if is_same && !roles.iter().any(shares) {
                roles.push((other, of_other));
            }
        }
        let words: String = roles.iter().map(|(role, _)| word(*role)).collect();
        let name = format!("{words}Texture");
        let (mut scale, mut bias, mut fallback) =
            ([1.0_f32; 4], [0.0_f32; 4], [0.0, 0.0, 0.0, 1.0_f32]);
        for (role, map) in &roles {
            let (factor, least) = match role {
                MapRole::Roughness => (material.roughness, 0.0),
                MapRole::Metallic => (material.metallic, 0.0),
                MapRole::Opacity => (material.base_color[3], 0.0),
                MapRole::Clearcoat => (material.clearcoat, 0.0),
                MapRole::ClearcoatRoughness => (material.clearcoat_roughness, 0.0),
                // Occlusion of strength s is 1 + s · (value − 1), as in glTF 2.0.
                _ => (map.strength, 1.0 - map.strength),
            };
            *component(&mut scale, map.channel) = factor;
            *component(&mut bias, map.channel) = least;
            *component(&mut fallback, map.channel) = factor + least;
        }
        let mut shader = author_image(
            layer,
            path,
            &name,
            entry.file(&map.texture),
            false,
            &lies(map.placement),
        );
        shader.attribute("inputs:fallback", Attribute::float4(fallback));
        if scale != [1.0; 4] {
            shader.attribute("inputs:scale", Attribute::float4(scale));
        }
        if bias != [0.0; 4] {
            shader.attribute("inputs:bias", Attribute::float4(bias));
        }
        for (role, map) in &roles {
            let output = *component(&mut ["r", "g", "b", "a"], map.channel);
            layer
                .over(&format!("{path}/{name}"))
                .attribute(&format!("outputs:{output}"), Attribute::declared("float"));
            let source = format!("{path}/{name}.outputs:{output}");
            author_surface(
                layer,
                path,
                input(*role),
                Attribute::connected("float", source),
            );
        }
        done.extend(roles.into_iter().map(|(role, _)| role));
    }
}

/// The roles of single-channel maps.
const SCALARS: [MapRole; 6] = [
    MapRole::Occlusion,
    MapRole::Roughness,
    MapRole::Metallic,
    MapRole::Opacity,
    MapRole::Clearcoat,
    MapRole::ClearcoatRoughness,
];

/// Returns the name of a map's shader.
fn word(role: MapRole) -> &'static str {
    match role {
        MapRole::Normal => "Normal",
        MapRole::Occlusion => "Occlusion",
        MapRole::Roughness => "Roughness",
        MapRole::Metallic => "Metallic",
        MapRole::Opacity => "Opacity",
        MapRole::Emissive => "Emissive",
        MapRole::Clearcoat => "Clearcoat",
        MapRole::ClearcoatRoughness => "ClearcoatRoughness",
    }
}

/// Returns the input of UsdPreviewSurface for a map.
fn input(role: MapRole) -> &'static str {
    match role {
        MapRole::Normal => "inputs:normal",
        MapRole::Occlusion => "inputs:occlusion",
        MapRole::Roughness => "inputs:roughness",
        MapRole::Metallic => "inputs:metallic",
        MapRole::Opacity => "inputs:opacity",
        MapRole::Emissive => "inputs:emissiveColor",
        MapRole::Clearcoat => "inputs:clearcoat",
        MapRole::ClearcoatRoughness => "inputs:clearcoatRoughness",
    }
}

/// Returns the component of an RGBA array that a channel selects.
fn component<T>([red, green, blue, alpha]: &mut [T; 4], channel: Channel) -> &mut T {
    match channel {
        Channel::Red => red,
        Channel::Green => green,
        Channel::Blue => blue,
        Channel::Alpha => alpha,
    }
}

/// Authors an input of the surface, replacing a number authored before.
fn author_surface(layer: &mut Layer, path: &str, name: &str, attribute: Attribute) {
    layer
        .over(&format!("{path}/PreviewSurface"))
        .attribute(name, attribute);
}

/// Authors a shader that reads a colour or data image.
fn author_image<'a>(
    layer: &'a mut Layer,
    path: &str,
    name: &str,
    file: &str,
    is_color: bool,
    lies: &Lies<'_>,
) -> Prim<'a> {
    let [s, t] = lies.placement.wrap.map(|wrap| match wrap {
        Wrap::Repeat => "repeat",
        Wrap::Mirror => "mirror",
        Wrap::Clamp => "clamp",
    });
    let mut shader = layer.def(&format!("{path}/{name}"), "Shader");
    shader
        .attribute("info:id", Attribute::token("UsdUVTexture").uniform())
        .attribute("inputs:file", Attribute::asset(format!("./{file}")))
        .attribute(
            "inputs:sourceColorSpace",
            Attribute::token(if is_color { "sRGB" } else { "raw" }),
        )
        .attribute(
            "inputs:st",
            Attribute::connected(
                "float2",
                format!("{path}/{}.outputs:result", lies.coordinates()),
            ),
        )
        .attribute("inputs:wrapS", Attribute::token(s))
        .attribute("inputs:wrapT", Attribute::token(t));
    shader
}

/// The placement of an image of a material.
struct Lies<'m> {
    placement: ImagePlacement,
    material: &'m Material,
}

impl Lies<'_> {
    /// Returns the shader that provides the image's texture coordinates.
    fn coordinates(&self) -> String {
        let placement = ImagePlacement {
            wrap: Default::default(),
            ..self.placement
        };
        let number = transforms(self.material)
            .iter()
            .position(|known| *known == placement);
        number.map_or_else(|| "TexCoord".to_owned(), transform_name)
    }
}

/// Authors a shader that reads the primvar `name`.
fn author_primvar_reader(layer: &mut Layer, path: &str, type_name: &'static str, name: &str) {
    layer
        .def(path, "Shader")
        .attribute(
            "info:id",
            Attribute::token(format!("UsdPrimvarReader_{type_name}")).uniform(),
        )
        .attribute("inputs:varname", Attribute::string(name))
        .attribute("outputs:result", Attribute::declared(type_name));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Options, Overlay, write};
    use urdf_usd_robot::{Corners, ImageFormat, Material, Mesh, MeshArrays, Part, Texture};

    /// Returns two triangles; the first has no material of its own, the second has `own`.
    fn sheet(colors: Option<[[f32; 4]; 2]>, own: Material) -> Mesh {
        let arrays = MeshArrays {
            points: vec![
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [1.0, 2.0, 0.0],
                [0.0, 2.0, 0.0],
            ],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            normals: Corners {
                values: vec![[0.0, 0.0, 1.0]],
                indices: vec![[0; 3]; 2],
            },
            uvs: Some(Corners {
                values: vec![[0.0; 2]],
                indices: vec![[0; 3]; 2],
            }),
            colors: colors.map(|values| Corners {
                values: values.to_vec(),
                indices: vec![[0, 1, 1], [0; 3]],
            }),
        };
        let parts = vec![
            Part {
                triangles: 0..1,
                material: None,
            },
            Part {
                triangles: 1..2,
                material: Some(0),
            },
        ];
        Mesh::new(arrays, parts, vec![own])
    }

    /// Returns, by name, the layers of a robot with one visual that shows `mesh`.
    fn layers(mesh: Mesh, material: &str) -> impl Fn(&str) -> String {
        let urdf = format!(
            "<robot name='r'><link name='a'><visual><geometry><mesh filename='sheet.obj'/></geometry>{material}</visual></link></robot>"
        );
        let outcome = urdf_usd_urdf::read(&urdf, None);
        let mut robot = outcome.robot.unwrap();
        let mesh = Arc::new(mesh.into());
        outcome.references.meshes[0]
            .settle(&mut robot, mesh)
            .unwrap();
        let options = Options {
            entry: "r".into(),
            overlays: vec![Overlay::OpenPbr],
            ..Options::default()
        };
        let asset = write(&robot, &options, &urdf_usd_store::Store::none()).unwrap();
        move |name| String::from_utf8(asset.files[name].bytes().unwrap().into()).unwrap()
    }

    const OPAQUE: [[f32; 4]; 2] = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]];
    const TRANSLUCENT: [[f32; 4]; 2] = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.5]];

    #[test]
    fn the_colours_of_corners_are_read_where_they_show() {
        let green = || Material::plain("green", [0.0, 1.0, 0.0, 1.0]);
        let readers = |text: &str| {
            ["UsdPrimvarReader_float3", "UsdPrimvarReader_float\""]
                .map(|id| text.matches(id).count())
        };
        let shown = |colors, own, material| {
            readers(&layers(sheet(colors, own), material)("materials.usda"))
        };
        assert_eq!(shown(None, green(), ""), [0, 0]);
        assert_eq!(shown(Some(OPAQUE), green(), ""), [1, 0]);
        assert_eq!(shown(Some(TRANSLUCENT), green(), ""), [1, 1]);
        let red = "<material name='red'><color rgba='1 0 0 1'/></material>";
        assert_eq!(
            shown(Some(TRANSLUCENT), green(), red),
            [0, 0],
            "the robot's material covers them"
        );
        let own = || Material {
            roughness: 0.25,
            ..Material::of_corners("own")
        };
        assert_eq!(
            shown(Some(OPAQUE), own(), red),
            [1, 0],
            "the mesh's own shows them"
        );
        assert_eq!(shown(None, own(), red), [0, 0], "there are none to show");
        let layer = layers(sheet(Some(TRANSLUCENT), own()), "");
        let text = layer("materials.usda");
        assert_eq!(readers(&text), [2, 2]);
        assert!(
            text.contains(r#"def Material "own""#)
                && text.contains(r#"def Material "corner_colors""#),
            "{text}"
        );
        assert!(
            text.contains(
                "color3f inputs:diffuseColor.connect = </Materials/own/CornerColor.outputs:result>"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "float inputs:opacity.connect = </Materials/own/CornerOpacity.outputs:result>"
            ),
            "{text}"
        );
        assert!(text.contains("float inputs:roughness = 0.25"), "{text}");
        let overlay = layer("openpbr.usda");
        // The mesh's own material occurs twice: it is overlaid inside the instance too.
        assert_eq!(
            overlay.matches("ND_geompropvalue_color3").count(),
            3,
            "{overlay}"
        );
        assert_eq!(
            overlay.matches("ND_geompropvalue_float").count(),
            3,
            "{overlay}"
        );
    }

    #[test]
    fn a_texture_shows_alone() {
        let reads = |has_alpha, colors| {
            let texture = Texture {
                name: "wood".into(),
                format: ImageFormat::Png,
                bytes: Arc::from(*b"image"),
                sha256: "0".into(),
                has_alpha,
            };
            let own = Material {
                base_color_texture: Some(Arc::new(texture)),
                ..Material::of_corners("own")
            };
            let red = "<material name='red'><color rgba='1 0 0 1'/></material>";
            let text = layers(sheet(Some(colors), own), red)("materials.usda");
            assert!(
                text.contains(
                    "color3f inputs:diffuseColor.connect = </Materials/own/Texture.outputs:rgb>"
                ),
                "{text}"
            );
            (
                text.contains("CornerColor"),
                text.contains("CornerOpacity"),
                text.contains("Texture.outputs:a>"),
            )
        };
        assert_eq!(reads(false, OPAQUE), (false, false, false));
        assert_eq!(
            reads(false, TRANSLUCENT),
            (false, true, false),
            "what the texture does not say the corners do"
        );
        assert_eq!(reads(true, TRANSLUCENT), (false, false, true));
    }

    #[test]
    fn maps_are_read_by_channel() {
        use urdf_usd_robot::{Channel, Map, MapRole};
        let texture = |name: &str| {
            Arc::new(Texture {
                name: name.into(),
                format: ImageFormat::Png,
                bytes: Arc::from(name.as_bytes()),
                sha256: name.into(),
                has_alpha: false,
            })
        };
        let orm = texture("orm");
        let map = |channel, strength| Map {
            strength,
            ..Map::of(orm.clone(), channel)
        };
        let mut own = Material {
            roughness: 0.5,
            ior: 1.25,
            emissive: [1.0, 2.0, 0.0],
            ..Material::plain("own", [0.0, 1.0, 0.0, 0.5])
        };
        own.maps = [
            (MapRole::Occlusion, map(Channel::Red, 0.25)),
            (MapRole::Roughness, map(Channel::Green, 1.0)),
            (MapRole::Metallic, Map::of(texture("metal"), Channel::Blue)),
            (MapRole::Opacity, Map::of(texture("hole"), Channel::Red)),
            (
                MapRole::Normal,
                Map {
                    strength: 0.5,
                    ..Map::of(texture("normals"), Channel::Red)
                },
            ),
            (MapRole::Emissive, Map::of(texture("glow"), Channel::Red)),
        ]
        .into();
        own.metallic = 1.0;
        let layer = layers(sheet(None, own), "");
        let text = layer("materials.usda");
        let own = text
            .split("def Material ")
            .find(|text| text.starts_with("\"own\""))
            .unwrap();
        for line in [
            "float inputs:occlusion.connect = </Materials/own/OcclusionRoughnessTexture.outputs:r>",
            "float inputs:roughness.connect = </Materials/own/OcclusionRoughnessTexture.outputs:g>",
            "float4 inputs:scale = (0.25, 0.5, 1, 1)",
            "float4 inputs:bias = (0.75, 0, 0, 0)",
            "float inputs:metallic.connect = </Materials/own/MetallicTexture.outputs:b>",
            "float inputs:opacity.connect = </Materials/own/OpacityTexture.outputs:r>",
            "float4 inputs:scale = (0.5, 1, 1, 1)",
            "normal3f inputs:normal.connect = </Materials/own/NormalTexture.outputs:rgb>",
            "float4 inputs:scale = (1, 1, 2, 1)",
            "float4 inputs:bias = (-0.5, -0.5, -1, 0)",
            "color3f inputs:emissiveColor.connect = </Materials/own/EmissiveTexture.outputs:rgb>",
            "float4 inputs:scale = (1, 2, 0, 1)",
            "float inputs:ior = 1.25",
            "asset inputs:file = @./textures/normals.png@",
        ] {
            assert_eq!(own.matches(line).count(), 1, "{line}: {own}");
        }
        assert_eq!(
            (
                own.matches("\"raw\"").count(),
                own.matches("\"sRGB\"").count()
            ),
            (4, 1),
            "{own}"
        );
        assert_eq!(own.matches("def Shader \"TexCoord\"").count(), 1);
        let overlay = layer("openpbr.usda");
        for node in [
            "ND_normalmap_float",
            "ND_multiply_color3",
            "specular_ior = 1.25",
        ] {
            assert!(overlay.contains(node), "{node}: {overlay}");
        }
    }
}
