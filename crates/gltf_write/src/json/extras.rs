//! Properties of a robot that neither glTF nor the extension can express, kept in `extras`. They
//! are in glTF axes, like everything else.

use serde::Serialize;

use super::limit::Limit;
use super::planning::Planning;
use super::values::as_object;

/// Extras of a node. Link frames and shapes always have some, because a leaf node without any
/// content would be an empty node.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum NodeExtras {
    /// Extras of a link frame.
    Link {
        /// Name of the link, for engines that rename nodes.
        link: String,
    },
    /// Extras of a visual or collision node.
    Shape(ShapeExtras),
    /// Extras of the node at which a joint of `KHR_physics_rigid_bodies` attaches to its child
    /// body.
    Anchor {
        /// Name of the joint.
        anchor: String,
    },
}

/// Extras of a visual or collision node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShapeExtras {
    /// Name of the shape, which need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape_name: Option<String>,
    /// The geometry that the triangles represent.
    pub geometry: Form,
    /// Reference to the mesh that could not be loaded, if this node is a placeholder for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in_for: Option<String>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

/// A geometry, centred on its node. Lengths are in metres; cylinders and capsules are along glTF's
/// y.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Form {
    Box { size: [f64; 3] },
    Cylinder { radius: f64, length: f64 },
    Sphere { radius: f64 },
    Capsule { radius: f64, length: f64 },
    Mesh,
}

/// Extras of a link.
#[derive(Debug, Default, Serialize)]
pub struct LinkExtras {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inertial: Option<Inertial>,
    /// `chain` or `ball` for a link between the degrees of freedom of one joint of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<&'static str>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

impl LinkExtras {
    /// Returns whether all of them are absent.
    pub fn is_empty(&self) -> bool {
        self.inertial.is_none() && self.connector.is_none() && self.custom.is_empty()
    }
}

/// Mass properties.
#[derive(Debug, Serialize)]
pub struct Inertial {
    /// Mass in kg.
    pub mass: f64,
    /// Inertial frame, relative to the link frame.
    pub origin: Placement,
    /// Inertia in kg·m² about the centre of mass, along the axes of the inertial frame: xx, xy, xz,
    /// yy, yz, zz.
    pub inertia: [f64; 6],
    /// Whether the values are assumed rather than measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

/// A rigid transform.
#[derive(Debug, Serialize)]
pub struct Placement {
    pub translation: [f64; 3],
    /// Quaternion: x, y, z, w.
    pub rotation: [f64; 4],
}

/// Extras of a joint.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JointExtras {
    /// Limits of a fixed or floating joint, which has no degree of freedom that could carry them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Reference position of URDF (`calibration/@reference_position`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_position: Option<f64>,
    /// Drive with its gains and targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

/// Gains and targets of a drive, which is commanded by `position`, `velocity` or `effort`. Values
/// are in SI units, with radians.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drive {
    pub command: &'static str,
    pub stiffness: f64,
    pub damping: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_position: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_position: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_velocity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_force: Option<f64>,
    /// True if the drive sets an acceleration instead of a force.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acceleration: bool,
}

impl JointExtras {
    /// Returns whether all of them are absent.
    pub fn is_empty(&self) -> bool {
        self.limit.is_none()
            && self.reference_position.is_none()
            && self.drive.is_none()
            && self.custom.is_empty()
    }
}

/// Extras of a configuration that covers a subset of the joints.
#[derive(Debug, Default, Serialize)]
pub struct ConfigurationExtras {
    /// Name of the joint group in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The joints that the pose sets, if it does not set all movable ones. The other joints have
    /// their home positions, which a reader may ignore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joints: Option<Vec<usize>>,
}

impl ConfigurationExtras {
    /// Returns whether all of them are absent.
    pub fn is_empty(&self) -> bool {
        self.group.is_none() && self.joints.is_none()
    }
}

/// Extras of a model.
#[derive(Debug, Default, Serialize)]
pub struct ModelExtras {
    /// Joints that close kinematic loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Loop>,
    /// Parameters for motion planners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<Planning>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

impl ModelExtras {
    /// Returns whether all of them are absent.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty() && self.planning.is_none() && self.custom.is_empty()
    }
}

/// A joint that closes a kinematic loop. It has no nodes, because glTF nodes form a tree.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loop {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub parent_link: usize,
    pub child_link: usize,
    /// Joint frame, relative to the frame of the parent link.
    pub origin: Placement,
    /// Axis in the joint frame.
    pub axis: [f64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// Unrecognised attributes and elements of the source, verbatim.
#[derive(Debug, Default, Serialize)]
pub struct Custom {
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    pub attributes: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<Element>,
}

impl Custom {
    /// Returns whether both lists are empty.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.elements.is_empty()
    }
}

/// An element of the source.
#[derive(Debug, Serialize)]
pub struct Element {
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    pub attributes: Vec<(String, String)>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Element>,
}
