//! Lights as children of their links in `base.usda` (REP-158 §3.6), beside the emissive geometry.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;

use super::Scene;
use super::plan::{LINK_SCOPES, Plan, ROOT_SCOPES};
use urdf_usd_robot::{Light, LightKind, LinkId, Robot, names};
use urdf_usd_usd_author::numbers::{degrees, place};
use urdf_usd_usd_author::{Attribute, Layer, Prim, Value};

/// Radius in metres of a sphere that represents a point light: UsdLux lights have a size.
const POINT: f64 = 0.001;

/// Returns the paths of the robot's lights; none is planned for another prim.
pub(super) fn plan(robot: &Robot, plan: &Plan) -> Vec<String> {
    if robot.lights().is_empty() {
        return Vec::new();
    }
    let taken = plan.children();
    let mut by_link: BTreeMap<LinkId, Vec<(usize, &Light)>> = BTreeMap::new();
    for (index, light) in robot.lights().iter().enumerate() {
        by_link.entry(light.link).or_default().push((index, light));
    }
    let mut paths: BTreeMap<usize, String> = BTreeMap::new();
    for (link, lights) in by_link {
        let holder = &plan.links[link].path;
        let wanted: Vec<&str> = lights
            .iter()
            .map(|(_, light)| light.name.as_str())
            .collect();
        let held = taken.get(holder).into_iter().flatten().map(String::as_str);
        let reserved: Vec<&str> = LINK_SCOPES
            .into_iter()
            .chain(ROOT_SCOPES)
            .chain(held)
            .collect();
        let names = names::identifiers(&wanted, "light", &reserved);
        for ((index, _), name) in lights.into_iter().zip(names) {
            paths.insert(index, format!("{holder}/{name}"));
        }
    }
    paths.into_values().collect()
}

pub(super) fn author(scene: &Scene<'_>, layer: &mut Layer) {
    for (light, path) in scene.robot.lights().iter().zip(&scene.plan.lights) {
        author_light(layer, path, light);
    }
}

/// Authors a UsdLux light, normalized, so that its size does not affect its brightness: the
/// intensity of a distant light is its lux, that of a sphere light four times its candela.
fn author_light(layer: &mut Layer, path: &str, light: &Light) {
    let (type_name, intensity) = match light.kind {
        LightKind::Directional { .. } => ("DistantLight", light.intensity),
        // Normalized, a sphere of radius r has the luminance I / 4πr², and its disc πr² emits I / 4
        // cd.
        LightKind::Point { .. } | LightKind::Spot { .. } => ("SphereLight", 4.0 * light.intensity),
    };
    let mut prim = layer.def(path, type_name);
    if path.rsplit('/').next() != Some(&light.name) && !light.name.is_empty() {
        prim.display_name(&light.name);
    }
    if let Some(range) = light.range {
        prim.custom_data([("range", Value::Double(range))]);
    }
    match light.kind {
        LightKind::Directional { angle } => {
            prim.attribute("inputs:angle", Attribute::float(degrees(angle)));
        }
        LightKind::Point { radius } => author_ball(&mut prim, radius),
        LightKind::Spot {
            radius,
            inner,
            outer,
        } => {
            // The lower bound avoids a division by zero.
            let outer = outer.clamp(1e-3, FRAC_PI_2);
            // Rounded to six decimals: further digits are noise of the division.
            let softness = ((1.0 - inner / outer).clamp(0.0, 1.0) * 1e6).round() / 1e6;
            author_ball(&mut prim, radius);
            prim.apply(["ShapingAPI"])
                .attribute(
                    "inputs:shaping:cone:angle",
                    Attribute::float(degrees(outer)),
                )
                .attribute(
                    "inputs:shaping:cone:softness",
                    Attribute::float(softness as f32),
                );
        }
    }
    prim.attribute("inputs:color", Attribute::color3f(light.color))
        .attribute("inputs:intensity", Attribute::float(intensity as f32))
        .attribute("inputs:normalize", Attribute::bool(true));
    place(&mut prim, &light.origin, None);
}

/// Authors the dimensions of a sphere light.
fn author_ball(prim: &mut Prim<'_>, radius: f64) {
    let is_point = radius <= 0.0;
    let radius = if is_point { POINT } else { radius } as f32;
    prim.attribute(
        "extent",
        Attribute::float3_array([[-radius; 3], [radius; 3]]),
    )
    .attribute("inputs:radius", Attribute::float(radius));
    if is_point {
        prim.attribute("treatAsPoint", Attribute::bool(true));
    }
}
