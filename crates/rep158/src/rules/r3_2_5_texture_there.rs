//! That textures are there and can be read.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::asset_paths;

use crate::Rule;
use crate::findings::Findings;
use crate::pictures::Picture;
use crate::shading::Image;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.5",
        severity: Severity::Error,
        meaning: "A texture is missing, or is no image that can be read.",
        outcome: "Surfaces show a fallback colour; some programs refuse the asset.",
    },
    demand: "Image-Backed Textures: standard UV-mapped image files (8-bit PNG and JPEG).",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let lights = subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name != "Shader");
    let of_lights = lights.flat_map(|(prim, light)| {
        let attribute = "inputs:texture:file";
        let paths = light.value(attribute).map(asset_paths).unwrap_or_default();
        paths.into_iter().map(move |(authored, resolved)| Image { prim, attribute: attribute.to_owned(), authored, resolved })
    });
    let images = subject.shading.images.iter().cloned().chain(of_lights);
    for image in images.filter(|image| !image.authored.is_empty() && !image.is_udim()) {
        let message = match &image.resolved {
            None => format!("the texture {} leads to no file", image.authored),
            Some(file) => match &*subject.pictures.at(file) {
                Picture::Unreadable(why) => format!("the texture {} can't be read: {why}", image.authored),
                Picture::Known { width: 0, .. } | Picture::Known { height: 0, .. } => {
                    format!("the texture {} has no pixels", image.authored)
                }
                _ => continue,
            },
        };
        findings.prim(&RULE.code, image.prim, Some(&image.attribute), message, "put the image where the path leads, or correct the path");
    }
}
