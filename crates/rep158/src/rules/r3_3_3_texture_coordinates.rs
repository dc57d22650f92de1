//! That what shows a texture has coordinates for it.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use std::collections::BTreeSet;
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::visuals;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.3.3",
        severity: Severity::Error,
        meaning: "A mesh shows a texture and lacks the coordinates that the texture reads, or the texture reads none.",
        outcome: "It shows one pixel of the image everywhere.",
    },
    demand: "Image-Backed Textures: standard UV-mapped image files routed through standard UsdUVTexture shader nodes.",
    section: ("Texture Baking", "§3.3"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        rel material:binding = </robot/paint>\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    }\n\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        rel material:binding = </robot/paint>\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (\n            interpolation = \"vertex\"\n        )\n    }\n\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for material in &subject.shading.materials {
        for texture in material.textures.iter().filter(|texture| texture.primvar.is_none()) {
            let message = format!("the texture {} reads no texture coordinates", stage[texture.shader].path);
            let help = "wire a UsdPrimvarReader_float2 with inputs:varname = \"st\" to inputs:st";
            findings.prim(&RULE.code, texture.shader, Some("inputs:st"), message, help);
        }
    }
    for mesh in visuals(stage, &subject.shading) {
        let subsets = stage[mesh].children.iter().filter(|&&child| stage[child].type_name == "GeomSubset");
        let shown = std::iter::once(mesh).chain(subsets.copied());
        let textures = shown.filter_map(|part| subject.shading.material_of(stage, part)).flat_map(|material| &material.textures);
        let wanted: BTreeSet<&String> = textures.filter_map(|texture| texture.primvar.as_ref()).collect();
        for primvar in wanted {
            let name = format!("primvars:{primvar}");
            // Those of prims above hold below.
            let has = |id: PrimId| stage[id].attributes.contains_key(&name);
            if !std::iter::once(mesh).chain(stage.ancestors(mesh)).any(has) {
                let message = format!("the mesh {} shows a texture and has no {name}", stage[mesh].path);
                findings.prim(&RULE.code, mesh, None, message, "give it texture coordinates, or a material without textures");
            }
        }
    }
}
