//! What motion planners need to know of a robot, in the extras of its model: in glTF axes; links
//! and joints by their places in the model's lists.

use serde::Serialize;

/// The whole.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planning {
    /// The coordinates of the configuration space, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Coordinate>,
    /// Links, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_frames: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sphere_groups: Vec<SphereGroup>,
    /// What is held off obstacles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision: Option<Collision>,
    /// What is held off other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_collision: Option<Collision>,
    /// Pairs of links whose spheres are not held off each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_pairs: Vec<[usize; 2]>,
}

/// A coordinate of the configuration space.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coordinate {
    pub joint: usize,
    /// rad/s² or m/s².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceleration_limit: Option<f64>,
    /// rad/s³ or m/s³.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jerk_limit: Option<f64>,
}

/// A named set of spheres.
#[derive(Debug, Serialize)]
pub struct SphereGroup {
    pub name: String,
    /// Those of a link stand together.
    pub spheres: Vec<Sphere>,
}

/// A sphere in a link's frame.
#[derive(Debug, Serialize)]
pub struct Sphere {
    pub link: usize,
    pub center: [f64; 3],
    /// Metres; may be negative.
    pub radius: f64,
}

/// What is held off something.
#[derive(Debug, Serialize)]
pub struct Collision {
    /// The place of the group in the list.
    pub group: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
}

/// What is added to the radius of all spheres of a link.
#[derive(Debug, Serialize)]
pub struct Buffer {
    pub link: usize,
    /// Metres; may be negative.
    pub distance: f64,
}
