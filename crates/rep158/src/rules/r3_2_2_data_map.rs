//! That textures which are no colours are lossless.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use image::ImageFormat;

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.2",
        severity: Severity::Error,
        meaning: "A normal, metallic, roughness or occlusion map is a JPEG.",
        outcome: "JPEG's losses are seen as dents and stains in reflections.",
    },
    demand: "Normal, Metallic, Roughness, and packed ORM maps must use lossless PNG.",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            float inputs:roughness.connect = </robot/paint/texture.outputs:r>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.jpg@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.jpg", Some("8-bit RGB JPEG")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            float inputs:roughness.connect = </robot/paint/texture.outputs:r>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

/// Inputs of UsdPreviewSurface that are data and no colours.
const DATA: [&str; 6] = ["normal", "metallic", "roughness", "occlusion", "clearcoatRoughness", "displacement"];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for texture in subject.shading.materials.iter().flat_map(|material| &material.textures) {
        let Some((input, _)) = texture.feeds.iter().find(|(input, _)| DATA.contains(&input.as_str())) else { continue };
        let Some(image) = texture.image.map(|index| &subject.shading.images[index]) else { continue };
        let Some(file) = &image.resolved else { continue };
        if subject.pictures.at(file).format() == Some(ImageFormat::Jpeg) {
            let message = format!("the texture {}, which feeds {input}, is a JPEG", image.authored);
            let help = "make a PNG of it from its source: what the JPEG lost is lost";
            findings.prim(&RULE.code, image.prim, Some(&image.attribute), message, help);
        }
    }
}
