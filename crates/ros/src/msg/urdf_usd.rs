//! This package's own interfaces; `msg/` and `srv/` at the root of the repository document every field.

use serde::{Deserialize, Serialize};

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

/// The request of `urdf_usd/srv/Convert`. With `urdf` and `uri` empty the last description heard is converted.
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

/// `urdf_usd/srv/Convert`.
pub struct Convert;
/// `urdf_usd/srv/CheckFrames`.
pub struct CheckFrames;

super::message!(urdf_usd: Asset, FrameVerdict);
super::service!(urdf_usd: Convert(ConvertRequest) -> ConvertResponse);
super::service!(urdf_usd: CheckFrames(CheckFramesRequest) -> CheckFramesResponse);
