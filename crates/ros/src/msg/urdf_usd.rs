//! This package's own interfaces; `msg/` and `srv/` at the root of the repository document every
//! field.

use serde::{Deserialize, Serialize};

use super::geometry_msgs::Pose;
use super::sensor_msgs::JointState;
use super::std_msgs::Header;

/// `urdf_usd/msg/Asset`: one revision of a robot's asset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// When the revision appeared; `frame_id` is the robot's root link.
    pub header: Header,
    /// The robot's name.
    pub robot: String,
    /// The namespace its ROS interfaces live in.
    pub ros_namespace: String,
    /// Counts up from 1 per robot.
    pub revision: u64,
    /// The directory that holds the revision.
    pub directory: String,
    /// The USD entry layer; empty if none was asked for.
    pub entry: String,
    /// The GLB; empty if none was asked for.
    pub glb: String,
    /// All files, relative to `directory`.
    pub files: Vec<String>,
    /// Their SHA-256 in hexadecimal, in the same order.
    pub sha256: Vec<String>,
    /// How many links.
    pub links: u32,
    /// How many joints.
    pub joints: u32,
    /// How many distinct meshes.
    pub meshes: u32,
    /// How many triangles in them.
    pub triangles: u64,
    /// How many materials.
    pub materials: u32,
    /// How many warnings the conversion gave.
    pub warnings: u32,
    /// How many errors.
    pub errors: u32,
    /// The content of report.json.
    pub report: String,
}

/// `urdf_usd/msg/FrameVerdict`: what was found about one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameVerdict {
    /// The frame.
    pub frame_id: String,
    /// One of the constants.
    pub verdict: String,
    /// The parent the asset says.
    pub expected_parent: String,
    /// The parent in TF; empty if the frame is missing.
    pub actual_parent: String,
    /// The topic the asset says.
    pub expected_topic: String,
    /// The topic it was heard on; empty if missing.
    pub actual_topic: String,
    /// Distance from where the asset says, in metres; NaN if not compared.
    pub position_error: f64,
    /// Angle from how the asset says, in radians; NaN if not compared.
    pub angle_error: f64,
    /// The finding in a sentence.
    pub detail: String,
}

impl FrameVerdict {
    /// As the asset says.
    pub const OK: &'static str = "ok";
    /// Not heard on any TF topic.
    pub const MISSING: &'static str = "missing";
    /// Under another parent.
    pub const WRONG_PARENT: &'static str = "wrong_parent";
    /// On /tf instead of /tf_static, or the other way round.
    pub const WRONG_TOPIC: &'static str = "wrong_topic";
    /// Somewhere else than the asset says, beyond the tolerances.
    pub const OFF: &'static str = "off";
    /// Heard, but not for longer than the timeout.
    pub const STALE: &'static str = "stale";
    /// Under the robot in TF, but not in the asset.
    pub const EXTRA: &'static str = "extra";
}

/// The request of `urdf_usd/srv/Convert`. With `urdf` and `uri` empty the last description heard is
/// converted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertRequest {
    /// URDF text.
    pub urdf: String,
    /// A path, file:// or package:// URI of a URDF.
    pub uri: String,
    /// Where to write; empty for the node's parameter.
    pub output_dir: String,
    /// What to write; empty for the node's parameter.
    pub formats: Vec<String>,
    /// XRDF text, or a path, file:// or package:// URI of one; empty for the node's parameter.
    pub xrdf: String,
}

/// The response of `urdf_usd/srv/Convert`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertResponse {
    /// Whether an asset was written.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// The files, absolute.
    pub files: Vec<String>,
    /// The content of report.json.
    pub report: String,
}

/// The request of `urdf_usd/srv/CheckFrames`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFramesRequest {
    /// Which robot; empty for the last one converted.
    pub robot: String,
    /// Only these frames; all if empty.
    pub frames: Vec<String>,
}

/// The response of `urdf_usd/srv/CheckFrames`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckFramesResponse {
    /// Whether the check could be made.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// Whether every frame is as the asset says.
    pub all_ok: bool,
    /// The robot checked.
    pub robot: String,
    /// The revision of its asset.
    pub revision: u64,
    /// One per frame.
    pub frames: Vec<FrameVerdict>,
}

