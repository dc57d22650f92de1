//! Bounds of a degree of freedom, or of a joint in the extras.

use serde::Serialize;

/// Bounds in radians or metres, and of rate and load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Limit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
}
