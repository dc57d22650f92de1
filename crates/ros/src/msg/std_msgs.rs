//! `std_msgs`.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;

/// `std_msgs/msg/String`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct String {
    /// The text.
    pub data: std::string::String,
}

/// `std_msgs/msg/Header`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// When the data holds.
    pub stamp: Time,
    /// The frame it is given in.
    pub frame_id: std::string::String,
}

super::message!(std_msgs: String, Header);
