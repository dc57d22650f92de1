//! Cameras: what the writer and the reader have to agree on.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion};

/// The pose of a camera's node, of that of the camera, which looks along x in ROS axes where the
/// node looks along glTF's -z, which is -x.
pub fn to_node(camera: &Isometry3<f64>) -> Isometry3<f64> {
    camera * Isometry3::from_parts(Default::default(), half_turn())
}

/// What [`to_node`] made of it, undone.
pub fn of_node(node: &Isometry3<f64>) -> Isometry3<f64> {
    node * Isometry3::from_parts(Default::default(), half_turn().inverse())
}

/// Half a turn about z.
fn half_turn() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.0, 0.0, 0.0, 1.0))
}
