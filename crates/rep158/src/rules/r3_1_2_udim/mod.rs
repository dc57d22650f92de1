//! Textures are not tiled (UDIM).

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A texture's path is a UDIM pattern of many tiles.",
    outcome: "glTF and many engines show no texture, or only the first tile.",
    demand: "Multi-tile UV mapping (UDIMs) must not be used.",
    section: ("Material Portability", "§3.1"),
    keeps: ["robot.usda", "paint.1001.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for image in subject
        .shading
        .images
        .iter()
        .filter(|image| image.is_udim())
    {
        let message = format!(
            "{} uses the UDIM tiles {}",
            subject.stage[image.prim].path, image.authored
        );
        let help = "pack the texture coordinates into [0, 1] and bake one image, or one for each subset of the geometry";
        findings.prim(image.prim, Some(&image.attribute), message, help);
    }
}
