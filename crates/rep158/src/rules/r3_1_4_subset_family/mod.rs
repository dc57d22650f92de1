//! Subsets that bind a material are valid and of the family `materialBind`.

use urdf_usd_stage::{array_len, int_array};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A subset of a mesh binds a material, and it is not of the family `materialBind`, or \
              not made of faces of the mesh.",
    outcome: "Programs show the material of the mesh instead: they read only subsets of this \
              family.",
    demand: "Authors must partition the geometry using UsdGeomSubset (with \
             familyName=\"materialBind\") and assign separate materials.",
    section: ("Material Portability", "§3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage
        .present()
        .filter(|(_, prim)| prim.type_name == "GeomSubset")
    {
        if !prim.relationships.iter().any(|(name, binding)| {
            name.starts_with("material:binding") && !binding.targets.is_empty()
        }) {
            continue;
        }
        let mut wrong = |property, message| {
            let help = "set familyName = \"materialBind\", elementType = \"face\" and indices of the mesh's faces";
            findings.prim(id, Some(property), message, help);
        };
        let path = &prim.path;
        match prim.text("familyName") {
            Some("materialBind") => {}
            Some(other) => wrong(
                "familyName",
                format!("the subset {path} binds a material, but has the family \"{other}\""),
            ),
            None => wrong(
                "familyName",
                format!("the subset {path} binds a material, but has no familyName"),
            ),
        }
        // The default element type of a subset is the face.
        if let Some(other) = prim.text("elementType").filter(|kind| *kind != "face") {
            wrong(
                "elementType",
                format!(
                    "the subset {path} binds a material, but consists of elements of the type \"{other}\""
                ),
            );
            continue;
        }
        let counts = prim
            .parent
            .and_then(|mesh| stage[mesh].value("faceVertexCounts"))
            .and_then(array_len);
        let indices = prim
            .value("indices")
            .and_then(int_array)
            .unwrap_or_default();
        let is_face = |index: i32| {
            usize::try_from(index).is_ok_and(|index| counts.is_some_and(|faces| index < faces))
        };
        if let Some(index) = indices.iter().find(|&&index| !is_face(index)) {
            let faces = counts.unwrap_or(0);
            wrong(
                "indices",
                format!("the subset {path} names the face {index}, but its mesh has {faces} faces"),
            );
        }
    }
}
