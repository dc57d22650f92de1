//! JSON of `KHR_lights_punctual`.

use serde::Serialize;

use super::values::Index;

/// The lights of a document.
#[derive(Debug, Default, Serialize)]
pub struct Lights {
    pub lights: Vec<Light>,
}

impl Lights {
    /// Returns whether there are no lights.
    pub fn is_empty(&self) -> bool {
        self.lights.is_empty()
    }
}

/// A light. It is white if its colour is absent, and its intensity defaults to 1.
#[derive(Debug, Serialize)]
pub struct Light {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Type of the light: `directional`, `point` or `spot`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<[f32; 3]>,
    /// Intensity in lux (directional) or candela (point, spot).
    pub intensity: f64,
    /// Range in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extras: Option<LightExtras>,
}

/// The cone of a spot.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spot {
    /// Inner angle from the axis, in radians; less than the outer angle.
    pub inner_cone_angle: f64,
    /// Outer angle from the axis, in radians; at most π/2.
    pub outer_cone_angle: f64,
}

/// Size of the light source, for `extras`: the extension has punctual lights only.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum LightExtras {
    /// Angular size of a directional light.
    Angle {
        /// Angle in radians.
        angle: f64,
    },
    /// Radius of a point or spot light.
    Radius {
        /// Radius in metres.
        radius: f64,
    },
}

/// Reference from a node to its light.
#[derive(Debug, Serialize)]
pub struct LightReference {
    pub light: Index,
}
