//! Data maps are lossless.

use image::ImageFormat;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A normal, metallic, roughness or occlusion map is a JPEG.",
    outcome: "Compression artefacts appear as dents and stains in reflections.",
    demand: "Normal, Metallic, Roughness, and packed ORM maps must use lossless PNG.",
    section: ("Texture File Formats", "§3.2"),
    breaks: ["robot.usda", "paint.jpg" = "8-bit RGB JPEG"],
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for texture in subject
        .shading
        .materials
        .iter()
        .flat_map(|material| &material.textures)
    {
        let Some(input) = texture.data_input() else {
            continue;
        };
        let Some(image) = subject.shading.image_of(texture) else {
            continue;
        };
        let Some(file) = &image.resolved else {
            continue;
        };
        if subject.pictures.at(file).format() == Some(ImageFormat::Jpeg) {
            let message = format!(
                "the texture {}, which feeds {input}, is a JPEG",
                image.authored
            );
            let help =
                "export a PNG from its source: a conversion does not restore what the JPEG lost";
            findings.prim(image.prim, Some(&image.attribute), message, help);
        }
    }
}
