//! A robot in the world: joint positions from poses of links, and poses from positions.

use nalgebra::{UnitQuaternion, Vector3};
use urdf_usd_robot::kinematics::{floating_positions, planar_basis, position_count};
use urdf_usd_robot::{ArenaMap, JointId, JointKind, Link, LinkId, Pose};

use crate::mechanism::{JointAt, Mechanism};
use crate::{Error, Transform};

/// Largest deviation of given poses of links from poses that the joints allow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Misfit {
    /// Metres.
    pub distance: f64,
    /// Radians.
    pub angle: f64,
}

/// A robot in the world: its coordinates and the poses of its links.
#[derive(Clone, Debug)]
pub struct Stance {
    q: Vec<f64>,
    /// The positions of all joints.
    positions: Vec<f64>,
    /// The pose of each link in its root.
    poses: Vec<Pose>,
    /// The pose in the world of the root of each tree; only the entries of roots are used.
    roots: ArenaMap<Link, Transform>,
    links: ArenaMap<Link, Transform>,
}

impl Stance {
    /// Creates a stance at rest ([`Mechanism::rest`]), with each root at the world's origin.
    pub fn new(mechanism: &Mechanism) -> Self {
        let links = mechanism.seats.map(|_| Transform::IDENTITY);
        let mut stance = Self {
            q: mechanism.rest(),
            positions: vec![0.0; mechanism.position_count()],
            poses: vec![Pose::identity(); links.as_slice().len()],
            roots: links.clone(),
            links,
        };
        stance.place(mechanism);
        stance
    }

    /// Returns the coordinates.
    pub fn coordinates(&self) -> &[f64] {
        &self.q
    }

    /// Returns the poses of all links in the world.
    pub fn links(&self) -> &ArenaMap<Link, Transform> {
        &self.links
    }

    /// Returns the positions of all joints, followers included, laid out as in
    /// [`urdf_usd_robot::kinematics::Model`].
    pub fn positions(&self) -> &[f64] {
        &self.positions
    }

    /// Sets joints to positions (radians, metres) and updates the poses of all links; roots don't
    /// move. Positions of joints that follow others are ignored. Limits are not enforced.
    ///
    /// # Errors
    /// [`Error::Positions`]; then nothing has changed.
    pub fn teleport(
        &mut self,
        mechanism: &Mechanism,
        joints: &[(JointId, &[f64])],
    ) -> Result<(), Error> {
        for (joint, positions) in joints {
            // Check all joints before setting any: after an error nothing may have changed.
            let has = position_count(mechanism.joints[*joint].kind);
            if has != positions.len() {
                return Err(Error::Positions {
                    joint: *joint,
                    has,
                    given: positions.len(),
                });
            }
        }
        for (joint, positions) in joints {
            let Some(first) = mechanism.first(*joint) else {
                continue;
            };
            for (to, position) in self.q.iter_mut().skip(first).zip(*positions) {
                *to = *position;
            }
        }
        self.place(mechanism);
        Ok(())
    }

    /// Sets joints as [`Stance::teleport`] does, but `anchor` keeps its pose in the world, and the
    /// rest of its tree moves.
    ///
    /// # Errors
    /// As of [`Stance::teleport`].
    pub fn teleport_anchored(
        &mut self,
        mechanism: &Mechanism,
        joints: &[(JointId, &[f64])],
        anchor: LinkId,
    ) -> Result<(), Error> {
        let root = mechanism.root(anchor);
        // Before the joints move: this is the pose to restore.
        let at = self.links[anchor];
        self.teleport(mechanism, joints)?;
        let in_root = self.roots[root].inverse().then(&self.links[anchor]);
        self.roots[root] = at.then(&in_root.inverse());
        self.place(mechanism);
        Ok(())
    }

    /// Places the root of a link's tree so that the link is at `pose` in the world.
    pub fn put(&mut self, mechanism: &Mechanism, link: LinkId, pose: &Pose) {
        let root = mechanism.root(link);
        let in_root = self.roots[root].inverse().then(&self.links[link]);
        self.roots[root] = Transform::from(pose).then(&in_root.inverse());
        self.place(mechanism);
    }

    /// Reads the coordinates from the poses of links in the world, one for each link, and returns
    /// how far these are from poses that the joints allow. An angle is within the joint's bounds if
    /// a whole turn brings it there, otherwise from -π to π. A missing pose counts as the link's
    /// present one.
    pub fn read(&mut self, mechanism: &Mechanism, links: &[Pose]) -> Misfit {
        let mut given = self.links.map(Transform::pose);
        for (to, pose) in given.values_mut().zip(links) {
            *to = *pose;
        }
        for (id, joint) in mechanism.joints.iter() {
            let Some(first) = mechanism.first(id) else {
                continue;
            };
            let motion =
                joint.origin.inverse() * given[joint.parent].inverse() * given[joint.child];
            let (positions, count) = positions_of(joint, &motion);
            let coordinates = mechanism.coordinates().iter().zip(&mut self.q).skip(first);
            for (position, (coordinate, to)) in positions.into_iter().take(count).zip(coordinates) {
                let turn = std::f64::consts::TAU;
                let others = [position + turn, position - turn]
                    .into_iter()
                    .filter(|_| coordinate.is_angle);
                *to = std::iter::once(position)
                    .chain(others)
                    .find(|position| coordinate.bounds.contains(*position))
                    .unwrap_or(position);
            }
        }
        for &root in mechanism.tree.roots() {
            self.roots[root] = Transform::from(&given[root]);
        }
        self.place(mechanism);
        let mut misfit = Misfit::default();
        for (at, given) in self.links.values().zip(given.values()) {
            let pose = at.pose();
            misfit.distance = misfit
                .distance
                .max((pose.translation.vector - given.translation.vector).norm());
            misfit.angle = misfit.angle.max(pose.rotation.angle_to(&given.rotation));
        }
        misfit
    }

    fn place(&mut self, mechanism: &Mechanism) {
        mechanism.poses(&self.q, &mut self.positions, &mut self.poses);
        let in_roots = self.poses.iter().zip(mechanism.roots.values());
        for (link, (pose, root)) in self.links.values_mut().zip(in_roots) {
            *link = self.roots[*root].then(&Transform::from(pose));
        }
    }
}

/// Returns the positions of a joint that bring its child nearest to `motion` in the joint's frame,
/// and their number.
fn positions_of(joint: &JointAt, motion: &Pose) -> ([f64; 6], usize) {
    let along = |axis: &Vector3<f64>| axis.dot(&motion.translation.vector);
    let mut positions = [0.0; 6];
    match joint.kind {
        JointKind::Fixed => {}
        JointKind::Revolute | JointKind::Continuous => {
            positions[0] = angle_about(&motion.rotation, &joint.axis)
        }
        JointKind::Prismatic => positions[0] = along(&joint.axis),
        JointKind::Planar => {
            let (u, v) = planar_basis(&joint.axis);
            [positions[0], positions[1]] = [along(&u), along(&v)];
        }
        JointKind::Floating => positions = floating_positions(motion),
    }
    (positions, position_count(joint.kind))
}

/// Returns the angle of the rotation about `axis` that is nearest to a rotation, from -π to π.
fn angle_about(rotation: &UnitQuaternion<f64>, axis: &Vector3<f64>) -> f64 {
    let angle = 2.0 * rotation.imag().dot(axis).atan2(rotation.w);
    let turn = std::f64::consts::TAU;
    angle - turn * (angle / turn).round()
}
