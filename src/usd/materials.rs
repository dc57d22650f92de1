//! `materials.usda`: every distinct material once, as UsdPreviewSurface (REP-158 §3.1) in linear colour.
//!
//! What shows the colours of a mesh's corners reads the mesh's primvars `displayColor` and `displayOpacity`: by itself a renderer
//! shows them only where no material is bound.

use super::Scene;
use super::author::{Attribute, Layer};
use super::library::MaterialEntry;

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let mut layer = Layer::new("Every distinct material once", "Materials");
    layer.def("/Materials", "Scope");
    for entry in &scene.library.materials {
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
    prim.attribute("outputs:surface", Attribute::connected("token", format!("{path}/PreviewSurface.outputs:surface")));
    let [red, green, blue, opacity] = material.base_color;
    let mut surface = layer.def(&format!("{path}/PreviewSurface"), "Shader");
    surface
        .attribute("info:id", Attribute::token("UsdPreviewSurface").uniform())
        .attribute("inputs:metallic", Attribute::float(material.metallic))
        .attribute("inputs:roughness", Attribute::float(material.roughness))
        .attribute("outputs:surface", Attribute::declared("token"));
    if material.emissive != [0.0; 3] {
        surface.attribute("inputs:emissiveColor", Attribute::color3f(material.emissive));
    }
    let from_corners = entry.from_corners;
    match &material.base_color_texture {
        Some(_) => {
            surface.attribute("inputs:diffuseColor", Attribute::connected("color3f", format!("{path}/Texture.outputs:rgb")));
        }
        None if from_corners.color => {
            let source = format!("{path}/CornerColor.outputs:result");
            surface.attribute("inputs:diffuseColor", Attribute::connected("color3f", source));
        }
        None => {
            surface.attribute("inputs:diffuseColor", Attribute::color3f([red, green, blue]));
        }
    }
    match &material.base_color_texture {
        Some(texture) if texture.has_alpha => {
            surface.attribute("inputs:opacity", Attribute::connected("float", format!("{path}/Texture.outputs:a")));
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
    if from_corners.color {
        author_primvar_reader(layer, &format!("{path}/CornerColor"), "float3", "displayColor");
    }
    if from_corners.opacity {
        author_primvar_reader(layer, &format!("{path}/CornerOpacity"), "float", "displayOpacity");
    }
    let (Some(texture), Some(file)) = (&material.base_color_texture, &entry.texture) else { return };
    let mut shader = layer.def(&format!("{path}/Texture"), "Shader");
    shader
        .attribute("info:id", Attribute::token("UsdUVTexture").uniform())
        .attribute("inputs:fallback", Attribute::float4([red, green, blue, opacity]))
        .attribute("inputs:file", Attribute::asset(format!("./{file}")))
        .attribute("inputs:sourceColorSpace", Attribute::token("sRGB"))
        .attribute("inputs:st", Attribute::connected("float2", format!("{path}/TexCoord.outputs:result")))
        .attribute("inputs:wrapS", Attribute::token("repeat"))
        .attribute("inputs:wrapT", Attribute::token("repeat"))
        .attribute("outputs:rgb", Attribute::declared("float3"));
    if texture.has_alpha {
        shader.attribute("outputs:a", Attribute::declared("float"));
    }
    author_primvar_reader(layer, &format!("{path}/TexCoord"), "float2", "st");
}

/// A shader that gives the primvar `name`.
fn author_primvar_reader(layer: &mut Layer, path: &str, type_name: &'static str, name: &str) {
    layer
        .def(path, "Shader")
        .attribute("info:id", Attribute::token(format!("UsdPrimvarReader_{type_name}")).uniform())
        .attribute("inputs:varname", Attribute::string(name))
        .attribute("outputs:result", Attribute::declared(type_name));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::robot::{Corners, ImageFormat, Material, Mesh, Part, Texture};
    use crate::usd::{Options, Overlay, write};

    /// Two triangles; the first has no material of its own, the second has `own`.
    fn sheet(colors: Option<[[f32; 4]; 2]>, own: Material) -> Mesh {
        Mesh {
            points: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 2.0, 0.0]],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            normals: Corners { values: vec![[0.0, 0.0, 1.0]], indices: vec![[0; 3]; 2] },
            uvs: Some(Corners { values: vec![[0.0; 2]], indices: vec![[0; 3]; 2] }),
            colors: colors.map(|values| Corners { values: values.to_vec(), indices: vec![[0, 1, 1], [0; 3]] }),
            parts: vec![Part { triangles: 0..1, material: None }, Part { triangles: 1..2, material: Some(0) }],
            materials: vec![own],
            digest: [0; 32],
        }
    }

    /// The layers of a robot with one visual that shows `mesh`, by name.
    fn layers(mesh: Mesh, material: &str) -> impl Fn(&str) -> String {
        let urdf = format!(
            "<robot name='r'><link name='a'><visual><geometry><mesh filename='sheet.obj'/></geometry>{material}</visual></link></robot>"
        );
        let mut robot = crate::urdf::read(&urdf, None).robot.unwrap();
        robot.meshes[0].mesh = Some(Arc::new(mesh));
        let options = Options { entry: "r".into(), overlays: vec![Overlay::OpenPbr], ..Options::default() };
        let asset = write(&robot, &options, &crate::store::Store::none());
        move |name| String::from_utf8(asset.files[name].clone()).unwrap()
    }

    const OPAQUE: [[f32; 4]; 2] = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]];
    const TRANSLUCENT: [[f32; 4]; 2] = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.5]];

    #[test]
    fn the_colours_of_corners_are_read_where_they_show() {
        let green = || Material::plain("green", [0.0, 1.0, 0.0, 1.0]);
        let readers = |text: &str| ["UsdPrimvarReader_float3", "UsdPrimvarReader_float\""].map(|id| text.matches(id).count());
        let shown = |colors, own, material| readers(&layers(sheet(colors, own), material)("materials.usda"));
        assert_eq!(shown(None, green(), ""), [0, 0]);
        assert_eq!(shown(Some(OPAQUE), green(), ""), [1, 0]);
        assert_eq!(shown(Some(TRANSLUCENT), green(), ""), [1, 1]);
        let red = "<material name='red'><color rgba='1 0 0 1'/></material>";
        assert_eq!(shown(Some(TRANSLUCENT), green(), red), [0, 0], "the robot's material covers them");
        let own = || Material { roughness: 0.25, ..Material::of_corners("own") };
        assert_eq!(shown(Some(OPAQUE), own(), red), [1, 0], "the mesh's own shows them");
        assert_eq!(shown(None, own(), red), [0, 0], "there are none to show");
        let layer = layers(sheet(Some(TRANSLUCENT), own()), "");
        let text = layer("materials.usda");
        assert_eq!(readers(&text), [2, 2]);
        assert!(text.contains(r#"def Material "own""#) && text.contains(r#"def Material "corner_colors""#), "{text}");
        assert!(text.contains("color3f inputs:diffuseColor.connect = </Materials/own/CornerColor.outputs:result>"), "{text}");
        assert!(text.contains("float inputs:opacity.connect = </Materials/own/CornerOpacity.outputs:result>"), "{text}");
        assert!(text.contains("float inputs:roughness = 0.25"), "{text}");
        let overlay = layer("openpbr.usda");
        // The mesh's own twice: it is overlaid where the instance has it too.
        assert_eq!(overlay.matches("ND_geompropvalue_color3").count(), 3, "{overlay}");
        assert_eq!(overlay.matches("ND_geompropvalue_float").count(), 3, "{overlay}");
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
            let own = Material { base_color_texture: Some(Arc::new(texture)), ..Material::of_corners("own") };
            let red = "<material name='red'><color rgba='1 0 0 1'/></material>";
            let text = layers(sheet(Some(colors), own), red)("materials.usda");
            assert!(text.contains("color3f inputs:diffuseColor.connect = </Materials/own/Texture.outputs:rgb>"), "{text}");
            (text.contains("CornerColor"), text.contains("CornerOpacity"), text.contains("Texture.outputs:a>"))
        };
        assert_eq!(reads(false, OPAQUE), (false, false, false));
        assert_eq!(reads(false, TRANSLUCENT), (false, true, false), "what the texture does not say the corners do");
        assert_eq!(reads(true, TRANSLUCENT), (false, false, true));
    }
}
