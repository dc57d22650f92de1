//! Parameters for motion planners, in the extras of a model. They are in glTF axes; links and
//! joints are indices into the model's lists.

use serde::Serialize;

/// All planning parameters of a model.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planning {
    /// Coordinates of the configuration space, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Coordinate>,
    /// Links in order of decreasing importance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_frames: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sphere_groups: Vec<SphereGroup>,
    /// Collision spheres that are kept away from obstacles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision: Option<Collision>,
    /// Collision spheres that are kept away from other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_collision: Option<Collision>,
    /// Pairs of links whose spheres are not checked against each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_pairs: Vec<[usize; 2]>,
}

/// A coordinate of the configuration space.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coordinate {
    pub joint: usize,
    /// Maximum acceleration in rad/s² or m/s².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceleration_limit: Option<f64>,
    /// Maximum jerk in rad/s³ or m/s³.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jerk_limit: Option<f64>,
}

/// A named set of collision spheres.
#[derive(Debug, Serialize)]
pub struct SphereGroup {
    pub name: String,
    /// Spheres, grouped by link.
    pub spheres: Vec<Sphere>,
}

/// A sphere in a link's frame.
#[derive(Debug, Serialize)]
pub struct Sphere {
    pub link: usize,
    pub center: [f64; 3],
    /// Radius in metres; may be negative.
    pub radius: f64,
}

/// Collision spheres with their clearances.
#[derive(Debug, Serialize)]
pub struct Collision {
    /// Index of the set of spheres.
    pub group: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
}

/// Clearance that is added to the radii of all spheres of a link.
#[derive(Debug, Serialize)]
pub struct Buffer {
    pub link: usize,
    /// Distance in metres; may be negative.
    pub distance: f64,
}
