//! Textures exist and can be decoded.

use super::{Findings, Subject, rule};
use crate::pictures::Picture;

rule! {
    severity: Error,
    meaning: "A texture does not exist or cannot be read as an image.",
    outcome: "Surfaces show a fallback colour; some programs reject the asset.",
    demand: "Image-Backed Textures: standard UV-mapped image files (8-bit PNG and JPEG).",
    section: ("Texture File Formats", "§3.2"),
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let images = subject.shading.images.iter();
    for image in images.filter(|image| !image.authored.is_empty() && !image.is_udim()) {
        let message = match &image.resolved {
            None if subject.is_unknown(&image.authored) => continue,
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
