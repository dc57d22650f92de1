//! What a robot says that neither glTF nor the extension has a word for, kept in `extras`: in glTF
//! axes, like all else.

use serde::Serialize;

use super::limit::Limit;
use super::planning::Planning;
use super::values::as_object;

/// Extras of a node. Link frames and shapes always have some: a leaf without any would be an empty
/// node, which means nothing.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum NodeExtras {
    /// Of a link's frame.
    Link {
        /// The link's name, for engines that change the names of nodes.
        link: String,
    },
    /// Of a visual or collision node.
    Shape(ShapeExtras),
    /// Of the node at which a joint of `KHR_physics_rigid_bodies` holds its lower body.
    Anchor {
        /// The joint's name.
        anchor: String,
    },
}

/// Extras of a visual or collision node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShapeExtras {
    /// The shape's own name, which need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape_name: Option<String>,
    /// What the triangles are.
    pub geometry: Form,
    /// The reference to the mesh that could not be read and that this stands in for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in_for: Option<String>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

/// A form, centred on its node; lengths in metres, cylinders and capsules along glTF's y.
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
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

impl LinkExtras {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.inertial.is_none() && self.custom.is_empty()
    }
}

/// Mass properties.
#[derive(Debug, Serialize)]
pub struct Inertial {
    /// kg.
    pub mass: f64,
    /// The inertial frame in the link frame.
    pub origin: Placement,
    /// kg·m² about the centre of mass along the axes of the inertial frame: xx, xy, xz, yy, yz, zz.
    pub inertia: [f64; 6],
    /// Whether nobody measured it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

/// A rigid transform.
#[derive(Debug, Serialize)]
pub struct Placement {
    pub translation: [f64; 3],
    /// x, y, z, w.
    pub rotation: [f64; 4],
}

/// Extras of a joint.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JointExtras {
    /// Limits given for a fixed or floating joint, whose degrees of freedom they can't be those of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// URDF's `calibration/@reference_position`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_position: Option<f64>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

impl JointExtras {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.limit.is_none() && self.reference_position.is_none() && self.custom.is_empty()
    }
}

/// Extras of a configuration that is about some of the joints.
#[derive(Debug, Default, Serialize)]
pub struct ConfigurationExtras {
    /// The group of joints that it is about, by its name in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The joints that it sets, if not all that can be set: the others are at home, and may as well
    /// stay where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joints: Option<Vec<usize>>,
}

impl ConfigurationExtras {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.group.is_none() && self.joints.is_none()
    }
}

/// Extras of a model.
#[derive(Debug, Default, Serialize)]
pub struct ModelExtras {
    /// Joints that close loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Loop>,
    /// What motion planners need to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<Planning>,
    #[serde(skip_serializing_if = "Custom::is_empty")]
    pub custom: Custom,
}

impl ModelExtras {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty() && self.planning.is_none() && self.custom.is_empty()
    }
}

/// A joint that closes a loop: no node stands for it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loop {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub parent_link: usize,
    pub child_link: usize,
    /// The joint frame in the parent link's frame.
    pub origin: Placement,
    /// In the joint frame.
    pub axis: [f64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// Attributes and elements of the source, as they were.
#[derive(Debug, Default, Serialize)]
pub struct Custom {
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    pub attributes: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<Element>,
}

impl Custom {
    /// Whether there is nothing in it.
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
