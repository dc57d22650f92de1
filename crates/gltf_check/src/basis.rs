//! The directions of degrees of freedom, and the bases that they form.

use nalgebra::Vector3;

use super::Subject;
use super::asset::Joint;
use super::transform::round;
use urdf_usd_gltf_extension::JointType;

/// How far from 0 the cosine of a right angle may be.
pub const ROUNDING: f64 = 1e-4;

/// What to do about a floating joint.
pub const FLOATING_HELP: &str =
    "use [0, 0, 1], [1, 0, 0], [0, 1, 0], which are x, y and z of the source in glTF's axes";

/// x, y and z of a ROS frame in glTF's axes.
const ROS_AXES: [[f64; 3]; 3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

/// Whether an axis has no direction.
pub fn is_zero(axis: &Vector3<f64>) -> bool {
    axis.norm() <= f64::MIN_POSITIVE
}

/// The direction of an axis, if it has one that can be reckoned with: the length of very large
/// vectors is infinite, which leaves nothing of them.
pub fn unit(axis: &Vector3<f64>) -> Option<Vector3<f64>> {
    axis.try_normalize(f64::MIN_POSITIVE)
        .filter(|unit| unit.norm() > 0.5)
}

/// The directions of the degrees of freedom of a joint, if it has `N` that all have one.
pub fn directions<const N: usize>(joint: &Joint<'_>) -> Option<[Vector3<f64>; N]> {
    let axes: Option<Vec<_>> = joint
        .dofs
        .iter()
        .take(N + 1)
        .map(|dof| unit(&dof.axis?))
        .collect();
    axes?.try_into().ok()
}

/// A vector as JSON has it.
pub fn in_words(v: &Vector3<f64>) -> String {
    format!("[{}, {}, {}]", round(v.x), round(v.y), round(v.z))
}

/// The axes of the translations, or of the rotations, of a floating joint.
pub struct Triple {
    pub what: &'static str,
    /// The number of the first of them among the joint's degrees of freedom.
    first: usize,
    axes: [Vector3<f64>; 3],
}

/// Those of all floating joints whose axes have directions.
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
    /// Whether they are at right angles, in right-handed order.
    pub fn is_right_handed(&self) -> bool {
        let [x, y, z] = self.axes;
        (x.cross(&y) - z).norm() <= ROUNDING && x.dot(&y).abs() <= ROUNDING
    }

    /// Whether they are x, y and z of the joint's frame in the source.
    pub fn is_in_ros_order(&self) -> bool {
        self.axes
            .iter()
            .zip(ROS_AXES)
            .all(|(axis, expected)| (axis - Vector3::from(expected)).norm() <= ROUNDING)
    }

    /// Where the first of them is, in `joint`.
    pub fn pointer(&self, joint: &Joint<'_>) -> String {
        format!("{}/dofs/{}/axis", joint.pointer(), self.first)
    }

    /// All three as JSON has them.
    pub fn in_words(&self) -> String {
        self.axes.map(|axis| in_words(&axis)).join(", ")
    }
}
