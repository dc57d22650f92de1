//! The universal surface of a material is a `UsdPreviewSurface`.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "`outputs:surface` of a material is not connected to a UsdPreviewSurface.",
    outcome: "Converters and most programs show the surface in grey: they know no other shader.",
    demand: "Assets must use UsdPreviewSurface as the normative surface definition, wired to the \
             universal `outputs:surface` terminal; proprietary shaders must not replace it.",
    section: ("Material Portability", "§3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for material in &subject.shading.materials {
        let path = &subject.stage[material.prim].path;
        let message = match material
            .surface
            .map(|surface| subject.stage[surface].text("info:id"))
        {
            Some(Some("UsdPreviewSurface")) => continue,
            Some(Some(other)) => format!(
                "the universal surface of the material {path} is the shader {other}, not a UsdPreviewSurface"
            ),
            Some(None) => format!(
                "the universal surface of the material {path} is a shader without info:id, not a UsdPreviewSurface"
            ),
            None => format!("outputs:surface of the material {path} is not connected"),
        };
        let help = "connect a UsdPreviewSurface to outputs:surface, and other shaders to the terminals of their renderers (outputs:mdl:surface)";
        findings.prim(material.prim, Some("outputs:surface"), message, help);
    }
}
