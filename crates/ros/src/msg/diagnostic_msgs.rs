//! `diagnostic_msgs`.

use serde::{Deserialize, Serialize};

use super::std_msgs::Header;

/// `diagnostic_msgs/msg/KeyValue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValue {
    /// What is told.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// `diagnostic_msgs/msg/DiagnosticStatus`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticStatus {
    /// One of the constants.
    pub level: u8,
    /// The component: `urdf_usd: frames`.
    pub name: String,
    /// Its state in a sentence.
    pub message: String,
    /// The hardware it belongs to.
    pub hardware_id: String,
    /// The details.
    pub values: Vec<KeyValue>,
}

impl DiagnosticStatus {
    /// All is well.
    pub const OK: u8 = 0;
    /// Worth a look.
    pub const WARN: u8 = 1;
    /// Something is broken.
    pub const ERROR: u8 = 2;
    /// Nothing was heard of it for long.
    pub const STALE: u8 = 3;
}

/// `diagnostic_msgs/msg/DiagnosticArray`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticArray {
    /// When.
    pub header: Header,
    /// The components' states.
    pub status: Vec<DiagnosticStatus>,
}

super::message!(diagnostic_msgs: KeyValue, DiagnosticStatus, DiagnosticArray);
