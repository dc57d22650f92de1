//! `openpbr.usda`: the overlay with a MaterialX OpenPBR network on `outputs:mtlx:surface` of every material.

use super::Scene;
use super::author::Layer;

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    super::layer(scene, "OpenPBR networks on outputs:mtlx:surface").0
}
