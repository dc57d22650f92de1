//! The JSON of `KHR_lights_punctual`.

use serde::Serialize;

use super::values::Index;

/// The lights of a document.
#[derive(Debug, Default, Serialize)]
pub struct Lights {
    pub lights: Vec<Light>,
}

impl Lights {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.lights.is_empty()
    }
}

/// A light; white and of intensity 1 where a component is absent.
#[derive(Debug, Serialize)]
pub struct Light {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `directional`, `point` or `spot`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<[f32; 3]>,
    /// Lux or candela.
    pub intensity: f64,
    /// Metres.
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
    /// Radians from the axis; less than the outer angle.
    pub inner_cone_angle: f64,
    /// Radians from the axis, at most π/2.
    pub outer_cone_angle: f64,
}

/// How large the source is, of which the extension knows nothing.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum LightExtras {
    /// Of a light of a direction.
    Angle {
        /// Radians.
        angle: f64,
    },
    /// Of all others.
    Radius {
        /// Metres.
        radius: f64,
    },
}

/// The light at a node.
#[derive(Debug, Serialize)]
pub struct LightReference {
    pub light: Index,
}