/// `urdf_usd/msg/NamedPose`: positions of some or all joints of a robot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedPose {
    /// Its name.
    pub name: String,
    /// The group of joints that it is of; empty: none.
    pub group: String,
    /// The joints.
    pub joint_names: Vec<String>,
    /// For each of them rad or m.
    pub positions: Vec<f64>,
    /// Whether all are within the joints' limits.
    pub valid: bool,
}

/// The request of `urdf_usd/srv/ListPoses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPosesRequest {
    /// Which robot; empty for the one converted last.
    pub robot: String,
}

/// The response of `urdf_usd/srv/ListPoses`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListPosesResponse {
    /// Whether it was done.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// The robot.
    pub robot: String,
    /// Its poses.
    pub poses: Vec<NamedPose>,
}

/// The request of `urdf_usd/srv/StorePose`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorePoseRequest {
    /// Which robot; empty for the one converted last.
    pub robot: String,
    /// The pose's name.
    pub name: String,
    /// Its group; empty: none.
    pub group: String,
    /// The joints that it sets; empty: all that joint states are heard of.
    pub joint_names: Vec<String>,
    /// For each of them rad or m; empty: from the joint states heard last.
    pub positions: Vec<f64>,
}

/// The response of `urdf_usd/srv/StorePose`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorePoseResponse {
    /// Whether it was done.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// As it was stored.
    pub pose: NamedPose,
    /// The entry file that has it, absolute.
    pub entry: String,
}

/// The request of `urdf_usd/srv/DeletePose`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletePoseRequest {
    /// Which robot; empty for the one converted last.
    pub robot: String,
    /// The pose's name.
    pub name: String,
    /// Its group; empty: none, or the only one with a pose of that name.
    pub group: String,
}

/// The response of `urdf_usd/srv/DeletePose`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletePoseResponse {
    /// Whether it was done.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
}

/// The request of `urdf_usd/srv/SolveIk`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolveIkRequest {
    /// Which robot; empty for the one converted last.
    pub robot: String,
    /// The link to bring there.
    pub tip: String,
    /// The link in whose frame the target is; empty: the root link.
    pub base: String,
    /// Where the tip is wanted.
    pub target: Pose,
    /// Positions to start from.
    pub seed: JointState,
}

/// The response of `urdf_usd/srv/SolveIk`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolveIkResponse {
    /// Whether the target is reached.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// The joints between base and tip.
    pub solution: JointState,
    /// Metres.
    pub position_error: f64,
    /// Radians.
    pub angle_error: f64,
    /// How many steps the solver took.
    pub iterations: u32,
}

/// The request of `urdf_usd/srv/ComputeFk`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComputeFkRequest {
    /// Which robot; empty for the one converted last.
    pub robot: String,
    /// Positions of joints.
    pub state: JointState,
    /// The link in whose frame poses are; empty: the root link.
    pub base: String,
    /// Which links; empty: all of the base's tree.
    pub links: Vec<String>,
}

/// The response of `urdf_usd/srv/ComputeFk`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComputeFkResponse {
    /// Whether it was done.
    pub success: bool,
    /// The outcome in a sentence.
    pub message: String,
    /// The links.
    pub links: Vec<String>,
    /// Where they are, in metres.
    pub poses: Vec<Pose>,
}

/// `urdf_usd/srv/Convert`.
pub struct Convert;
/// `urdf_usd/srv/CheckFrames`.
pub struct CheckFrames;
/// `urdf_usd/srv/ListPoses`.
pub struct ListPoses;
/// `urdf_usd/srv/StorePose`.
pub struct StorePose;
/// `urdf_usd/srv/DeletePose`.
pub struct DeletePose;
/// `urdf_usd/srv/SolveIk`.
pub struct SolveIk;
/// `urdf_usd/srv/ComputeFk`.
pub struct ComputeFk;

super::message!(urdf_usd: Asset, FrameVerdict, NamedPose);
super::service!(urdf_usd: Convert(ConvertRequest) -> ConvertResponse);
super::service!(urdf_usd: CheckFrames(CheckFramesRequest) -> CheckFramesResponse);
super::service!(urdf_usd: ListPoses(ListPosesRequest) -> ListPosesResponse);
super::service!(urdf_usd: StorePose(StorePoseRequest) -> StorePoseResponse);
super::service!(urdf_usd: DeletePose(DeletePoseRequest) -> DeletePoseResponse);
super::service!(urdf_usd: SolveIk(SolveIkRequest) -> SolveIkResponse);
super::service!(urdf_usd: ComputeFk(ComputeFkRequest) -> ComputeFkResponse);
