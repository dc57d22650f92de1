//! A kinematic model on flat arrays: where frames are, without allocating once it is set up.

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
    /// The frame that it hangs on; `None` for a root.
    pub parent: Option<usize>,
    /// The joint that moves it; `None` if nothing does.
    pub joint: Option<usize>,
    /// The joint's frame in the parent, metres.
    pub origin: Pose,
    /// This frame in what the joint moves. The identity where both are one
    /// frame.
    pub tail: Pose,
}

/// A joint of a [`Model`].
#[derive(Clone, Copy, Debug)]
pub struct ModelJoint {
    /// What motion it allows.
    pub kind: JointKind,
    /// The axis of motion (the normal of a plane) in the joint's frame.
    pub axis: Unit<Vector3<f64>>,
    /// The joint that it follows, and how: `position = multiplier · position(joint) + offset`, in
    /// radians and metres.
    pub mimic: Option<(usize, f64, f64)>,
}

/// Why frames and joints are no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A frame or joint refers to one that does not exist.
    #[error("it refers to a frame or joint that does not exist")]
    Missing,
    /// Frames hang on each other, or joints follow each other, in a circle.
    #[error("its frames hang on each other, or its joints follow each other, in a circle")]
    Circular,
}

/// A joint with its place in the array of positions.
#[derive(Clone, Copy, Debug)]
struct Placed {
    kind: JointKind,
    axis: Unit<Vector3<f64>>,
    first: usize,
    /// The position that it follows through all others, if that has one.
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

/// Frames that joints move in each other.
///
/// All positions stand in one array, joint after joint, as many for each as [`position_count`]
/// says; [`Model::range`] tells where. Positions beyond the end of an array that is too short count
/// as zero. Joints that follow others have their place too: it is taken as it is, and
/// [`Model::follow`] sets it.
#[derive(Clone, Debug)]
pub struct Model {
    frames: Vec<ModelFrame>,
    joints: Vec<Placed>,
    /// Every frame after its parent.
    order: Vec<usize>,
    positions: usize,
}

impl Model {
    /// The model of a robot: its frames are [`Robot::links`], its joints [`Robot::joints`], those
    /// that close loops included (they have positions and can be followed, but move nothing).
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

    /// A model of any frames and joints.
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
            .filter(|_| order.len() == frames.len())
            .ok_or(ModelError::Circular)?;
        Ok(Self::assemble(frames, joints, &leaders, order))
    }

    /// From what is known to be sound; `leaders` are those of [`leaders`].
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

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// How many positions all joints have together.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Where a joint's positions stand.
    pub fn range(&self, joint: usize) -> Range<usize> {
        self.joints.get(joint).map_or(0..0, |joint| {
            joint.first..joint.first + position_count(joint.kind)
        })
    }

    /// The joint that `joint` follows in the end, through all that follow others, with factor and
    /// offset: `None` if it follows none.
    pub fn driver(&self, joint: usize) -> Option<(usize, f64, f64)> {
        let leader = self.joints.get(joint)?.leader.as_ref()?;
        Some((leader.joint, leader.multiplier, leader.offset))
    }

    /// The joint's positions as one array, from those of each joint.
    pub fn flat<P: AsRef<[f64]>>(&self, positions: &[P]) -> Vec<f64> {
        let mut flat = vec![0.0; self.positions];
        for (joint, positions) in positions.iter().enumerate() {
            for (to, from) in flat[self.range(joint)].iter_mut().zip(positions.as_ref()) {
                *to = *from;
            }
        }
        flat
    }

    /// Sets the position of every joint that follows another, through chains. Of several positions
    /// the first is set, the others are zero.
    pub fn follow(&self, positions: &mut [f64]) {
        for joint in &self.joints {
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

    /// A frame's pose in its parent.
    pub fn local(&self, frame: usize, positions: &[f64]) -> Pose {
        let at = &self.frames[frame];
        match at.joint.map(|joint| &self.joints[joint]) {
            Some(joint) => self.place(frame, positions.get(joint.first..).unwrap_or_default()),
            None => at.origin * at.tail,
        }
    }

    /// A frame's pose in its parent for the positions of the joint that moves it alone.
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

    /// Every frame's pose in its root.
    pub fn poses(&self, positions: &[f64]) -> Vec<Pose> {
        let mut poses = vec![Pose::identity(); self.frames.len()];
        self.forward(positions, &mut poses);
        poses
    }
}

/// Which joint another follows, and by which factor and offset.
type Follows = (usize, f64, f64);

/// For each joint the one that it follows in the end; `None` if joints follow each other in a
/// circle. A chain is gone through once, however many joints are in it.
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
