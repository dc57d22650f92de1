//! No surface reads the alpha channel of a JPEG.

use image::ImageFormat;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A surface reads the alpha of a JPEG, which has none.",
    outcome: "Transparent parts appear opaque.",
    demand: "BaseColor and Emissive maps may use JPEG to reduce footprint, provided they lack an \
             alpha channel.",
    section: ("Texture File Formats", "§3.2"),
    breaks: ["robot.usda", "paint.jpg" = "8-bit RGB JPEG"],
    keeps: ["robot.usda", "paint.png" = "8-bit RGBA PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for texture in subject
        .shading
        .materials
        .iter()
        .flat_map(|material| &material.textures)
    {
        let Some((input, _)) = texture.feeds.iter().find(|(_, output)| output == "a") else {
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
                "{input} reads the alpha of the texture {}, which is a JPEG",
                image.authored
            );
            let help = "use a PNG with alpha, or remove the connection";
            findings.prim(image.prim, Some(&image.attribute), message, help);
        }
    }
}
