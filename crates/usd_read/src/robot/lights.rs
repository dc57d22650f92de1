//! Lights (UsdLux), converted by the formulas of its schema: luminance in nits to candela and lux.
//! `docs/mapping.md` documents them.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::Vector3;

use super::links::{DraftId, Links};
use super::scene::Scene;
use crate::codes;
use urdf_usd_robot::{Light, LightKind, LinkId, Robot};
use urdf_usd_stage::{Prim, PrimId, Value, double, numbers};

/// Half angle of a cone, in degrees, from which a light emits in all directions.
const ALL_SIDES: f64 = 180.0;

/// Reads the lights. `link` maps a draft, or the world, to the robot's link.
pub(super) fn read(
    scene: &Scene<'_>,
    links: &Links,
    robot: &mut Robot,
    link: impl Fn(Option<DraftId>) -> Option<LinkId>,
) {
    let mut lights = Vec::new();
    for (id, prim) in scene.prims() {
        if !is_light(prim) || !shines(scene, id) {
            continue;
        }
        let Some((kind, color, intensity)) = emission(scene, id, prim) else {
            continue;
        };
        let owner = links.of[id];
        // A light outside all links, in a robot without a world link, belongs to the first link.
        let owner = owner.or_else(|| {
            link(None)
                .is_none()
                .then(|| links.drafts.position(|draft| draft.is_body))?
        });
        let Some(on) = link(owner) else { continue };

        let range = match prim.metadata.get("customData") {
            Some(Value::Dictionary(entries)) => entries
                .get("range")
                .and_then(double)
                .filter(|range| *range > 0.0),
            _ => None,
        };
        lights.push(Light {
            name: super::display_name(scene, id).unwrap_or_else(|| prim.name().to_owned()),
            kind,
            link: on,
            origin: links.pose(owner).inverse() * scene.pose(id),
            color,
            intensity,
            range: range.filter(|_| !matches!(kind, LightKind::Directional { .. })),
            place: scene.place(id, None),
        });
    }
    if let Err(error) = robot.set_lights(lights) {
        scene.push(error.to_diagnostic(robot.place.clone()));
    }
}

/// Returns whether a prim is a light: of UsdLux, of another schema, or geometry with a light API.
fn is_light(prim: &Prim) -> bool {
    prim.type_name.ends_with("Light")
        || prim.type_name.starts_with("DomeLight")
        || ["LightAPI", "MeshLightAPI", "VolumeLightAPI"]
            .into_iter()
            .any(|schema| prim.has(schema))
}

/// Returns whether a light is visible and not below a point instancer, where UsdLux ignores lights.
fn shines(scene: &Scene<'_>, id: PrimId) -> bool {
    let chain = || {
        std::iter::once(id)
            .chain(scene.stage.ancestors(id))
            .map(|id| &scene.stage[id])
    };
    chain().all(|prim| prim.text("visibility") != Some("invisible"))
        && chain().all(|prim| prim.type_name != "PointInstancer")
}

