//! `newton.usda`: the overlay for the Newton physics engine, prefix `newton:`.

use super::Scene;
use super::author::Layer;

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    super::layer(scene, "Newton overlay").0
}
