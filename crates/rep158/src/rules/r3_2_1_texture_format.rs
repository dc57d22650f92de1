//! That textures are 8-bit PNG or JPEG, by what is in the files.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use image::ImageFormat;

use crate::Rule;
use crate::findings::Findings;
use crate::pictures::Picture;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.1",
        severity: Severity::Error,
        meaning: "A texture is neither an 8-bit PNG nor a JPEG.",
        outcome: "glTF has no such textures, and lightweight programs can't read them.",
    },
    demand: "8-bit PNG and JPEG are the only permitted formats for materials; EXR, TIFF and other HDR/DCC formats must not be used.",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("16-bit RGB PNG")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for image in &subject.shading.images {
        let Some(file) = &image.resolved else { continue };
        let picture = subject.pictures.at(file);
        if matches!(&*picture, Picture::Unreadable(_) | Picture::Known { format: ImageFormat::Png | ImageFormat::Jpeg, bits: 8, .. }) {
            continue;
        }
        let message = format!("the texture {} is {}", image.authored, picture.name());
        let help = "convert it to an 8-bit PNG, or to a JPEG if it is a colour without alpha";
        findings.prim(&RULE.code, image.prim, Some(&image.attribute), message, help);
    }
}
