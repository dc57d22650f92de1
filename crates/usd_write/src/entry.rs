//! The entry layer: metadata of the asset, and its sublayers.

use super::{Overlay, Scene};
use urdf_usd_usd_author::{Attribute, Layer, Value, dictionary, string};

/// The sublayers of the entry, strongest first.
pub(super) const ORDER: [&str; 6] = [
    "ros.usda",
    "extended_physics.usda",
    "planning.usda",
    "urdf.usda",
    "physics.usda",
    "base.usda",
];

pub(super) fn layer(scene: &Scene<'_>, sublayers: &[&str], extents: Vec<[f32; 3]>) -> Layer {
    let (mut layer, root) = super::layer(scene, &format!("The robot {}", scene.robot.name()));
    layer.sublayers(sublayers.iter().map(|path| format!("./{path}")));
    let options = scene.options;
    let mut info: Vec<(&str, Value)> = vec![
        ("name", string(scene.robot.name())),
        ("identifier", string(&options.identifier)),
        ("version", string(&options.version)),
    ];
    if !options.ros.is_empty() {
        info.push(("ros", dictionary(options.ros.clone())));
    }
    let mut prim = layer.def(&root, "Xform");
    let kind = options.aggregate.as_deref().unwrap_or("component");
    prim.kind(kind).asset_info(info);
    if !extents.is_empty() {
        prim.apply(["GeomModelAPI"])
            .attribute("extentsHint", Attribute::float3_array(extents));
    }
    if scene.plan.name != scene.robot.name() {
        prim.display_name(scene.robot.name());
    }
    layer
}

/// Returns the entry of an overlay: the asset as a sublayer of the overlay's layer.
pub(super) fn overlay(scene: &Scene<'_>, overlay: Overlay) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        &format!(
            "The robot {} with the overlay {}",
            scene.robot.name(),
            overlay.as_str()
        ),
    );
    let layers = overlay.layers().iter().map(|overlay| overlay.as_str());
    let sublayers = layers.chain([scene.options.entry.as_str()]);
    layer.sublayers(sublayers.map(|name| format!("./{name}.usda")));
    layer.over(&root);
    layer
}
