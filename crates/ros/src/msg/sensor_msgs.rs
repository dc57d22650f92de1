//! `sensor_msgs`.

use serde::{Deserialize, Serialize};

use super::geometry_msgs::{Transform, Twist, Wrench};
use super::std_msgs::Header;

/// `sensor_msgs/msg/JointState`. Arrays other than `name` may be empty; a reader must check their
/// lengths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointState {
    /// When it was measured.
    pub header: Header,
    /// The joints' names.
    pub name: Vec<String>,
    /// Positions in rad or m.
    pub position: Vec<f64>,
    /// Velocities in rad/s or m/s.
    pub velocity: Vec<f64>,
    /// Efforts in N m or N.
    pub effort: Vec<f64>,
}

/// `sensor_msgs/msg/MultiDOFJointState`: where joints with several positions are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiDOFJointState {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The joints' names.
    pub joint_names: Vec<String>,
    /// Where each is.
    pub transforms: Vec<Transform>,
    /// How each moves.
    pub twist: Vec<Twist>,
    /// What acts on each.
    pub wrench: Vec<Wrench>,
}

super::message!(sensor_msgs: JointState);