/// Returns the kind of a light, its colour and its intensity; `None`, with a diagnostic, if the
/// robot model can't represent it.
fn emission(scene: &Scene<'_>, id: PrimId, prim: &Prim) -> Option<(LightKind, [f32; 3], f64)> {
    let left_out = |code, what: &str, help: &str| {
        scene.report(
            code,
            id,
            None,
            format!(
                "{:?} is a {}: {what}; it is left out",
                prim.name(),
                prim.type_name
            ),
            help,
        );
    };
    let number = |name: &str, otherwise: f64| {
        prim.number(name)
            .filter(|number| number.is_finite())
            .unwrap_or(otherwise)
    };
    let kind = match prim.type_name.as_str() {
        "DistantLight" => LightKind::Directional {
            angle: number("inputs:angle", 0.53).clamp(0.0, 360.0).to_radians(),
        },
        "SphereLight" => sphere(scene, id, prim),
        "DomeLight" | "DomeLight_1" | "PortalLight" => {
            left_out(
                &codes::DOME_LIGHT,
                "the light of a surrounding",
                "light the scene that the robot is put into",
            );
            return None;
        }
        _ => {
            let help = "use a DistantLight, a SphereLight, or a SphereLight with ShapingAPI";
            left_out(
                &codes::AREA_LIGHT,
                "neither a direction, nor a point, nor a spot",
                help,
            );
            return None;
        }
    };
    report_what_is_lost(scene, id, prim);
    // The fallbacks of UsdLux.
    let default = if matches!(kind, LightKind::Directional { .. }) {
        50_000.0
    } else {
        1.0
    };
    let luminance =
        number("inputs:intensity", default).max(0.0) * number("inputs:exposure", 0.0).exp2();
    let is_normalized = prim.flag("inputs:normalize") == Some(true);
    let intensity = match kind {
        LightKind::Directional { angle } => {
            luminance
                * if is_normalized {
                    1.0
                } else {
                    size_of_distant(angle)
                }
        }
        // From afar, a sphere of luminance L appears as a disk: intensity L·πr². If normalized, L
        // is divided by the surface area 4πr² in the stage's units.
        _ if is_normalized => luminance / 4.0 * scene.metre.powi(2),
        _ => luminance * PI * radius(scene, id, prim).powi(2),
    };
    if intensity <= 0.0 || !intensity.is_finite() {
        left_out(
            &codes::DARK_LIGHT,
            "it gives no light",
            "give it an intensity above zero, and a radius or inputs:normalize",
        );
        return None;
    }
    let [r, g, b] = prim
        .value("inputs:color")
        .and_then(numbers::<3>)
        .unwrap_or([1.0; 3]);
    let tint = match prim.flag("inputs:enableColorTemperature") {
        Some(true) => temperature(number("inputs:colorTemperature", 6500.0)),
        _ => [1.0; 3],
    };
    let [red, green, blue] = tint;
    let color = [r * red, g * green, b * blue].map(|part| part as f32);
    let (color, intensity) = Light::balanced(color, intensity);
    Some((kind, color, intensity))
}

/// Returns UsdLux's divisor from the luminance of a normalized distant light to lux: the projected
/// solid angle of its disk. `angle`: its diameter in radians.
fn size_of_distant(angle: f64) -> f64 {
    let widest = (angle / 2.0).clamp(0.0, PI);
    let square = widest.sin().powi(2);
    match widest {
        0.0 => 1.0,
        _ if widest <= FRAC_PI_2 => square * PI,
        _ => (2.0 - square) * PI,
    }
}

/// Returns the radius of a sphere light in the world, in metres.
fn radius(scene: &Scene<'_>, id: PrimId, prim: &Prim) -> f64 {
    let scale = scene.placed[id]
        .fixed_view::<3, 3>(0, 0)
        .determinant()
        .abs()
        .cbrt();
    prim.number("inputs:radius")
        .filter(|radius| radius.is_finite())
        .unwrap_or(0.5)
        .max(0.0)
        * scale
}

/// Returns a point light or a spot light.
fn sphere(scene: &Scene<'_>, id: PrimId, prim: &Prim) -> LightKind {
    let radius = if prim.flag("treatAsPoint") == Some(true) {
        0.0
    } else {
        radius(scene, id, prim)
    };
    let angle = match prim
        .number("inputs:shaping:cone:angle")
        .filter(|angle| *angle > 0.0)
    {
        _ if !prim.has("ShapingAPI") => ALL_SIDES,
        Some(angle) => angle,
        None => 90.0,
    };
    if angle >= ALL_SIDES {
        return LightKind::Point { radius };
    }
    if angle > 90.0 {
        let message = format!(
            "the cone of {:?} is {angle}° wide; it is read as one of 90°",
            prim.name()
        );
        let help = "a spot of glTF and of simulators is at most 90° wide to each side";
        scene.report(
            &codes::LIGHT,
            id,
            Some("inputs:shaping:cone:angle"),
            message,
            help,
        );
    }
    let softness = prim
        .number("inputs:shaping:cone:softness")
        .unwrap_or(0.0)
        .clamp(0.0, 1.0);
    let outer = angle.min(90.0).to_radians();
    LightKind::Spot {
        radius,
        inner: outer * (1.0 - softness),
        outer,
    }
}

