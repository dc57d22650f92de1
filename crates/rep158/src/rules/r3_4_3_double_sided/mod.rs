//! Meshes are not `doubleSided`.

use std::collections::HashSet;

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A mesh is `doubleSided`.",
    outcome: "Programs draw the back of every face too, at a cost, and faces that point inwards \
              are not noticed.",
    demand: "Assets must not rely on doubleSided = true to mask incorrect winding.",
    section: ("Geometry Constraints", "§3.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The instances of a prototype share an opinion.
    let mut reported = HashSet::new();
    for (id, prim) in subject.stage.present() {
        if prim.type_name != "Mesh" || prim.flag("doubleSided") != Some(true) {
            continue;
        }
        let site = prim.site(Some("doubleSided"));
        let is_reported = site.is_some_and(|site| !reported.insert((site.layer, &site.path)));
        if prim.instance.is_some() && is_reported {
            continue;
        }
        let surface = subject.meshes.surface(prim);
        let is_sound =
            surface.is_closed() && surface.flipped_edges == 0 && !surface.is_inside_out();
        let why = match is_sound {
            true => ", although no back of a face of its closed surface is seen",
            false => "",
        };
        let message = format!("the mesh {} is doubleSided{why}", prim.path);
        let help = "let all faces point outwards and remove doubleSided; give a thin sheet faces on both sides";
        findings.prim(id, Some("doubleSided"), message, help);
    }
}
