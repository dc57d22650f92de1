//! Reads lights (`KHR_lights_punctual`).

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, TAU};

use super::codes;
use super::findings::Findings;
use super::shapes::Drafts;
use urdf_usd_gltf_extension::lights;
use urdf_usd_gltf_extension::{Entry, Json};
use urdf_usd_robot::{Light, LightKind, LinkId, Pose};

/// A light at a node of a link, not yet resolved.
pub struct Draft {
    /// Index of the light in the document, if it is valid.
    pub light: Option<usize>,
    /// Pose of the node in the frame of the link.
    pub pose: Pose,
    /// Name of the node.
    pub name: Option<String>,
    /// JSON pointer to the node.
    pub at: String,
}

/// Returns the light at a node, if it has one.
pub fn at_node(entry: &Entry<'_>, pose: Pose) -> Option<Draft> {
    let light = entry
        .json
        .at(&["extensions", lights::NAME])?
        .get("light")
        .and_then(Json::index);
    let name = entry
        .json
        .get("name")
        .and_then(Json::text)
        .map(str::to_owned);
    Some(Draft {
        light,
        pose: lights::of_node(&pose),
        name,
        at: entry.at.clone(),
    })
}

/// Reads the lights of a model.
pub fn read(root: &Json, drafts: &[(LinkId, Drafts)], findings: &mut Findings) -> Vec<Light> {
    let document = Entry {
        json: root,
        at: String::new(),
    };
    let all = document
        .get("extensions")
        .and_then(|all| all.get(lights::NAME)?.list("lights").or_report(findings));
    let all = all.unwrap_or_default();
    let of_links = drafts
        .iter()
        .flat_map(|(link, drafts)| drafts.lights.iter().map(move |draft| (link, draft)));
    let mut read = Vec::new();
    for (link, draft) in of_links {
        match draft.light.and_then(|light| all.get(light)) {
            Some(entry) => read.extend(light(entry, *link, draft, findings)),
            None => {
                let message = format!("{} has a light that does not exist", draft.at);
                findings.report(&codes::LIGHT, &draft.at, message, "correct the index");
            }
        }
    }
    read
}

fn light(entry: &Entry<'_>, link: LinkId, draft: &Draft, findings: &mut Findings) -> Option<Light> {
    let kind = kind(entry, findings)?;
    let color = entry
        .numbers::<3>("color")
        .or_report(findings)
        .unwrap_or([1.0; 3])
        .map(|part| part as f32);
    let intensity = entry
        .number("intensity")
        .or_report(findings)
        .filter(|intensity| *intensity >= 0.0)
        .unwrap_or(1.0);
    let (color, intensity) = Light::balanced(color, intensity);
    let range = entry
        .number("range")
        .or_report(findings)
        .filter(|range| *range > 0.0);
    let named = entry
        .text("name")
        .or_report(findings)
        .filter(|name| !name.is_empty())
        .map(str::to_owned);
    Some(Light {
        name: named
            .or_else(|| draft.name.clone())
            .unwrap_or_else(|| "light".to_owned()),
        kind,
        link,
        origin: draft.pose,
        color,
        intensity,
        range: range.filter(|_| !matches!(kind, LightKind::Directional { .. })),
        place: findings.place(&draft.at),
    })
}

fn kind(entry: &Entry<'_>, findings: &mut Findings) -> Option<LightKind> {
    let extra = |key: &str| {
        entry
            .json
            .at(&["extras", key])
            .and_then(Json::number)
            .filter(|number| *number > 0.0)
    };
    let radius = extra("radius").unwrap_or(0.0);
    match entry.text("type").or_report(findings) {
        Some("directional") => Some(LightKind::Directional {
            angle: extra("angle").unwrap_or(0.0).min(TAU),
        }),
        Some("point") => Some(LightKind::Point { radius }),
        Some("spot") => {
            let spot = entry.get("spot");
            let mut number = |key: &str, otherwise: f64| {
                spot.as_ref()
                    .and_then(|spot| spot.number(key).or_report(findings))
                    .unwrap_or(otherwise)
            };
            let (inner, outer) = (
                number("innerConeAngle", 0.0).max(0.0),
                number("outerConeAngle", FRAC_PI_4),
            );
            let outer = if outer > 0.0 {
                outer.min(FRAC_PI_2)
            } else {
                FRAC_PI_4
            };
            // Restores a hard edge, which the writer has to soften by `HARD`; the rest is rounding.
            let is_hard = inner >= outer * (1.0 - 1.001 * lights::HARD);
            Some(LightKind::Spot {
                radius,
                inner: if is_hard { outer } else { inner },
                outer,
            })
        }
        kind => {
            let message = format!(
                "{} is a light of the type {:?}, which is not known; it is left out",
                entry.at,
                kind.unwrap_or("")
            );
            findings.report(
                &codes::LIGHT,
                &entry.at,
                message,
                "use directional, point or spot",
            );
            None
        }
    }
}
