//! Textured meshes have the texture coordinates that the texture reads.

use std::collections::BTreeSet;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::meshes::visuals;

rule! {
    severity: Error,
    meaning: "A mesh shows a texture and lacks the coordinates that the texture reads, or the \
              texture reads none.",
    outcome: "The mesh shows a single pixel of the image everywhere.",
    demand: "Image-Backed Textures: standard UV-mapped image files routed through standard \
             UsdUVTexture shader nodes.",
    section: ("Texture Baking", "§3.3"),
    breaks: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for material in &subject.shading.materials {
        for texture in material
            .textures
            .iter()
            .filter(|texture| texture.primvar.is_none())
        {
            let message = format!(
                "the texture {} reads no texture coordinates",
                stage[texture.shader].path
            );
            let help =
                "connect a UsdPrimvarReader_float2 with inputs:varname = \"st\" to inputs:st";
            findings.prim(texture.shader, Some("inputs:st"), message, help);
        }
    }
    for mesh in visuals(stage, &subject.shading) {
        let subsets = stage[mesh]
            .children
            .iter()
            .filter(|&&child| stage[child].type_name == "GeomSubset");
        let shown = std::iter::once(mesh).chain(subsets.copied());
        let textures = shown
            .filter_map(|part| subject.shading.material_of(stage, part))
            .flat_map(|material| &material.textures);
        let wanted: BTreeSet<&String> = textures
            .filter_map(|texture| texture.primvar.as_ref())
            .collect();
        for primvar in wanted {
            let name = format!("primvars:{primvar}");
            // Primvars are inherited.
            let has = |id: PrimId| stage[id].attributes.contains_key(&name);
            if !stage.self_and_ancestors(mesh).any(has) {
                let message = format!(
                    "the mesh {} shows a texture, but has no {name}",
                    stage[mesh].path
                );
                findings.prim(
                    mesh,
                    None,
                    message,
                    "give it texture coordinates, or a material without textures",
                );
            }
        }
    }
}
