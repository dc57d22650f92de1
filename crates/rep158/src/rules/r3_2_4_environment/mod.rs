//! HDR images are for dome lights only.

use image::ImageFormat;

use super::{Findings, Subject, rule};
use crate::pictures::Picture;
use crate::shading::is_shading;

rule! {
    severity: Error,
    meaning: "The image of a light is neither PNG nor JPEG, nor the Radiance HDR (.hdr) of a dome \
              light.",
    outcome: "Lightweight programs and glTF do not show the light.",
    demand: "High Dynamic Range (.hdr) files are permitted only for UsdLuxDomeLight environment \
             maps.",
    section: ("Texture File Formats", "§3.2"),
    breaks: ["robot.usda", "sky.hdr" = "HDR"],
    keeps: ["robot.usda", "sky.hdr" = "HDR"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let images = subject.shading.images.iter();
    for image in images.filter(|image| image.is_of_light) {
        let Some(file) = &image.resolved else {
            continue;
        };
        let picture = subject.pictures.at(file);
        // A shader in a dome light can hold its image.
        let light = stage
            .self_and_ancestors(image.prim)
            .map(|id| &stage[id])
            .find(|prim| !is_shading(prim))
            .unwrap_or(&stage[image.prim]);
        let is_dome = light.type_name.starts_with("DomeLight");
        // Unreadable files are left to REP158-3.2.5.
        let is_permitted = match &*picture {
            Picture::Unreadable(_)
            | Picture::Known {
                format: ImageFormat::Png | ImageFormat::Jpeg,
                ..
            } => true,
            Picture::Other(name) => *name == "Radiance HDR" && is_dome,
            Picture::Known { .. } => false,
        };
        if !is_permitted {
            let message = format!(
                "{}, the image of the {} {}, is {}",
                image.authored,
                light.type_name,
                light.path,
                picture.name()
            );
            findings.prim(
                image.prim,
                Some(&image.attribute),
                message,
                "use an 8-bit PNG or JPEG, or a .hdr with a DomeLight",
            );
        }
    }
}