/// Reports properties of a light that glTF and simulators can't represent.
fn report_what_is_lost(scene: &Scene<'_>, id: PrimId, prim: &Prim) {
    let differs =
        |name: &str, otherwise: f64| prim.number(name).is_some_and(|number| number != otherwise);
    let is_shaped = prim.has("ShapingAPI");
    let lost = [
        (
            is_shaped && differs("inputs:shaping:focus", 0.0),
            "inputs:shaping:focus",
        ),
        (
            is_shaped && prim.value("inputs:shaping:ies:file").is_some(),
            "inputs:shaping:ies:file",
        ),
        (
            prim.type_name == "DistantLight"
                && is_shaped
                && differs("inputs:shaping:cone:angle", 90.0),
            "inputs:shaping:cone:angle",
        ),
        (differs("inputs:diffuse", 1.0), "inputs:diffuse"),
        (differs("inputs:specular", 1.0), "inputs:specular"),
        (!prim.targets("light:filters").is_empty(), "light:filters"),
    ];
    for (_, name) in lost.into_iter().filter(|(is_lost, _)| *is_lost) {
        let message = format!(
            "{:?} has {name}, for which a robot has no word; it is read without",
            prim.name()
        );
        scene.report(
            &codes::LIGHT,
            id,
            Some(name),
            message,
            "nothing need be done, unless it matters",
        );
    }
}

/// Returns the linear colour (Rec. 709, luminance 1) of a black body at a temperature in kelvin, as
/// UsdLux defines it from 1000 to 10 000 K: Planck's law weighted with the CIE 1931 colour matching
/// functions, approximated by Wyman, Sloan and Shirley's multi-lobe fit.
fn temperature(kelvin: f64) -> [f64; 3] {
    /// hc/k in nm·K.
    const SECOND: f64 = 1.438_776_9e7;
    let kelvin = kelvin.clamp(1000.0, 10_000.0);
    let lobe = |nm: f64, height: f64, middle: f64, below: f64, above: f64| {
        let apart = (nm - middle) * if nm < middle { below } else { above };
        height * (-apart * apart / 2.0).exp()
    };
    let mut seen = Vector3::zeros();
    for step in 0..=80 {
        let nm = 380.0 + 5.0 * f64::from(step);
        let response = Vector3::new(
            lobe(nm, 0.362, 442.0, 0.0624, 0.0374)
                + lobe(nm, 1.056, 599.8, 0.0264, 0.0323)
                + lobe(nm, -0.065, 501.1, 0.049, 0.0382),
            lobe(nm, 0.821, 568.8, 0.0213, 0.0247) + lobe(nm, 0.286, 530.9, 0.0613, 0.0322),
            lobe(nm, 1.217, 437.0, 0.0845, 0.0278) + lobe(nm, 0.681, 459.0, 0.0385, 0.0725),
        );
        seen += response * (nm / 500.0).powi(-5) / (SECOND / (nm * kelvin)).exp_m1();
    }
    let from_xyz = nalgebra::matrix![
        3.240_454, -1.537_139, -0.498_531;
        -0.969_266, 1.876_011, 0.041_556;
        0.055_643, -0.204_026, 1.057_225
    ];
    let linear = (from_xyz * seen).map(|part: f64| part.max(0.0));
    (linear / linear.dot(&Vector3::new(0.2126, 0.7152, 0.0722))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_black_body_has_the_colour_that_usd_gives_it() {
        // UsdLux.BlackbodyTemperatureAsRgb of usd-core 26.11.
        let known = [
            (1000.0, [4.3055, 0.1184, 0.0]),
            (2700.0, [1.9353, 0.8036, 0.1917]),
            (6500.0, [1.0433, 0.9836, 1.0346]),
            (10_000.0, [0.8718, 0.9947, 1.43]),
        ];
        for (kelvin, rgb) in known {
            let apart = (Vector3::from(temperature(kelvin)) - Vector3::from(rgb)).amax();
            assert!(apart < 0.03, "{kelvin} K: {:?}", temperature(kelvin));
        }
    }

    #[test]
    fn the_sky_that_a_distant_light_covers_grows_with_its_angle() {
        let sizes = [0.0, 180.0, 360.0].map(|angle: f64| size_of_distant(angle.to_radians()));
        let expected = [1.0, PI, 2.0 * PI];
        assert!(
            sizes
                .iter()
                .zip(expected)
                .all(|(size, expected)| (size - expected).abs() < 1e-12),
            "{sizes:?}"
        );
    }
}
