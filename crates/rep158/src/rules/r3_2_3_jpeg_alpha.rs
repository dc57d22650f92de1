//! That transparency is not read from a JPEG.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use image::ImageFormat;

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.3",
        severity: Severity::Error,
        meaning: "A surface reads the alpha of a JPEG, which has none.",
        outcome: "What should be transparent is opaque.",
    },
    demand: "BaseColor and Emissive maps may use JPEG to reduce footprint, provided they lack an alpha channel.",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            float inputs:opacity.connect = </robot/paint/texture.outputs:a>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.jpg@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.jpg", Some("8-bit RGB JPEG")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            float inputs:opacity.connect = </robot/paint/texture.outputs:a>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGBA PNG")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for texture in subject.shading.materials.iter().flat_map(|material| &material.textures) {
        let Some((input, _)) = texture.feeds.iter().find(|(_, output)| output == "a") else { continue };
        let Some(image) = texture.image.map(|index| &subject.shading.images[index]) else { continue };
        let Some(file) = &image.resolved else { continue };
        if subject.pictures.at(file).format() == Some(ImageFormat::Jpeg) {
            let message = format!("{input} is the alpha of the texture {}, which is a JPEG", image.authored);
            let help = "use a PNG with alpha, or take the connection away";
            findings.prim(&RULE.code, image.prim, Some(&image.attribute), message, help);
        }
    }
}
