//! The frames that an asset declares, prepared for repeated comparison.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use crate::frames::{AssetFrame, AssetFrames, AssetJoint};
use crate::tf::plain;
use urdf_usd_robot::kinematics::{Model, ModelError, moved};
use urdf_usd_robot::{JointKind, Pose};

/// The frames of an asset with their kinematic model. Dereferences to the slice of frames.
#[derive(Clone, Debug)]
pub struct Expected {
    asset: AssetFrames,
    model: Model,
    /// Index of each frame by its name without a leading slash.
    index: HashMap<String, usize>,
    /// Start of its validity: moving frames received earlier belong to an older description.
    since: Instant,
    previous: Option<Arc<Self>>,
}

impl Expected {
    /// Prepares the frames of an asset that is valid from `since` on.
    ///
    /// # Errors
    /// Returns an error if the frames, or the mimic joints, form a cycle.
    pub fn new(asset: AssetFrames, since: Instant) -> Result<Self, ModelError> {
        let model = asset.model()?;
        let index = asset
            .frames
            .iter()
            .enumerate()
            // Reversed, so that the first of several frames with one name is found.
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

    /// Adds the previous revision, by which a robot that still runs with the older description is
    /// recognised.
    pub fn after(self, previous: Option<Arc<Self>>) -> Self {
        let previous = previous.map(|previous| {
            Arc::new(Self {
                // Keep one revision only: otherwise the chain would grow with each conversion.
                previous: None,
                ..(*previous).clone()
            })
        });
        Self { previous, ..self }
    }

    /// Returns the asset's frames, joints and context.
    pub fn asset(&self) -> &AssetFrames {
        &self.asset
    }

    /// Returns the previous revision.
    pub(crate) fn previous(&self) -> Option<&Self> {
        self.previous.as_deref()
    }

    /// Returns the index of the frame with this name.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.index.get(plain(id)).copied()
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Returns the joint that moves a frame, and its index.
    pub(crate) fn joint(&self, frame: &AssetFrame) -> Option<(usize, &AssetJoint)> {
        let index = frame.joint?;
        self.asset.joints.get(index).map(|joint| (index, joint))
    }

    /// Returns the joint that a mimic joint finally follows, with the multiplier and the offset.
    pub(crate) fn leader(&self, joint: usize) -> Option<(&AssetJoint, f64, f64)> {
        let (leader, multiplier, offset) = self.model.driver(joint)?;
        Some((self.asset.joints.get(leader)?, multiplier, offset))
    }

    /// Returns the pose in its parent of a frame whose joint has one position, in rad or m.
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

/// Projects a pose onto a joint: returns the position, in rad or m, that brings the frame nearest
/// to it. `None` for joints without exactly one position.
pub(crate) fn position(joint: &AssetJoint, pose: &Pose) -> Option<f64> {
    let motion = joint.origin.inverse() * pose * joint.tail.inverse();
    match joint.kind {
        JointKind::Revolute | JointKind::Continuous => {
            let q = motion.rotation.quaternion();
            // The twist about the axis (swing–twist decomposition). The swing remains as an error.
            Some(2.0 * q.imag().dot(&joint.axis).atan2(q.w))
        }
        JointKind::Prismatic => Some(motion.translation.vector.dot(&joint.axis)),
        JointKind::Fixed | JointKind::Planar | JointKind::Floating => None,
    }
}

/// Projects a pose onto the motion of a joint with several positions.
///
/// A planar joint allows poses in its plane, rotated about its normal (as such robots move,
/// although URDF only lets them slide); a floating joint allows any pose.
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
