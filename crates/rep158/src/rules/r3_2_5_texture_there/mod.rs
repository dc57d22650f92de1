//! Textures exist and can be decoded.

use urdf_usd_stage::asset_paths;

use super::{Findings, Subject, rule};
use crate::pictures::Picture;
use crate::shading::Image;

rule! {
    severity: Error,
    meaning: "A texture does not exist or cannot be read as an image.",
    outcome: "Surfaces show a fallback colour; some programs reject the asset.",
    demand: "Image-Backed Textures: standard UV-mapped image files (8-bit PNG and JPEG).",
    section: ("Texture File Formats", "§3.2"),
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let lights = subject
        .stage
        .present()
        .filter(|(_, prim)| prim.type_name != "Shader");
    let of_lights = lights.flat_map(|(prim, light)| {
        let attribute = "inputs:texture:file";
        let paths = light.value(attribute).map(asset_paths).unwrap_or_default();
        paths.into_iter().map(move |(authored, resolved)| Image {
            prim,
            attribute: attribute.to_owned(),
            authored,
            resolved,
        })
    });
    let images = subject.shading.images.iter().cloned().chain(of_lights);
    for image in images.filter(|image| !image.authored.is_empty() && !image.is_udim()) {
        let message = match &image.resolved {
            None => format!("the texture {} does not exist", image.authored),
            Some(file) => match &*subject.pictures.at(file) {
                Picture::Unreadable(why) => {
                    format!("the texture {} cannot be read: {why}", image.authored)
                }
                Picture::Known { width: 0, .. } | Picture::Known { height: 0, .. } => {
                    format!("the texture {} has no pixels", image.authored)
                }
                _ => continue,
            },
        };
        findings.prim(
            image.prim,
            Some(&image.attribute),
            message,
            "put the image at this path, or correct the path",
        );
    }
}
