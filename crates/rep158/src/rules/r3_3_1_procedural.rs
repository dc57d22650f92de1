//! That surfaces are made of images and primvars only.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.3.1",
        severity: Severity::Error,
        meaning: "A surface is computed by a shader that is no texture, primvar reader or transform of texture coordinates.",
        outcome: "Other programs show a constant colour instead of what it computes.",
    },
    demand: "Procedural texture graphs (noise generation, math nodes, node graphs) are not interoperable and must be baked down into explicit data.",
    section: ("Texture Baking", "§3.3"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/noise.outputs:out>\n            token outputs:surface\n        }\n\n        def Shader \"noise\"\n        {\n            uniform token info:id = \"ND_noise2d_color3\"\n            color3f outputs:out\n        }\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for material in &subject.shading.materials {
        // The first one is the surface, which has a rule of its own.
        for &shader in material.shaders.iter().skip(1) {
            let prim = &subject.stage[shader];
            let id = prim.text("info:id");
            let is_known =
                |id: &str| matches!(id, "UsdUVTexture" | "UsdTransform2d") || id.starts_with("UsdPrimvarReader_");
            if !id.is_some_and(is_known) {
                let kind = id.unwrap_or("without info:id");
                let message = format!("the material {} is computed by the shader {} ({kind})", subject.stage[material.prim].path, prim.path);
                let help = "bake what it computes into an image for a UsdUVTexture, or into a primvar of the mesh";
                findings.prim(&RULE.code, shader, Some("info:id"), message, help);
            }
        }
    }
}
