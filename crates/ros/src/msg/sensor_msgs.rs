//! `sensor_msgs`.

use serde::{Deserialize, Serialize};

use super::std_msgs::Header;

/// `sensor_msgs/msg/JointState`. Arrays other than `name` may be empty; a reader must check their lengths.
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

super::message!(sensor_msgs: JointState);
