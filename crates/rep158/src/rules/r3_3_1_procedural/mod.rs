//! Materials contain no procedural shaders.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A surface depends on a shader other than a texture, a primvar reader or a transform \
              of texture coordinates.",
    outcome: "Other programs show a constant colour instead.",
    demand: "Procedural texture graphs (noise generation, math nodes, node graphs) are not \
             interoperable and must be baked down into explicit data.",
    section: ("Texture Baking", "§3.3"),
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for material in &subject.shading.materials {
        // The first shader is the surface, which is left to REP158-3.1.1.
        for &shader in material.shaders.iter().skip(1) {
            let prim = &subject.stage[shader];
            let id = prim.text("info:id");
            let is_known = |id: &str| {
                matches!(id, "UsdUVTexture" | "UsdTransform2d")
                    || id.starts_with("UsdPrimvarReader_")
            };
            if !id.is_some_and(is_known) {
                let kind = id.unwrap_or("without info:id");
                let message = format!(
                    "the material {} depends on the shader {} ({kind})",
                    subject.stage[material.prim].path, prim.path
                );
                let help = "bake its result into an image for a UsdUVTexture, or into a primvar of the mesh";
                findings.prim(shader, Some("info:id"), message, help);
            }
        }
    }
}
