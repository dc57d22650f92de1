//! `materials.usda`: every distinct material once, as UsdPreviewSurface (REP-158 §3.1) in linear colour.

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
    match &material.base_color_texture {
        None => {
            surface.attribute("inputs:diffuseColor", Attribute::color3f([red, green, blue]));
        }
        Some(_) => {
            surface.attribute("inputs:diffuseColor", Attribute::connected("color3f", format!("{path}/Texture.outputs:rgb")));
        }
    }
    match &material.base_color_texture {
        Some(texture) if texture.has_alpha => {
            surface.attribute("inputs:opacity", Attribute::connected("float", format!("{path}/Texture.outputs:a")));
        }
        _ if opacity < 1.0 => {
            surface.attribute("inputs:opacity", Attribute::float(opacity));
        }
        _ => {}
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
    layer
        .def(&format!("{path}/TexCoord"), "Shader")
        .attribute("info:id", Attribute::token("UsdPrimvarReader_float2").uniform())
        .attribute("inputs:varname", Attribute::string("st"))
        .attribute("outputs:result", Attribute::declared("float2"));
}
