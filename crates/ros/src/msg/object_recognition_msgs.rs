//! `object_recognition_msgs`.

use serde::{Deserialize, Serialize};

/// `object_recognition_msgs/msg/ObjectType`: what is known of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectType {
    /// What it is known by.
    pub key: String,
    /// Where it is known.
    pub db: String,
}
