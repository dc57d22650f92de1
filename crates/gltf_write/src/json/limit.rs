//! Limits of a degree of freedom, or of a joint in its extras.

use serde::Serialize;

/// Limits of position (radians or metres), velocity and effort.
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
