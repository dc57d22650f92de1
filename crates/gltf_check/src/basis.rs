//! Directions of degrees of freedom, and the bases that they form.

use nalgebra::Vector3;

use super::Subject;
use super::asset::Joint;
use super::transform::round;
use urdf_usd_gltf_extension::JointType;

/// Tolerance for the cosine of a right angle.
pub const ROUNDING: f64 = 1e-4;

/// Help text for rules about floating joints.
pub const FLOATING_HELP: &str =
    "use [0, 0, 1], [1, 0, 0], [0, 1, 0], which are x, y and z of the source in glTF's axes";

/// ROS axes x, y and z in glTF axes.
const ROS_AXES: [[f64; 3]; 3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

/// Returns whether an axis is zero.
pub fn is_zero(axis: &Vector3<f64>) -> bool {
    axis.norm() <= f64::MIN_POSITIVE
}

/// Returns the direction of an axis, if it has one. The length of huge vectors overflows to
/// infinity, so the result is checked.
pub fn unit(axis: &Vector3<f64>) -> Option<Vector3<f64>> {
    axis.try_normalize(f64::MIN_POSITIVE)
        .filter(|unit| unit.norm() > 0.5)
}

/// Returns the directions of a joint's degrees of freedom, if there are `N` and all have one.
pub fn directions<const N: usize>(joint: &Joint<'_>) -> Option<[Vector3<f64>; N]> {
    let axes: Option<Vec<_>> = joint
        .dofs
        .iter()
        .take(N + 1)
        .map(|dof| unit(&dof.axis?))
        .collect();
    axes?.try_into().ok()
}

/// Formats a vector as in JSON.
pub fn in_words(v: &Vector3<f64>) -> String {
    format!("[{}, {}, {}]", round(v.x), round(v.y), round(v.z))
}

/// The axes of a floating joint's translations, or of its rotations.
pub struct Triple {
    pub what: &'static str,
    /// Index of the first one among the joint's degrees of freedom.
    first: usize,
    axes: [Vector3<f64>; 3],
}

/// Returns both triples of each floating joint whose axes are valid.
pub fn of_floating<'s, 'a>(
    subject: &'s Subject<'a>,
) -> impl Iterator<Item = (&'s Joint<'a>, Triple)> {
    let floating = subject
        .asset
        .joints()
        .filter(|joint| joint.kind == Some(JointType::Floating));
    floating
        .filter_map(|joint| Some((joint, directions::<6>(joint)?)))
        .flat_map(|(joint, [tx, ty, tz, rx, ry, rz])| {
            let translations = Triple {
                what: "translations",
                first: 0,
                axes: [tx, ty, tz],
            };
            let rotations = Triple {
                what: "rotations",
                first: 3,
                axes: [rx, ry, rz],
            };
            [(joint, translations), (joint, rotations)]
        })
}

impl Triple {
    /// Returns whether the axes are orthogonal and right-handed.
    pub fn is_right_handed(&self) -> bool {
        let [x, y, z] = self.axes;
        // For unit vectors, these two conditions imply the other right angles.
        (x.cross(&y) - z).norm() <= ROUNDING && x.dot(&y).abs() <= ROUNDING
    }

    /// Returns whether the axes are x, y and z of the joint's frame in ROS axes.
    pub fn is_in_ros_order(&self) -> bool {
        self.axes
            .iter()
            .zip(ROS_AXES)
            .all(|(axis, expected)| (axis - Vector3::from(expected)).norm() <= ROUNDING)
    }

    /// Returns the JSON pointer to the first axis.
    pub fn pointer(&self, joint: &Joint<'_>) -> String {
        format!("{}/dofs/{}/axis", joint.pointer(), self.first)
    }

    /// Formats the axes as in JSON.
    pub fn in_words(&self) -> String {
        self.axes.map(|axis| in_words(&axis)).join(", ")
    }
}
