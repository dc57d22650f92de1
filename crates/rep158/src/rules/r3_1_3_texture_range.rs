//! That texture coordinates beyond the image are those of a texture that repeats.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use std::collections::HashSet;
use urdf_usd_stage::{PrimId, int_array, text, vectors2};

use crate::Rule;
use crate::findings::Findings;
use crate::meshes::{faces, meshes};
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.1.3",
        severity: Severity::Error,
        meaning: "Texture coordinates are outside of [0, 1], and the texture does not repeat there.",
        outcome: "What is outside is black or shows the border of the image, depending on the program.",
    },
    demand: "Unique UVs must be packed into the [0, 1] space; UV coordinates outside [0, 1] are reserved for seamless tiling textures using repeat wrap modes.",
    section: ("Material Portability", "§3.1"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        rel material:binding = </robot/paint>\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        texCoord2f[] primvars:st = [(0, 0), (3, 0), (0, 1)] (\n            interpolation = \"vertex\"\n        )\n    }\n\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"clamp\"\n            token inputs:wrapT = \"clamp\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def Mesh \"plate\"\n    {\n        int[] faceVertexCounts = [3]\n        int[] faceVertexIndices = [0, 1, 2]\n        rel material:binding = </robot/paint>\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        texCoord2f[] primvars:st = [(0, 0), (3, 0), (0, 1)] (\n            interpolation = \"vertex\"\n        )\n    }\n\n    def Material \"paint\"\n    {\n        token outputs:surface.connect = </robot/paint/surface.outputs:surface>\n\n        def Shader \"surface\"\n        {\n            uniform token info:id = \"UsdPreviewSurface\"\n            color3f inputs:diffuseColor.connect = </robot/paint/texture.outputs:rgb>\n            token outputs:surface\n        }\n\n        def Shader \"texture\"\n        {\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @paint.png@\n            float2 inputs:st.connect = </robot/paint/st.outputs:result>\n            token inputs:wrapS = \"repeat\"\n            token inputs:wrapT = \"repeat\"\n            float outputs:a\n            float outputs:r\n            float3 outputs:rgb\n        }\n\n        def Shader \"st\"\n        {\n            uniform token info:id = \"UsdPrimvarReader_float2\"\n            string inputs:varname = \"st\"\n            float2 outputs:result\n        }\n    }\n}")),
        ("paint.png", Some("8-bit RGB PNG")),
    ],
    turn: Turn::Usual,
    check,
};

/// How far beyond the image rounding may lead.
const MARGIN: f64 = 1e-3;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (part, mesh) in shown(subject) {
        let Some(material) = subject.shading.material_of(stage, part) else { continue };
        for texture in material.textures.iter().filter(|texture| !texture.is_transformed && texture.repeats != [true; 2]) {
            let Some(name) = texture.primvar.as_ref().map(|primvar| format!("primvars:{primvar}")) else { continue };
            let axes = [0, 1].into_iter().filter(|&axis| !texture.repeats[axis]);
            let Some((low, high)) = axes.filter_map(|axis| range(subject, part, mesh, &name, axis)).reduce(wider) else { continue };
            if low < -MARGIN || high > 1.0 + MARGIN {
                let (path, texture) = (&stage[part].path, &stage[texture.shader].path);
                let message =
                    format!("the texture coordinates {name} of {path} are {low:.3} … {high:.3}, and the texture {texture} does not repeat");
                let help = "pack the coordinates into [0, 1], or set inputs:wrapS and inputs:wrapT to \"repeat\" if the image tiles";
                findings.prim(&RULE.code, mesh, Some(&name), message, help);
            }
        }
    }
}

fn wider(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// What materials are shown on: meshes, and subsets of them, each with its mesh.
fn shown(subject: &Subject<'_>) -> Vec<(PrimId, PrimId)> {
    let mut shown = Vec::new();
    for mesh in meshes(subject.stage) {
        let subsets = subject.stage[mesh].children.iter().filter(|&&child| subject.stage[child].type_name == "GeomSubset");
        shown.extend(std::iter::once(mesh).chain(subsets.copied()).map(|part| (part, mesh)));
    }
    shown
}

/// The least and largest coordinate along an axis, of the faces of a mesh or subset that show its material.
fn range(subject: &Subject<'_>, part: PrimId, mesh: PrimId, primvar: &str, axis: usize) -> Option<(f64, f64)> {
    let prim = &subject.stage[mesh];
    let attribute = prim.attributes.get(primvar)?;
    let values = attribute.value.as_ref().and_then(vectors2)?;
    let indices = prim.value(&format!("{primvar}:indices")).and_then(int_array);
    let interpolation = attribute.metadata.get("interpolation").and_then(text).unwrap_or("constant");
    let faces = faces(prim).ok()?;
    let of = |part: PrimId| {
        let indices = subject.stage[part].value("indices").and_then(int_array).unwrap_or_default();
        indices.iter().filter_map(|&index| usize::try_from(index).ok()).collect::<HashSet<usize>>()
    };
    // The mesh's own material is on what no subset takes.
    let is_whole = part == mesh;
    let chosen: HashSet<usize> = match is_whole {
        true => {
            let bound = |id: &&PrimId| !subject.stage[**id].targets("material:binding").is_empty();
            prim.children.iter().filter(bound).flat_map(|&id| of(id)).collect()
        }
        false => of(part),
    };
    let mut range: Option<(f64, f64)> = None;
    let mut corner = 0;
    for (face, corners) in faces.iter().enumerate() {
        for &point in *corners {
            let index = match interpolation {
                "vertex" | "varying" => usize::try_from(point).ok(),
                "faceVarying" => Some(corner),
                "uniform" => Some(face),
                _ => Some(0),
            };
            corner += 1;
            if chosen.contains(&face) == is_whole {
                continue;
            }
            let index = index.and_then(|index| match indices {
                Some(indices) => usize::try_from(*indices.get(index)?).ok(),
                None => Some(index),
            });
            if let Some(value) = index.and_then(|index| values.get(index)).map(|value| value[axis]) {
                range = Some(range.map_or((value, value), |known| wider(known, (value, value))));
            }
        }
    }
    range
}
