//! A robot in the world: joint positions set on it, and read from where its links are.

use nalgebra::{UnitQuaternion, Vector3};
use urdf_usd_robot::kinematics::{floating_positions, planar_basis, position_count};
use urdf_usd_robot::{JointId, JointKind, LinkId, Pose};

use crate::mechanism::{Data, JointAt, Mechanism};
use crate::{Error, Transform};

/// How far links are, at most, from where joints can bring them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Misfit {
    /// Metres.
    pub distance: f64,
    /// Radians.
    pub angle: f64,
}

/// A robot in the world: its coordinates, and where that puts its links.
#[derive(Clone, Debug)]
pub struct Stance {
    q: Vec<f64>,
    /// Where the root of each link's tree is in the world; of roots only.
    roots: Vec<Transform>,
    links: Vec<Transform>,
    data: Data,
}

impl Stance {
    /// At rest ([`Mechanism::rest`]), with each root at the world's origin.
    pub fn new(mechanism: &Mechanism) -> Self {
        let links = vec![Transform::IDENTITY; mechanism.links()];
        let mut stance = Self {
            q: mechanism.rest(),
            roots: links.clone(),
            links,
            data: mechanism.data(),
        };
        stance.place(mechanism);
        stance
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &[f64] {
        &self.q
    }

    /// Where each link is in the world.
    pub fn links(&self) -> &[Transform] {
        &self.links
    }

    /// The positions of all joints, as [`urdf_usd_robot::kinematics::Model`] has them, those of
    /// followers included.
    pub fn positions(&self, mechanism: &Mechanism) -> Vec<f64> {
        let mut positions = vec![0.0; mechanism.position_count()];
        mechanism.positions(&self.q, &mut positions);
        positions
    }

    /// Puts joints at positions (radians, metres), and all links where that brings them; roots stay
    /// where they are. What is given for joints that follow others is ignored, since they follow.
    /// Limits are not looked at.
    ///
    /// # Errors
    /// [`Error::NoJoint`], [`Error::Positions`]; then nothing has changed.
    pub fn teleport(
        &mut self,
        mechanism: &Mechanism,
        joints: &[(JointId, &[f64])],
    ) -> Result<(), Error> {
        for (joint, positions) in joints {
            let has = mechanism
                .joints
                .get(joint.0)
                .map(|joint| position_count(joint.kind))
                .ok_or(Error::NoJoint(*joint))?;
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
            self.q[first..first + positions.len()].copy_from_slice(positions);
        }
        self.place(mechanism);
        Ok(())
    }

    /// The same, but `anchor` stays where it is in the world, and the rest of its tree moves
    /// instead.
    ///
    /// # Errors
    /// As of [`Stance::teleport`], and [`Error::NoLink`].
    pub fn teleport_anchored(
        &mut self,
        mechanism: &Mechanism,
        joints: &[(JointId, &[f64])],
        anchor: LinkId,
    ) -> Result<(), Error> {
        let root = mechanism.root(anchor).ok_or(Error::NoLink(anchor))?;
        let at = self.links[anchor.0];
        self.teleport(mechanism, joints)?;
        let in_root = self.roots[root.0].inverse().then(&self.links[anchor.0]);
        self.roots[root.0] = at.then(&in_root.inverse());
        self.place(mechanism);
        Ok(())
    }

    /// Puts the root of a link's tree so that the link is at `pose` in the world.
    ///
    /// # Errors
    /// [`Error::NoLink`].
    pub fn put(&mut self, mechanism: &Mechanism, link: LinkId, pose: &Pose) -> Result<(), Error> {
        let root = mechanism.root(link).ok_or(Error::NoLink(link))?;
        let in_root = self.roots[root.0].inverse().then(&self.links[link.0]);
        self.roots[root.0] = Transform::from(pose).then(&in_root.inverse());
        self.place(mechanism);
        Ok(())
    }

    /// Reads the coordinates from where links are in the world, one pose for each link, and says
    /// how far that is from what joints allow. An angle is taken within the joint's bounds if a
    /// whole turn brings it there, otherwise from -π to π. Missing poses count as where the link
    /// is.
    pub fn read(&mut self, mechanism: &Mechanism, links: &[Pose]) -> Misfit {
        let given: Vec<Pose> = (0..mechanism.links())
            .map(|link| {
                links
                    .get(link)
                    .copied()
                    .unwrap_or_else(|| self.links[link].pose())
            })
            .collect();
        for (id, joint) in mechanism.joints.iter().enumerate() {
            let Some(first) = mechanism.first(JointId(id)) else {
                continue;
            };
            let motion =
                joint.origin.inverse() * given[joint.parent].inverse() * given[joint.child];
            let (positions, count) = positions_of(joint, &motion);
            for (k, position) in positions.into_iter().enumerate().take(count) {
                let bounds = mechanism.coordinates()[first + k].bounds;
                let turn = std::f64::consts::TAU;
                let is_turn = mechanism.coordinates()[first + k].is_angle;
                let others = [position + turn, position - turn]
                    .into_iter()
                    .filter(|_| is_turn);
                self.q[first + k] = std::iter::once(position)
                    .chain(others)
                    .find(|position| bounds.contains(*position))
                    .unwrap_or(position);
            }
        }
        for (link, root) in mechanism.tree_of.iter().enumerate() {
            if link == *root {
                self.roots[link] = Transform::from(&given[link]);
            }
        }
        self.place(mechanism);
        let mut misfit = Misfit::default();
        for (at, given) in self.links.iter().zip(&given) {
            let pose = at.pose();
            misfit.distance = misfit
                .distance
                .max((pose.translation.vector - given.translation.vector).norm());
            misfit.angle = misfit.angle.max(pose.rotation.angle_to(&given.rotation));
        }
        misfit
    }

    fn place(&mut self, mechanism: &Mechanism) {
        let Self {
            q,
            roots,
            links,
            data,
        } = self;
        mechanism.forward_all(q, data, links);
        for (link, root) in links.iter_mut().zip(&mechanism.tree_of) {
            *link = roots[*root].then(link);
        }
    }
}

/// The positions of a joint whose child is at `motion` in the joint's frame, as near as they come,
/// and how many there are.
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

/// The angle about `axis` that comes nearest to a rotation, from -π to π.
fn angle_about(rotation: &UnitQuaternion<f64>, axis: &Vector3<f64>) -> f64 {
    let angle = 2.0 * rotation.imag().dot(axis).atan2(rotation.w);
    let turn = std::f64::consts::TAU;
    angle - turn * (angle / turn).round()
}
