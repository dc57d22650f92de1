//! JSON of EXT_robot_kinematics (section 3 of its specification), as this project writes it.
//!
//! This module only declares the structure of the document and makes no decisions.

use serde::Serialize;

use super::extras::{ConfigurationExtras, JointExtras, LinkExtras, ModelExtras};
use super::limit::Limit;
use super::values::{Index, as_object};
use urdf_usd_gltf_extension::source::Source;
use urdf_usd_gltf_extension::{JointType, Motion};

/// The extension's object at the document's root.
#[derive(Debug, Default, Serialize)]
pub struct Kinematics {
    pub models: Vec<Model>,
}

impl Kinematics {
    /// Returns whether there are no models.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }
}

/// A robot.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub name: String,
    pub root_node: Index,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
    /// Configurations by name; names are unique.
    #[serde(serialize_with = "as_object")]
    pub configurations: Vec<(String, Configuration)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(skip_serializing_if = "ModelExtras::is_empty")]
    pub extras: ModelExtras,
}

/// A link and the node that is its frame.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    pub name: String,
    pub node: Index,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub visual_nodes: Vec<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collision_nodes: Vec<Index>,
    #[serde(skip_serializing_if = "LinkExtras::is_empty")]
    pub extras: LinkExtras,
}

/// A joint and the chain of nodes that moves its child.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Joint {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: JointType,
    pub parent_link: usize,
    pub child_link: usize,
    pub origin_node: Index,
    pub dof_nodes: Vec<Index>,
    pub dofs: Vec<Dof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mimic: Option<Mimic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<Dynamics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety: Option<Safety>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    #[serde(skip_serializing_if = "JointExtras::is_empty")]
    pub extras: JointExtras,
}

/// One scalar degree of freedom.
#[derive(Debug, Serialize)]
pub struct Dof {
    pub motion: Motion,
    /// Unit vector in the frame of the dof node's parent.
    pub axis: [f64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    pub default: f64,
}

/// Mimic relation to a driving joint, which is never a follower itself.
#[derive(Debug, Serialize)]
pub struct Mimic {
    pub joint: usize,
    pub multiplier: f64,
    pub offset: f64,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Dynamics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Safety {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_lower_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_upper_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_position: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_velocity: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Calibration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rising: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub falling: Option<f64>,
}

/// A named pose.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// Positions of the model's joints, one entry per joint, in order.
    pub joint_positions: Vec<Positions>,
    #[serde(skip_serializing_if = "ConfigurationExtras::is_empty")]
    pub extras: ConfigurationExtras,
}

/// Positions of a joint: a number for one degree of freedom, a list for any other count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Positions {
    /// Position of the only degree of freedom.
    One(f64),
    /// Positions of all degrees of freedom, in order.
    Each(Vec<f64>),
}
