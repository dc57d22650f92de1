//! Where links are for given joint positions.

use nalgebra::{Translation3, Unit, UnitQuaternion, Vector3};

use super::{Joint, JointKind, Pose, Robot};

/// How many positions a joint of this kind takes: planar two (along the basis of [`planar_basis`]), floating six (x, y, z in
/// metres, then roll, pitch, yaw applied in that order about the moved axes, EXT_robot_kinematics §6 step 5).
pub fn position_count(kind: JointKind) -> usize {
    match kind {
        JointKind::Fixed => 0,
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => 1,
        JointKind::Planar => 2,
        JointKind::Floating => 6,
    }
}

/// The two directions of a plane with the given normal, as EXT_robot_kinematics §6 step 5 constructs them: orthonormal, and
/// right-handed with the normal as third.
pub fn planar_basis(normal: &Unit<Vector3<f64>>) -> (Unit<Vector3<f64>>, Unit<Vector3<f64>>) {
    // Too close to x and the cross product loses its digits.
    let helper = if normal.x.abs() < 0.9 { Vector3::x() } else { Vector3::y() };
    let u = Unit::new_normalize(normal.cross(&helper));
    let v = Unit::new_normalize(normal.cross(&u));
    (u, v)
}

/// The child's frame in the joint frame for `positions` (radians or metres); missing ones count as zero.
pub fn motion(joint: &Joint, positions: &[f64]) -> Pose {
    let q = |k: usize| positions.get(k).copied().unwrap_or(0.0);
    match joint.kind {
        JointKind::Fixed => Pose::identity(),
        JointKind::Revolute | JointKind::Continuous => {
            Pose::from_parts(Translation3::identity(), UnitQuaternion::from_axis_angle(&joint.axis, q(0)))
        }
        JointKind::Prismatic => Pose::from_parts((joint.axis.into_inner() * q(0)).into(), UnitQuaternion::identity()),
        JointKind::Planar => {
            let (u, v) = planar_basis(&joint.axis);
            Pose::from_parts((u.into_inner() * q(0) + v.into_inner() * q(1)).into(), UnitQuaternion::identity())
        }
        JointKind::Floating => {
            let turn = |axis: Unit<Vector3<f64>>, k: usize| UnitQuaternion::from_axis_angle(&axis, q(k));
            let rotation = turn(Vector3::x_axis(), 3) * turn(Vector3::y_axis(), 4) * turn(Vector3::z_axis(), 5);
            Pose::from_parts(Translation3::new(q(0), q(1), q(2)), rotation)
        }
    }
}

/// Every link's frame in the frame of its root, for the positions of every joint (indexed as [`Robot::joints`]; a joint beyond
/// the end is at zero). Mimic joints take what is given: see [`follow_mimics`].
pub fn link_poses(robot: &Robot, positions: &[Vec<f64>]) -> Vec<Pose> {
    let mut poses = vec![Pose::identity(); robot.links.len()];
    for &link in &robot.tree.order {
        if let Some(joint) = robot.tree.parent_joint[link.0] {
            let at = positions.get(joint.0).map_or(&[][..], Vec::as_slice);
            let joint = &robot.joints[joint.0];
            poses[link.0] = poses[joint.parent.0] * joint.origin * motion(joint, at);
        }
    }
    poses
}

/// Sets every mimic joint's position from the joint that it follows, through chains.
pub fn follow_mimics(robot: &Robot, positions: &mut [Vec<f64>]) {
    for index in 0..robot.joints.len().min(positions.len()) {
        let (mut multiplier, mut offset, mut leader) = (1.0, 0.0, index);
        // The hub's mimics are never circular, so this ends.
        while let Some(mimic) = robot.joints[leader].mimic {
            offset += multiplier * mimic.offset;
            multiplier *= mimic.multiplier;
            leader = mimic.joint.0;
        }
        if leader != index {
            let at = positions.get(leader).and_then(|p| p.first()).copied().unwrap_or(0.0);
            positions[index] = vec![multiplier * at + offset];
        }
    }
}
