//! Lights in `KHR_lights_punctual`: what the writer and the reader have to agree on.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion};

/// The name of the extension.
pub const NAME: &str = "KHR_lights_punctual";

/// How much less than the outer angle of a spot, as a part of it, the inner one must be: the
/// extension and shaders want them to differ.
pub const HARD: f64 = 1e-4;

/// The pose of a light's node, of that of the light, which shines along -z in ROS axes where the
/// node does so in glTF's.
pub fn to_node(light: &Isometry3<f64>) -> Isometry3<f64> {
    light * Isometry3::from_parts(Default::default(), turn())
}

/// What [`to_node`] made of it, undone.
pub fn of_node(node: &Isometry3<f64>) -> Isometry3<f64> {
    node * Isometry3::from_parts(Default::default(), turn().inverse())
}

/// The rotation that takes (x, y, z) to (y, z, x).
fn turn() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.5, -0.5, -0.5, -0.5))
}
