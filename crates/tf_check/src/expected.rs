//! What an asset says about its frames, ready to be compared with what is heard, again and again.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use crate::frames::{AssetFrame, AssetFrames, AssetJoint};
use crate::tf::plain;
use urdf_usd_robot::kinematics::{Model, ModelError, moved};
use urdf_usd_robot::{JointKind, Pose};

/// The frames of an asset with their kinematic model. As a slice it is the frames.
#[derive(Clone, Debug)]
pub struct Expected {
    asset: AssetFrames,
    model: Model,
    /// Names without a leading slash.
    index: HashMap<String, usize>,
    /// Since when it holds: moving frames that were heard before were those of an older
    /// description.
    since: Instant,
    previous: Option<Arc<Self>>,
}

impl Expected {
    /// What an asset says that is current since `since`.
    ///
    /// # Errors
    /// If its frames hang on each other, or its joints follow each other, in a circle.
    pub fn new(asset: AssetFrames, since: Instant) -> Result<Self, ModelError> {
        let model = asset.model()?;
        let index = asset
            .frames
            .iter()
            .enumerate()
            .rev()
            .map(|(index, frame)| (plain(&frame.id).to_owned(), index))
            .collect();
        Ok(Self {
            model,
            index,
            since,
            previous: None,
            asset,
        })
    }

    /// The same, with what the revision before it said, by which a robot is recognised that still
    /// runs with the older description.
    pub fn after(self, previous: Option<Arc<Self>>) -> Self {
        let previous = previous.map(|previous| {
            Arc::new(Self {
                previous: None,
                ..(*previous).clone()
            })
        });
        Self { previous, ..self }
    }

    /// The asset's frames, joints and context.
    pub fn asset(&self) -> &AssetFrames {
        &self.asset
    }

    /// What the revision before said.
    pub(crate) fn previous(&self) -> Option<&Self> {
        self.previous.as_deref()
    }

    /// The frame of this name.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.index.get(plain(id)).copied()
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// The joint that moves a frame, and its index.
    pub(crate) fn joint(&self, frame: &AssetFrame) -> Option<(usize, &AssetJoint)> {
        let index = frame.joint?;
        self.asset.joints.get(index).map(|joint| (index, joint))
    }

    /// The joint that a joint follows through all others, the factor and the offset.
    pub(crate) fn leader(&self, joint: usize) -> Option<(&AssetJoint, f64, f64)> {
        let (leader, multiplier, offset) = self.model.driver(joint)?;
        Some((self.asset.joints.get(leader)?, multiplier, offset))
    }

    /// The pose in its parent of a frame whose joint has one position.
    pub(crate) fn place(&self, frame: usize, position: f64) -> Pose {
        self.model.place(frame, &[position])
    }
}

impl Deref for Expected {
    type Target = [AssetFrame];

    fn deref(&self) -> &[AssetFrame] {
        &self.asset.frames
    }
}

/// The position of a joint that brings what it moves nearest to a pose, in radians or metres;
/// `None` for joints that take more than one, or none.
pub(crate) fn position(joint: &AssetJoint, pose: &Pose) -> Option<f64> {
    let motion = joint.origin.inverse() * pose * joint.tail.inverse();
    match joint.kind {
        JointKind::Revolute | JointKind::Continuous => {
            let q = motion.rotation.quaternion();
            Some(2.0 * q.imag().dot(&joint.axis).atan2(q.w))
        }
        JointKind::Prismatic => Some(motion.translation.vector.dot(&joint.axis)),
        JointKind::Fixed | JointKind::Planar | JointKind::Floating => None,
    }
}

/// The pose nearest to `pose` that a joint of more than one position allows: of a planar joint
/// those in its plane, turned about its normal (as robots of this kind move, though URDF only lets
/// them slide); of a floating one any.
pub(crate) fn nearest(joint: &AssetJoint, pose: &Pose) -> Pose {
    if joint.kind != JointKind::Planar {
        return *pose;
    }
    let motion = joint.origin.inverse() * pose * joint.tail.inverse();
    let axis = joint.axis.into_inner();
    let at = motion.translation.vector;
    let q = motion.rotation.quaternion();
    let turn = 2.0 * q.imag().dot(&axis).atan2(q.w);
    let mut flat = moved(JointKind::Revolute, &joint.axis, &[turn]);
    flat.translation.vector = at - axis * at.dot(&axis);
    joint.origin * flat * joint.tail
}
