//! Textures fit the limits of graphics cards.

use super::{Findings, Subject, rule};
use crate::pictures::Picture;

rule! {
    severity: Warning,
    meaning: "A texture has more than 16384 pixels along a side.",
    outcome: "Most graphics cards reject it; others are slow.",
    demand: "Formats that introduce unacceptable payload overhead for lightweight tooling must not \
             be used; a graphics card's limit is commonly 16384 pixels.",
    section: ("Texture File Formats", "§3.2"),
    breaks: ["robot.usda", "paint.png" = "8-bit L PNG 16385x1"],
    keeps: ["robot.usda", "paint.png" = "8-bit L PNG 16384x1"],
}

/// Maximum texture size of common graphics cards, in pixels.
const MAX_SIZE: u32 = 16384;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for image in &subject.shading.images {
        let Some(file) = &image.resolved else {
            continue;
        };
        if let Picture::Known { width, height, .. } = &*subject.pictures.at(file)
            && (*width > MAX_SIZE || *height > MAX_SIZE)
        {
            let message = format!(
                "the texture {} has {width} × {height} pixels",
                image.authored
            );
            findings.prim(
                image.prim,
                Some(&image.attribute),
                message,
                "make it smaller: 4096 pixels are enough for most robots",
            );
        }
    }
}
