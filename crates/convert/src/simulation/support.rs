//! Finds the loads of joints that bear a robot with a free base: those of its legs.

use std::collections::{BTreeMap, BTreeSet};

use urdf_usd_kinematics::{GRAVITY, Mechanism};
use urdf_usd_robot::{Base, JointId, JointKind, Link, LinkId, NamedPose, Pose, Robot};

/// Height above the lowest link, as a share of the height of the centre of mass, below which a link is a
/// foot.
const FOOT_HEIGHT: f64 = 0.05;

/// Returns the load of each joint between the base and the feet, N·m or N: the share of the weight that one
/// foot bears, at the distance of the robot's centre of mass from the axis. With stiffness in proportion to
/// it, neither a bent leg gives way nor a straight one buckles, nor does the robot tip over its ankles.
///
/// Empty if the base is fixed, or the robot rests on its base. Wheels bear no load.
pub(super) fn loads(
    robot: &Robot,
    mechanism: &Mechanism,
    home: Option<&NamedPose>,
    base: Base,
) -> BTreeMap<JointId, f64> {
    find(robot, mechanism, home, base).unwrap_or_default()
}

fn find(
    robot: &Robot,
    mechanism: &Mechanism,
    home: Option<&NamedPose>,
    base: Base,
) -> Option<BTreeMap<JointId, f64>> {
    let is_free = match base {
        Base::Auto => robot.world_root().is_none(),
        Base::Fixed => false,
        Base::Floating => true,
    };
    if !is_free {
        return None;
    }
    let mut q = mechanism.rest();
    super::set(
        mechanism,
        &mut q,
        home.into_iter().flat_map(|home| &home.positions),
    );
    let (mass, centre) = mechanism.centre_of_mass(&q, &mut mechanism.data());
    let centre = centre?;
    let mut positions = vec![0.0; mechanism.position_count()];
    let mut poses = vec![Pose::identity(); robot.links().len()];
    mechanism.poses(&q, &mut positions, &mut poses);

    let has_content = |link: &Link| link.inertial.is_some() || !link.collisions.is_empty();
    let height = |link: LinkId| poses.get(link.index()).map(|pose| pose.translation.z);
    let solid = robot.links().iter().filter(|(_, link)| has_content(link));
    let heights: Vec<(LinkId, f64)> = solid
        .filter_map(|(id, _)| Some((id, height(id)?)))
        .collect();
    let lowest = heights.iter().map(|(_, at)| *at).reduce(f64::min)?;
    let floor = lowest + FOOT_HEIGHT * (centre.z - lowest).max(0.0);
    // The joints above each foot, from the foot to the base.
    let mut legs: Vec<Vec<JointId>> = Vec::new();
    for (foot, _) in heights.iter().filter(|(_, at)| *at <= floor) {
        let leg = moving_joints_above(robot, *foot);
        if leg.is_empty() {
            return None;
        }
        legs.push(leg);
    }
    // Several links of a leg may be low: the last joint of the leg is above one of them only.
    let inner: BTreeSet<JointId> = legs
        .iter()
        .flat_map(|leg| leg.iter().skip(1))
        .copied()
        .collect();
    let last = legs.iter().filter_map(|leg| leg.first());
    let feet: BTreeSet<&JointId> = last.filter(|joint| !inner.contains(joint)).collect();
    let share = mass * GRAVITY.norm() / feet.len().max(1) as f64;

    let bearing: BTreeSet<JointId> = legs.iter().flatten().copied().collect();
    let load = |id: JointId| {
        let joint = &robot.joints()[id];
        let frame = poses.get(joint.child().index())?;
        let axis = (frame.rotation * joint.axis).into_inner();
        let lever = match joint.kind() {
            JointKind::Prismatic => axis.z.abs(),
            // A wheel is free to turn.
            JointKind::Continuous if feet.contains(&id) => return None,
            // The weight has no moment about a vertical axis.
            JointKind::Revolute | JointKind::Continuous => {
                let arm = (centre - frame.translation.vector).cross(&axis).norm();
                arm * (1.0 - axis.z * axis.z).max(0.0).sqrt()
            }
            _ => return None,
        };
        Some((id, share * lever))
    };
    Some(bearing.into_iter().filter_map(load).collect())
}

/// Returns the joints that move a link relative to its root, from the link upwards.
fn moving_joints_above(robot: &Robot, mut link: LinkId) -> Vec<JointId> {
    let mut above = Vec::new();
    while let Some(id) = robot.tree().parent_joint(link) {
        let joint = &robot.joints()[id];
        if joint.kind() != JointKind::Fixed {
            above.push(id);
        }
        link = joint.parent();
    }
    above
}
