//! `tf2_msgs`.

use serde::{Deserialize, Serialize};

use super::geometry_msgs::TransformStamped;

/// `tf2_msgs/msg/TFMessage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TFMessage {
    /// The frames placed.
    pub transforms: Vec<TransformStamped>,
}

super::message!(tf2_msgs: TFMessage);
