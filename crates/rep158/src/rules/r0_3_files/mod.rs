//! Files named by attributes exist.

use urdf_usd_stage::{SharedValue, asset_paths};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "An attribute names a file that does not exist.",
    outcome: "Programs open the asset without the contents of the file, most of them without an \
              error.",
    demand: "For distributed, highly interoperable assets, all file dependencies should be \
             self-contained.",
    section: ("Asset Management", "§1.2.5"),
    keeps: ["robot.usda", "meshes/shell.stl" = "solid"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Missing textures are left to REP158-3.2.5.
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.instance.is_none() && prim.is_present())
    {
        if prim.type_name == "Shader" {
            continue;
        }
        for (name, attribute) in prim.attributes.iter() {
            for (path, found) in attribute
                .value
                .iter()
                .filter_map(SharedValue::unless_large_array)
                .flat_map(asset_paths)
            {
                if found.is_some() || path.is_empty() || subject.is_unknown(&path) {
                    continue;
                }
                if subject.shading.is_image(id, name, &path) {
                    continue;
                }
                let message = format!("{name} of {} names {path}, which does not exist", prim.path);
                findings.prim(
                    id,
                    Some(name),
                    message,
                    "put the file at this path, or correct the path",
                );
            }
        }
    }
}
