//! Forward kinematics on flat arrays, without allocation after construction.

#![allow(
    clippy::indexing_slicing,
    reason = "`Model::new` has checked all indices of frames and joints"
)]

use std::ops::Range;

use nalgebra::{Unit, Vector3};

use super::{moved, position_count};
use crate::{Handle, JointKind, Pose, Robot};

/// A frame of a [`Model`].
#[derive(Clone, Debug)]
pub struct ModelFrame {
    /// The parent frame; `None` for a root.
    pub parent: Option<usize>,
    /// The joint that moves it; `None` if it is fixed.
    pub joint: Option<usize>,
    /// The joint's frame in the parent, metres.
    pub origin: Pose,
    /// This frame in the frame that the joint moves; the identity if they coincide.
    pub tail: Pose,
}

/// A joint of a [`Model`].
#[derive(Clone, Copy, Debug)]
pub struct ModelJoint {
    /// The joint's type.
    pub kind: JointKind,
    /// The axis of motion (the normal of a plane) in the joint's frame.
    pub axis: Unit<Vector3<f64>>,
    /// The joint that it follows, a factor and an offset: `position = multiplier · position(joint)
    /// + offset`, in radians and metres.
    pub mimic: Option<(usize, f64, f64)>,
}

/// Reasons why frames and joints form no valid model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A frame or joint refers to one that does not exist.
    #[error("it refers to a frame or joint that does not exist")]
    Missing,
    /// Frames, or joints that follow each other, form a cycle.
    #[error("its frames hang on each other, or its joints follow each other, in a circle")]
    Circular,
}

/// A joint of a model with its place in the array of positions.
#[derive(Clone, Copy, Debug)]
struct Placed {
    kind: JointKind,
    axis: Unit<Vector3<f64>>,
    first: usize,
    /// The driving position at the end of the chain of mimics, if that joint has one.
    leader: Option<Leader>,
}

#[derive(Clone, Copy, Debug)]
struct Leader {
    joint: usize,
    /// `None`: the joint followed has no position, which counts as zero.
    position: Option<usize>,
    multiplier: f64,
    offset: f64,
}

/// A forest of frames connected by joints.
///
/// All positions are in one array, joint after joint, [`position_count`] for each; [`Model::range`]
/// returns a joint's range. Positions beyond the end of a shorter array count as zero. Joints that
/// follow others have a range too: its values are used as they are, and [`Model::follow`] computes
/// them.
#[derive(Clone, Debug)]
pub struct Model {
    frames: Vec<ModelFrame>,
    joints: Vec<Placed>,
    /// Every frame after its parent.
    order: Vec<usize>,
    positions: usize,
}

impl Model {
    /// Creates the model of a robot: its frames are [`Robot::links`], its joints [`Robot::joints`],
    /// including those that close loops (they have positions and can be followed, but move
    /// nothing).
    pub fn of(robot: &Robot) -> Self {
        let tree = robot.tree();
        let mut frames: Vec<ModelFrame> = Vec::with_capacity(robot.links().len());
        for link in robot.links().handles() {
            let joint = tree.parent_joint(link);
            let above = joint.map(|id| &robot.joints()[id]);
            frames.push(ModelFrame {
                parent: above.map(|joint| joint.parent().index()),
                joint: joint.map(Handle::index),
                origin: above.map_or(Pose::identity(), |joint| joint.origin),
                tail: Pose::identity(),
            });
        }
        let joints = robot.joints().values().map(|joint| ModelJoint {
            kind: joint.kind(),
            axis: joint.axis,
            mimic: joint
                .mimic()
                .map(|mimic| (mimic.joint.index(), mimic.multiplier, mimic.offset)),
        });
        let joints: Vec<ModelJoint> = joints.collect();
        // The model's mimics are never circular.
        let leaders = leaders(&joints).unwrap_or_default();
        Self::assemble(
            frames,
            &joints,
            &leaders,
            tree.order().iter().map(|link| link.index()).collect(),
        )
    }

