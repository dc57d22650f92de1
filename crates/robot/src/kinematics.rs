//! Forward kinematics: [`motion`] of one joint, [`Model`] of a whole robot. Jacobians, dynamics and
//! inverse kinematics are in the crate `kinematics`.

use nalgebra::{Translation3, Unit, UnitQuaternion, Vector3};

use super::{Joint, JointKind, Pose};

mod model;

pub use model::{Model, ModelError, ModelFrame, ModelJoint};

/// Returns the number of positions of a joint of this kind: planar two (along the basis of
/// [`planar_basis`]), floating six (x, y, z in metres, then roll, pitch, yaw applied in that order
/// about the moved axes).
pub fn position_count(kind: JointKind) -> usize {
    match kind {
        JointKind::Fixed => 0,
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => 1,
        JointKind::Planar => 2,
        JointKind::Floating => 6,
    }
}

/// Returns two directions that span the plane with the given normal: orthonormal, and right-handed
/// with the normal as third.
///
/// The first position of a planar joint is along the first of them. This is part of the model: a
/// format with planar joints must construct the same basis.
pub fn planar_basis(normal: &Unit<Vector3<f64>>) -> (Unit<Vector3<f64>>, Unit<Vector3<f64>>) {
    // A cross product with a nearly parallel vector would lose precision.
    let helper = if normal.x.abs() < 0.9 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    let u = Unit::new_normalize(normal.cross(&helper));
    let v = Unit::new_normalize(normal.cross(&u));
    (u, v)
}

/// Returns the child's frame in the joint frame for `positions` (radians or metres); missing ones
/// count as zero.
pub fn motion(joint: &Joint, positions: &[f64]) -> Pose {
    moved(joint.kind(), &joint.axis, positions)
}

/// Returns the motion of a joint of this kind about or along `axis`; see [`motion`].
pub fn moved(kind: JointKind, axis: &Unit<Vector3<f64>>, positions: &[f64]) -> Pose {
    let q = |k: usize| positions.get(k).copied().unwrap_or(0.0);
    match kind {
        JointKind::Fixed => Pose::identity(),
        JointKind::Revolute | JointKind::Continuous => Pose::from_parts(
            Translation3::identity(),
            UnitQuaternion::from_axis_angle(axis, q(0)),
        ),
        JointKind::Prismatic => Pose::from_parts(
            (axis.into_inner() * q(0)).into(),
            UnitQuaternion::identity(),
        ),
        JointKind::Planar => {
            let (u, v) = planar_basis(axis);
            Pose::from_parts(
                (u.into_inner() * q(0) + v.into_inner() * q(1)).into(),
                UnitQuaternion::identity(),
            )
        }
        JointKind::Floating => {
            let turn =
                |axis: Unit<Vector3<f64>>, k: usize| UnitQuaternion::from_axis_angle(&axis, q(k));
            let rotation = turn(Vector3::x_axis(), 3)
                * turn(Vector3::y_axis(), 4)
                * turn(Vector3::z_axis(), 5);
            Pose::from_parts(Translation3::new(q(0), q(1), q(2)), rotation)
        }
    }
}

/// Returns the positions of a floating joint that move its child to `pose` in the joint frame: the
/// inverse of [`motion`]. In gimbal lock (pitch at a right angle), yaw is zero.
pub fn floating_positions(pose: &Pose) -> [f64; 6] {
    let m = pose.rotation.to_rotation_matrix();
    // The sine and cosine of pitch.
    let (sine, cosine) = (m[(0, 2)], m[(0, 0)].hypot(m[(0, 1)]));
    let (roll, yaw) = if cosine < 1e-9 {
        (m[(2, 1)].atan2(m[(1, 1)]), 0.0)
    } else {
        ((-m[(1, 2)]).atan2(m[(2, 2)]), (-m[(0, 1)]).atan2(m[(0, 0)]))
    };
    let at = pose.translation.vector;
    // Adding zero turns -0 into 0.
    [at.x, at.y, at.z, roll, sine.atan2(cosine), yaw].map(|position| position + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkId;

    #[test]
    fn floating_positions_undo_motion() {
        let joint = Joint::new("j", JointKind::Floating, LinkId::new(0), LinkId::new(1));
        let right = std::f64::consts::FRAC_PI_2;
        for positions in [
            [0.0; 6],
            [1.0, -2.0, 3.0, 0.4, -0.9, 2.2],
            [0.0, 0.0, 0.0, -3.0, 1.5, -3.1],
            [0.5, 0.0, 0.0, 0.7, right, 0.3],
            [0.5, 0.0, 0.0, 0.7, -right, 0.3],
        ] {
            let pose = motion(&joint, &positions);
            let again = motion(&joint, &floating_positions(&pose));
            assert!(
                (pose.to_homogeneous() - again.to_homogeneous()).amax() < 1e-7,
                "{positions:?}"
            );
        }
        let far = motion(&joint, &[0.0, 0.0, 0.0, 0.4, -0.9, 2.2]);
        assert!(
            floating_positions(&far)
                .iter()
                .zip([0.0, 0.0, 0.0, 0.4, -0.9, 2.2])
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
    }
}
