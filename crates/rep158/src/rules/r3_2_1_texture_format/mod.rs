//! Textures are 8-bit PNG or JPEG files.

use image::ImageFormat;

use super::{Findings, Subject, rule};
use crate::pictures::Picture;

rule! {
    severity: Error,
    meaning: "A texture is neither an 8-bit PNG nor a JPEG.",
    outcome: "glTF does not allow such textures, and lightweight programs cannot read them.",
    demand: "8-bit PNG and JPEG are the only permitted formats for materials; EXR, TIFF and other \
             HDR/DCC formats must not be used.",
    section: ("Texture File Formats", "§3.2"),
    breaks: ["robot.usda", "paint.png" = "16-bit RGB PNG"],
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Images of lights are left to REP158-3.2.4.
    let images = subject.shading.images.iter();
    for image in images.filter(|image| !image.is_of_light) {
        let Some(file) = &image.resolved else {
            continue;
        };
        let picture = subject.pictures.at(file);
        // Unreadable files are left to REP158-3.2.5.
        if matches!(
            &*picture,
            Picture::Unreadable(_)
                | Picture::Known {
                    format: ImageFormat::Png | ImageFormat::Jpeg,
                    bits: 8,
                    ..
                }
        ) {
            continue;
        }
        let message = format!("the texture {} is {}", image.authored, picture.name());
        let help = "convert it to an 8-bit PNG, or to a JPEG if it is a colour without alpha";
        findings.prim(image.prim, Some(&image.attribute), message, help);
    }
}