    /// Creates a model of arbitrary frames and joints.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn new(frames: Vec<ModelFrame>, joints: &[ModelJoint]) -> Result<Self, ModelError> {
        let is_frame = |index: &usize| *index < frames.len();
        let is_joint = |index: &usize| *index < joints.len();
        if !frames.iter().all(|f| {
            f.parent.as_ref().is_none_or(is_frame) && f.joint.as_ref().is_none_or(is_joint)
        }) || !joints
            .iter()
            .all(|joint| joint.mimic.is_none_or(|(leader, ..)| is_joint(&leader)))
        {
            return Err(ModelError::Missing);
        }
        let mut children = vec![Vec::new(); frames.len()];
        let mut order: Vec<usize> = Vec::with_capacity(frames.len());
        for (index, frame) in frames.iter().enumerate() {
            match frame.parent {
                Some(parent) => children[parent].push(index),
                None => order.push(index),
            }
        }
        let mut next = 0;
        while let Some(&frame) = order.get(next) {
            order.extend(&children[frame]);
            next += 1;
        }
        let leaders = leaders(joints)
            // Frames of a cycle are reached from no root.
            .filter(|_| order.len() == frames.len())
            .ok_or(ModelError::Circular)?;
        Ok(Self::assemble(frames, joints, &leaders, order))
    }

    /// Assembles a model of validated frames and joints; `leaders` is the result of [`leaders`].
    fn assemble(
        frames: Vec<ModelFrame>,
        joints: &[ModelJoint],
        leaders: &[Option<Follows>],
        order: Vec<usize>,
    ) -> Self {
        let mut first = 0;
        let mut placed: Vec<Placed> = Vec::with_capacity(joints.len());
        for joint in joints {
            placed.push(Placed {
                kind: joint.kind,
                axis: joint.axis,
                first,
                leader: None,
            });
            first += position_count(joint.kind);
        }
        for (index, follows) in leaders.iter().enumerate() {
            let Some((leader, multiplier, offset)) = *follows else {
                continue;
            };
            let position =
                (position_count(joints[leader].kind) > 0).then_some(placed[leader].first);
            placed[index].leader = Some(Leader {
                joint: leader,
                position,
                multiplier,
                offset,
            });
        }
        Self {
            frames,
            joints: placed,
            order,
            positions: first,
        }
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Returns the number of positions of all joints together.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Returns the range of a joint's positions in the array.
    pub fn range(&self, joint: usize) -> Range<usize> {
        self.joints.get(joint).map_or(0..0, |joint| {
            joint.first..joint.first + position_count(joint.kind)
        })
    }

    /// Returns the joint that drives `joint` through the whole chain of mimics, with factor and
    /// offset; `None` if it follows none.
    pub fn driver(&self, joint: usize) -> Option<(usize, f64, f64)> {
        let leader = self.joints.get(joint)?.leader.as_ref()?;
        Some((leader.joint, leader.multiplier, leader.offset))
    }

    /// Concatenates the positions of the joints into one array.
    pub fn flat<P: AsRef<[f64]>>(&self, positions: &[P]) -> Vec<f64> {
        let mut flat = vec![0.0; self.positions];
        for (joint, positions) in positions.iter().enumerate() {
            for (to, from) in flat[self.range(joint)].iter_mut().zip(positions.as_ref()) {
                *to = *from;
            }
        }
        flat
    }

    /// Sets the positions of every joint that follows another, through chains. If it has several,
    /// the first is set and the others are zero.
    pub fn follow(&self, positions: &mut [f64]) {
        for joint in &self.joints {
            // A leader is the end of its chain of mimics, so the order of joints doesn't matter.
            let Some(Leader {
                position,
                multiplier,
                offset,
                ..
            }) = joint.leader
            else {
                continue;
            };
            let led_by = position
                .and_then(|position| positions.get(position))
                .copied()
                .unwrap_or(0.0);
            for k in 0..position_count(joint.kind) {
                if let Some(at) = positions.get_mut(joint.first + k) {
                    *at = if k == 0 {
                        multiplier * led_by + offset
                    } else {
                        0.0
                    };
                }
            }
        }
    }

    /// Returns a frame's pose in its parent.
    pub fn local(&self, frame: usize, positions: &[f64]) -> Pose {
        let at = &self.frames[frame];
        match at.joint.map(|joint| &self.joints[joint]) {
            Some(joint) => self.place(frame, positions.get(joint.first..).unwrap_or_default()),
            None => at.origin * at.tail,
        }
    }

    /// Returns a frame's pose in its parent, given the positions of its joint only.
    pub fn place(&self, frame: usize, positions: &[f64]) -> Pose {
        let at = &self.frames[frame];
        let motion = at.joint.map_or(Pose::identity(), |joint| {
            moved(self.joints[joint].kind, &self.joints[joint].axis, positions)
        });
        at.origin * motion * at.tail
    }

    /// Writes every frame's pose in its root.
    pub fn forward(&self, positions: &[f64], poses: &mut [Pose]) {
        for &frame in &self.order {
            let local = self.local(frame, positions);
            let pose = self.frames[frame]
                .parent
                .and_then(|parent| poses.get(parent))
                .map_or(local, |above| above * local);
            if let Some(out) = poses.get_mut(frame) {
                *out = pose;
            }
        }
    }

    /// Returns every frame's pose in its root.
    pub fn poses(&self, positions: &[f64]) -> Vec<Pose> {
        let mut poses = vec![Pose::identity(); self.frames.len()];
        self.forward(positions, &mut poses);
        poses
    }
}

/// The joint that another follows, the factor and the offset.
type Follows = (usize, f64, f64);

/// Returns the driving joint of each joint; `None` if joints follow each other in a circle. Visits
/// each joint of a chain once.
fn leaders(joints: &[ModelJoint]) -> Option<Vec<Option<Follows>>> {
    let mut leaders: Vec<Option<Follows>> = vec![None; joints.len()];
    let mut is_known = vec![false; joints.len()];
    let mut is_on_way = vec![false; joints.len()];
    for start in 0..joints.len() {
        let (mut way, mut at) = (Vec::new(), start);
        while let Some((leader, ..)) = joints[at].mimic.filter(|_| !is_known[at]) {
            if std::mem::replace(&mut is_on_way[at], true) {
                return None;
            }
            way.push(at);
            at = leader;
        }
        is_known[at] = true;
        for joint in way.into_iter().rev() {
            leaders[joint] =
                joints[joint]
                    .mimic
                    .map(|(leader, factor, offset)| match leaders[leader] {
                        Some((last, further, more)) => {
                            (last, factor * further, offset + factor * more)
                        }
                        None => (leader, factor, offset),
                    });
            is_known[joint] = true;
        }
    }
    Some(leaders)
}

#[cfg(test)]
mod tests;
