//! Conventions for lights (`KHR_lights_punctual`) that the writer and the reader share.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion};

/// Name of the extension.
pub const NAME: &str = "KHR_lights_punctual";

/// Minimum difference between the inner and the outer angle of a spot light, as a fraction of the
/// outer one. The extension and shaders require the inner angle to be smaller.
pub const HARD: f64 = 1e-4;

/// Returns the pose of a light's node. The light shines along -z in ROS axes, its node along -z in
/// glTF axes.
pub fn to_node(light: &Isometry3<f64>) -> Isometry3<f64> {
    light * Isometry3::from_parts(Default::default(), turn())
}

/// Returns the pose of a light, the inverse of [`to_node`].
pub fn of_node(node: &Isometry3<f64>) -> Isometry3<f64> {
    node * Isometry3::from_parts(Default::default(), turn().inverse())
}

/// Returns the rotation from (x, y, z) to (y, z, x).
fn turn() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.5, -0.5, -0.5, -0.5))
}
