//! `shape_msgs`.

use serde::{Deserialize, Serialize};

use super::geometry_msgs::{Point, Polygon};

/// `shape_msgs/msg/Mesh`: a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    /// Its triangles.
    pub triangles: Vec<MeshTriangle>,
    /// Its corners, in metres.
    pub vertices: Vec<Point>,
}

/// `shape_msgs/msg/MeshTriangle`: a triangle of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeshTriangle {
    /// The corners, as indices.
    pub vertex_indices: [u32; 3],
}

/// `shape_msgs/msg/Plane`: a plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// a, b, c and d of a x + b y + c z + d = 0.
    pub coef: [f64; 4],
}

/// `shape_msgs/msg/SolidPrimitive`: a simple shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolidPrimitive {
    /// What kind it is.
    pub type_: u8,
    /// How large it is, in metres, as its kind has it.
    pub dimensions: Vec<f64>,
    /// The base of a prism.
    pub polygon: Polygon,
}
