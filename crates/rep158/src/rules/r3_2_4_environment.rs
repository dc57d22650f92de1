//! That images with a high dynamic range are environments only.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use image::ImageFormat;
use urdf_usd_stage::asset_paths;

use crate::Rule;
use crate::findings::Findings;
use crate::pictures::Picture;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.2.4",
        severity: Severity::Error,
        meaning: "The image of a light is neither PNG nor JPEG, nor the Radiance HDR (.hdr) of a dome light.",
        outcome: "Lightweight programs and glTF show no such light.",
    },
    demand: "High Dynamic Range (.hdr) files are permitted only for UsdLuxDomeLight environment maps.",
    section: ("Texture File Formats", "§3.2"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def RectLight \"light\"\n    {\n        asset inputs:texture:file = @sky.hdr@\n    }\n}")),
        ("sky.hdr", Some("HDR")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def DomeLight \"light\"\n    {\n        asset inputs:texture:file = @sky.hdr@\n    }\n}")),
        ("sky.hdr", Some("HDR")),
    ],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    const NAME: &str = "inputs:texture:file";
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name != "Shader") {
        for (authored, resolved) in prim.value(NAME).map(asset_paths).unwrap_or_default() {
            let Some(file) = resolved else { continue };
            let picture = subject.pictures.at(&file);
            let is_dome = prim.type_name.starts_with("DomeLight");
            let is_permitted = match &*picture {
                Picture::Unreadable(_) | Picture::Known { format: ImageFormat::Png | ImageFormat::Jpeg, .. } => true,
                Picture::Other(name) => *name == "Radiance HDR" && is_dome,
                Picture::Known { .. } => false,
            };
            if !is_permitted {
                let message = format!("{authored}, the image of the {} {}, is {}", prim.type_name, prim.path, picture.name());
                findings.prim(&RULE.code, id, Some(NAME), message, "use an 8-bit PNG or JPEG, or a .hdr with a DomeLight");
            }
        }
    }
}
