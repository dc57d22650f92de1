//! Colors that vary over a mesh are interpolated per vertex.

use std::collections::BTreeSet;

use urdf_usd_stage::text;

use super::{Findings, Subject, rule};
use crate::meshes::visuals;

rule! {
    severity: Warning,
    meaning: "The colours of a mesh are interpolated by face or by face corner, not by point.",
    outcome: "Converters to glTF have to split points, and the mesh grows.",
    demand: "\"vertex\" interpolation is recommended, as \"uniform\" and \"faceVarying\" require \
             converters to split the mesh vertices.",
    section: ("Texture Baking", "§3.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for mesh in visuals(subject.stage, &subject.shading) {
        let prim = &subject.stage[mesh];
        let mut names: BTreeSet<String> =
            ["displayColor".to_owned(), "displayOpacity".to_owned()].into();
        names.extend(
            subject
                .shading
                .material_of(subject.stage, mesh)
                .into_iter()
                .flat_map(|material| material.colors.clone()),
        );
        for name in names.iter().map(|name| format!("primvars:{name}")) {
            let Some(attribute) = prim.attributes.get(&name) else {
                continue;
            };
            let interpolation = attribute
                .metadata
                .get("interpolation")
                .and_then(text)
                .unwrap_or("constant");
            if matches!(interpolation, "uniform" | "faceVarying") {
                let message = format!(
                    "{name} of the mesh {} has the interpolation \"{interpolation}\"",
                    prim.path
                );
                findings.prim(
                    mesh,
                    Some(&name),
                    message,
                    "author a colour for each point: interpolation = \"vertex\"",
                );
            }
        }
    }
}
