//! HDR images are for dome lights only.

use image::ImageFormat;
use urdf_usd_stage::asset_paths;

use super::{Findings, Subject, rule};
use crate::pictures::Picture;

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
    const NAME: &str = "inputs:texture:file";
    for (id, prim) in subject
        .stage
        .present()
        .filter(|(_, prim)| prim.type_name != "Shader")
    {
        for (authored, resolved) in prim.value(NAME).map(asset_paths).unwrap_or_default() {
            let Some(file) = resolved else { continue };
            let picture = subject.pictures.at(&file);
            let is_dome = prim.type_name.starts_with("DomeLight");
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
                    "{authored}, the image of the {} {}, is {}",
                    prim.type_name,
                    prim.path,
                    picture.name()
                );
                findings.prim(
                    id,
                    Some(NAME),
                    message,
                    "use an 8-bit PNG or JPEG, or a .hdr with a DomeLight",
                );
            }
        }
    }
}
