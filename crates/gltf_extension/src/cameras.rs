//! Conventions for cameras that the writer and the reader share.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion};

/// Returns the pose of a camera's node. The camera looks along x in ROS axes, but its node looks
/// along glTF's -z, which is -x in ROS axes.
pub fn to_node(camera: &Isometry3<f64>) -> Isometry3<f64> {
    camera * Isometry3::from_parts(Default::default(), half_turn())
}

/// Returns the pose of a camera, the inverse of [`to_node`].
pub fn of_node(node: &Isometry3<f64>) -> Isometry3<f64> {
    node * Isometry3::from_parts(Default::default(), half_turn().inverse())
}

/// Returns half a turn about z.
fn half_turn() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.0, 0.0, 0.0, 1.0))
}
