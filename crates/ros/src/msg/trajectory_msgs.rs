//! `trajectory_msgs`.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Duration;
use super::std_msgs::Header;

/// `trajectory_msgs/msg/JointTrajectory`: a motion of joints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTrajectory {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The joints' names.
    pub joint_names: Vec<String>,
    /// Its points.
    pub points: Vec<JointTrajectoryPoint>,
}

/// `trajectory_msgs/msg/JointTrajectoryPoint`: a moment of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTrajectoryPoint {
    /// Positions in rad or m.
    pub positions: Vec<f64>,
    /// Velocities in rad/s or m/s.
    pub velocities: Vec<f64>,
    /// Accelerations in rad/s² or m/s².
    pub accelerations: Vec<f64>,
    /// Efforts in N m or N.
    pub effort: Vec<f64>,
    /// When, after the first.
    pub time_from_start: Duration,
}
