//! `rosgraph_msgs`.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;

/// `rosgraph_msgs/msg/Clock`: simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The time.
    pub clock: Time,
}

super::message!(rosgraph_msgs: Clock);
