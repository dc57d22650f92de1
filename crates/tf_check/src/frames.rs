//! The TF frames that an asset declares (REP-158 §2.7), as plain data.
//!
//! A reader of assets creates them for [`Expected`](crate::Expected).

use nalgebra::{Unit, Vector3};

use urdf_usd_robot::kinematics::{Model, ModelError, ModelFrame, ModelJoint};
use urdf_usd_robot::{JointKind, Pose};

/// The kind of prim that declares a TF frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum FrameKind {
    /// A rigid body: an implicit frame.
    Body,
    /// A prim with RosFrameAPI: an explicit frame.
    Frame,
}

impl FrameKind {
    /// Returns its keyword.
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
    /// Name of the frame: `ros:frame:id` of an explicit one, else the prim's name.
    pub id: String,
    /// Name in the robot description (`displayName`), if it is not a valid prim name.
    pub display_name: Option<String>,
    /// Parent frame; `None` for a root of the robot, unless the asset declares one.
    pub parent: Option<String>,
    /// Whether it belongs on `/tf_static`: an explicit static frame, or a body on a fixed joint or
    /// on none. Meaningless for a root.
    pub is_static: bool,
    /// Pose in `parent` with all joints at zero, in metres; for a root, in the default prim.
    pub pose: Pose,
    /// Kind of its prim.
    pub kind: FrameKind,
    /// Whether it is a sensor's own frame or a camera's optical frame that only the asset has: a
    /// simulator broadcasts it, robot_state_publisher does not.
    pub from_sensor: bool,
    /// Whether it is a root of the robot: localisation determines its pose and its topic.
    pub is_root: bool,
    /// Whether `parent` is only the body of its joint, as with flat bodies: the parent in TF may
    /// then be any frame that is rigid in that body.
    pub is_apart: bool,
    /// Index in [`AssetFrames::joints`] of the joint that moves it in its parent; `None` if no
    /// joint does.
    pub joint: Option<usize>,
}

/// A joint of the asset.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct AssetJoint {
    /// ROS name: `ros:joint:name`, else the prim's name (§2.10).
    pub name: String,
    /// Kind of motion. A six-axis joint of no other kind counts as floating.
    pub kind: JointKind,
    /// Pose of the joint's frame in the parent of the moved frame, in metres.
    pub origin: Pose,
    /// Pose of the moved frame in the moving side of the joint.
    pub tail: Pose,
    /// Axis in the joint's frame; the normal for a planar joint.
    pub axis: Unit<Vector3<f64>>,
    /// The joint that it mimics.
    pub mimic: Option<AssetMimic>,
}

/// A mimic relation: `position = multiplier · position(joint) + offset`, in rad and m.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct AssetMimic {
    /// Index in [`AssetFrames::joints`] of the joint that is followed.
    pub joint: usize,
    /// Factor of the followed position.
    pub multiplier: f64,
    /// Offset, in rad or m.
    pub offset: f64,
}

/// The asset's outermost RosContextAPI (§2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct RosContext {
    /// Absolute namespace of the robot's TF topics: `/robot_1`, or `/` for none.
    pub namespace: String,
    /// Parent frame of the robot's root, if it is authored.
    pub parent_frame: Option<String>,
    /// ROS domain, if it is authored.
    pub domain_id: Option<i32>,
    /// The ROS root if it is not a body, and so not a frame of the robot: a simulator may broadcast
    /// it above the robot's roots, robot_state_publisher does not.
    pub root: Option<String>,
    /// Absolute name of the joint state topic, if the asset declares one.
    pub joint_states: Option<String>,
}

/// The TF frames of an asset, and the joints that move them.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct AssetFrames {
    /// The ROS context of the asset.
    pub context: RosContext,
    /// The frames, in the order of their prims.
    pub frames: Vec<AssetFrame>,
    /// The joints that move frames, and those that they follow.
    pub joints: Vec<AssetJoint>,
}

impl AssetFrames {
    /// Returns the kinematic model, with the frames of [`AssetFrames::frames`] and the joints of
    /// [`AssetFrames::joints`].
    ///
    /// # Errors
    /// Returns an error if frames or mimic joints form a cycle, as in a faulty asset of another tool.
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
