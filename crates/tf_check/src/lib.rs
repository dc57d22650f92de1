//! Compares the frames of an asset with a running robot (REP-158 §2.7).
//!
//! It finds frames that are missing, under another parent, on the wrong topic, at another pose, or
//! stale, and the common causes of several findings. [`Expected`] holds the frames of the asset,
//! [`Live`] the messages of the robot, and [`check_frames`] compares the two:
//!
//! ```
//! use std::time::Instant;
//!
//! use urdf_usd_robot::Pose;
//! use urdf_usd_tf_check::{
//!     AssetFrame, AssetFrames, Expected, FrameKind, FrameStatus, Limits, Live, PublisherId, Sources, Topic, Topics, Transform, check_frames,
//! };
//!
//! // The asset: a base, and a tool 0.1 m above it. `urdf_usd_usd_read::read_frames` reads this from a USD file.
//! let frame = |id: &str, parent: Option<&str>| AssetFrame {
//!     id: id.to_owned(),
//!     display_name: None,
//!     parent: parent.map(str::to_owned),
//!     is_static: true,
//!     pose: Pose::translation(0.0, 0.0, 0.1),
//!     kind: FrameKind::Body,
//!     from_sensor: false,
//!     is_root: parent.is_none(),
//!     is_apart: false,
//!     joint: None,
//! };
//! let frames = vec![frame("base", None), frame("tool", Some("base"))];
//! let expected = Expected::new(AssetFrames { frames, ..AssetFrames::default() }, Instant::now())?;
//!
//! // The robot: on /tf_static the tool is 0.3 m above the base.
//! let topics = Topics { moving: "/tf".into(), fixed: "/tf_static".into(), joints: "/joint_states".into() };
//! let mut live = Live::new(topics);
//! let tool = Transform {
//!     parent: "base",
//!     child: "tool",
//!     stamp: 0,
//!     translation: [0.0, 0.0, 0.3],
//!     rotation: [0.0, 0.0, 0.0, 1.0],
//! };
//! live.add_transforms(Topic::Static, [tool], PublisherId::default(), Instant::now());
//!
//! let heard = Sources { transforms: &live, joints: &live, elsewhere: &[] };
//! let check = check_frames(&expected, &[], &heard, &Limits::default(), Instant::now());
//! assert_eq!(check.findings[0].verdict, FrameStatus::Ok);
//! assert_eq!(check.findings[1].verdict, FrameStatus::Off);
//! assert!(check.findings[1].detail.starts_with("0.2000 m"));
//! # Ok::<(), urdf_usd_robot::kinematics::ModelError>(())
//! ```
//!
//! Plain data and arithmetic: it depends neither on ROS nor on USD or files, and no input makes it
//! panic.
//!
//! It is designed without false positives: frames and joints are compared at the same stamp, never
//! by time of arrival; if joint states do not give the position at a stamp, every position that
//! they allow counts; messages from before a clock was set back, before another publisher took
//! over, or before the asset was written do not count.

#![warn(missing_docs)]

mod check;
mod claims;
mod diagnosis;
mod expected;
mod frames;
mod input;
mod joints;
mod live;
mod renames;
mod stream;
mod tf;

pub use check::{Finding, FrameCheck, FrameStatus, Limits, check_frames, matches};
pub use diagnosis::{Cause, CauseKind};
pub use expected::Expected;
pub use frames::{AssetFrame, AssetFrames, AssetJoint, AssetMimic, FrameKind, RosContext};
pub use input::{JointPositions, PublisherId, TopicPublisher, Transform};
pub use live::{Live, Sources, Topics};
pub use tf::{Edge, Topic, Tree, TreeFrame, plain};

#[cfg(test)]
mod tests;
