//! `geometry_msgs`.

use serde::{Deserialize, Serialize};

use super::std_msgs::Header;

/// `geometry_msgs/msg/Vector3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector3 {
    /// Along x.
    pub x: f64,
    /// Along y.
    pub y: f64,
    /// Along z.
    pub z: f64,
}

/// `geometry_msgs/msg/Point`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Along x.
    pub x: f64,
    /// Along y.
    pub y: f64,
    /// Along z.
    pub z: f64,
}

/// `geometry_msgs/msg/Quaternion`; the default is the identity, as in ROS.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quaternion {
    /// The imaginary part i.
    pub x: f64,
    /// The imaginary part j.
    pub y: f64,
    /// The imaginary part k.
    pub z: f64,
    /// The real part.
    pub w: f64,
}

impl Default for Quaternion {
    fn default() -> Self {
        Self {
            x: 0.0,
            y: 0.0,
            z: 0.0,
            w: 1.0,
        }
    }
}

/// `geometry_msgs/msg/Pose`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// In metres.
    pub position: Point,
    /// The rotation.
    pub orientation: Quaternion,
}

/// `geometry_msgs/msg/Transform`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    /// In metres.
    pub translation: Vector3,
    /// The rotation.
    pub rotation: Quaternion,
}

/// `geometry_msgs/msg/TransformStamped`: the pose of `child_frame_id` in `header.frame_id`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransformStamped {
    /// When it holds, and the parent frame.
    pub header: Header,
    /// The frame placed.
    pub child_frame_id: String,
    /// Its pose in the parent.
    pub transform: Transform,
}

/// `geometry_msgs/msg/Point32`: a point in single precision, metres.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point32 {
    /// Along x.
    pub x: f32,
    /// Along y.
    pub y: f32,
    /// Along z.
    pub z: f32,
}

/// `geometry_msgs/msg/Polygon`: a polygon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Polygon {
    /// Its points.
    pub points: Vec<Point32>,
}

/// `geometry_msgs/msg/PoseStamped`: a pose in a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoseStamped {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The pose.
    pub pose: Pose,
}

/// `geometry_msgs/msg/Twist`: velocities in m/s and rad/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Twist {
    /// Of the frame's origin.
    pub linear: Vector3,
    /// About it.
    pub angular: Vector3,
}

/// `geometry_msgs/msg/Wrench`: forces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wrench {
    /// In newtons.
    pub force: Vector3,
    /// In newton metres.
    pub torque: Vector3,
}

super::message!(geometry_msgs: Point, Pose, Vector3, Quaternion, Transform, TransformStamped);
