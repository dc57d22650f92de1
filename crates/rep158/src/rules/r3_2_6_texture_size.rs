//! That graphics cards can hold the textures.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::pictures::Picture;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.6",
        severity: Severity::Warning,
        meaning: "A texture has more than 16384 pixels along a side.",
        outcome: "Most graphics cards refuse it; others are slow.",
    },
    demand: "Formats that introduce unacceptable payload overhead for lightweight tooling must not be used; a graphics card's limit is commonly 16384 pixels.",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit L PNG 16385x1")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit L PNG 16384x1")),
    ],
    turn: Turn::Usual,
    check,
};

/// What common graphics cards take, in pixels.
const MOST: u32 = 16384;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for image in &subject.shading.images {
        let Some(file) = &image.resolved else { continue };
        if let Picture::Known { width, height, .. } = &*subject.pictures.at(file)
            && (*width > MOST || *height > MOST)
        {
            let message = format!("the texture {} has {width} × {height} pixels", image.authored);
            findings.prim(&RULE.code, image.prim, Some(&image.attribute), message, "make it smaller: 4096 pixels are enough for most robots");
        }
    }
}
