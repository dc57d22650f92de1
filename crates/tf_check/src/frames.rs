//! The TF frames that an asset declares (REP-158 §2.7), as plain data: a reader of assets makes
//! them, [`Expected`](crate::Expected) takes them.

use nalgebra::{Unit, Vector3};

use urdf_usd_robot::kinematics::{Model, ModelError, ModelFrame, ModelJoint};
use urdf_usd_robot::{JointKind, Pose};

/// What a TF frame is in the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum FrameKind {
    /// A rigid body: an implicit frame.
    Body,
    /// A prim with RosFrameAPI: an explicit one.
    Frame,
}

impl FrameKind {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Frame => "frame",
        }
    }
}

/// A TF frame that the asset declares.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct AssetFrame {
    /// The frame's name: `ros:frame:id` of an explicit one, else the prim's name.
    pub id: String,
    /// What the asset shows to people instead (`displayName`): the robot's own name for it, where a
    /// prim cannot be called that.
    pub display_name: Option<String>,
    /// The frame above it; `None` for a root of the robot, unless the asset says what that hangs
    /// on.
    pub parent: Option<String>,
    /// Whether it belongs on `/tf_static`: an explicit static frame, or a body joined by a fixed
    /// joint or by nothing. Of a root that nothing holds it says nothing.
    pub is_static: bool,
    /// The pose in `parent` as the asset stands, which is with all joints at zero (in the default
    /// prim for a root).
    pub pose: Pose,
    /// Body or frame.
    pub kind: FrameKind,
    /// Whether it is a sensor's own frame, or a camera's own optical frame, which stands in the
    /// asset only: a simulator broadcasts it, but no robot_state_publisher.
    pub from_sensor: bool,
    /// Whether nothing in the asset holds it: where it is, and on which topic, is for whoever
    /// localises the robot to say.
    pub is_root: bool,
    /// Whether it lies in none of the frames of the body that its joint names, as flat bodies do:
    /// then the asset does not say which of the frames that are rigid in that body it hangs on, and
    /// `parent` is the body.
    pub is_apart: bool,
    /// The joint that moves it in its parent, an index into [`AssetFrames::joints`]; `None` if it
    /// does not move, or not by a joint.
    pub joint: Option<usize>,
}

/// A joint of the asset.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct AssetJoint {
    /// The ROS name: `ros:joint:name`, else the prim's name (§2.10).
    pub name: String,
    /// What motion it allows. A joint of six axes that is none of the others counts as floating.
    pub kind: JointKind,
    /// The joint's frame in the parent *frame* of the frame that it moves, metres.
    pub origin: Pose,
    /// The frame that it moves, in what the joint moves.
    pub tail: Pose,
    /// The axis in the joint's frame (the normal of a plane).
    pub axis: Unit<Vector3<f64>>,
    /// The joint that it follows.
    pub mimic: Option<AssetMimic>,
}

/// How a joint follows another: `position = multiplier · position(joint) + offset`, in radians and
/// metres.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct AssetMimic {
    /// The joint followed, an index into [`AssetFrames::joints`].
    pub joint: usize,
    /// Factor.
    pub multiplier: f64,
    /// Radians or metres.
    pub offset: f64,
}

/// What the asset's outermost RosContextAPI says (§2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct RosContext {
    /// The namespace of the robot's TF topics, always with a slash in front: `/robot_1`, or `/` for
    /// none.
    pub namespace: String,
    /// The frame that the robot's root hangs on, if that is authored.
    pub parent_frame: Option<String>,
    /// The ROS domain, if that is authored.
    pub domain_id: Option<i32>,
    /// The ROS root where it is no body and so no frame of the robot: a simulator may broadcast it
    /// above the robot's roots, no robot_state_publisher does.
    pub root: Option<String>,
    /// The absolute name of the topic that tells joint states, if the asset declares one.
    pub joint_states: Option<String>,
}

/// The TF frames of an asset, and what moves them.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct AssetFrames {
    /// Names and the place of the whole.
    pub context: RosContext,
    /// The frames, in the order of their prims.
    pub frames: Vec<AssetFrame>,
    /// The joints that move frames, and those that they follow.
    pub joints: Vec<AssetJoint>,
}

impl AssetFrames {
    /// The kinematic model: its frames are [`AssetFrames::frames`], its joints
    /// [`AssetFrames::joints`].
    ///
    /// # Errors
    /// If frames hang on each other, or joints follow each other, in a circle, which assets of
    /// others may say.
    pub fn model(&self) -> Result<Model, ModelError> {
        let index = |id: &str| self.frames.iter().position(|frame| frame.id == id);
        let frame = |frame: &AssetFrame| {
            let joint = frame.joint.and_then(|joint| self.joints.get(joint));
            ModelFrame {
                parent: frame.parent.as_deref().and_then(index),
                joint: frame.joint,
                origin: joint.map_or(frame.pose, |joint| joint.origin),
                tail: joint.map_or(Pose::identity(), |joint| joint.tail),
            }
        };
        let joint = |joint: &AssetJoint| ModelJoint {
            kind: joint.kind,
            axis: joint.axis,
            mimic: joint
                .mimic
                .map(|mimic| (mimic.joint, mimic.multiplier, mimic.offset)),
        };
        Model::new(
            self.frames.iter().map(frame).collect(),
            &self.joints.iter().map(joint).collect::<Vec<_>>(),
        )
    }
}
