//! Reads OpenUSD assets: the [`Robot`](urdf_usd_robot::Robot) of any asset, its TF frames (REP-158
//! §2.7), its ROS interfaces, the tiers of its meshes, and a summary for people.
//!
//! An asset is opened as any program would open it. TF frames and interfaces need no payloads. This
//! crate must not know what wrote an asset: of this program's own layout it uses names alone
//! ([`urdf_usd_usd_author::layout`]), and it does not depend on the writer, URDF text or ROS
//! clients.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use openusd::sdf;

use urdf_usd_robot::{Arena, Handle, Pose};
use urdf_usd_stage::{Prim, Stage, text};
use urdf_usd_usd_author::dialects::Opinions;

mod axis;
pub mod codes;
mod frames;
mod robot;
mod summary;
mod tiers;

pub use frames::read_frames;
pub use robot::{
    AssetInfo, BodyMass, DENSITY, OfStage, Outcome, body_masses, is_pose_alias, read, read_stage,
};
pub use summary::{
    InterfaceSummary, JointSummary, LinkSummary, Summary, VariantSummary, inspect, read_interfaces,
};
pub use tiers::{TierSet, finest, read_tiers};
pub use urdf_usd_stage::{Options as ReadOptions, VariantChoice};
pub use urdf_usd_tf_check::{
    AssetFrame, AssetFrames, AssetJoint, AssetMimic, FrameKind, RosContext,
};

/// The reason why an asset could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The entry or a required layer is missing or broken.
    #[error("{} cannot be opened as OpenUSD: {reason}", path.display())]
    Open {
        /// The entry.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The asset has no rigid body.
    #[error("{} holds no robot: {looked_for}", path.display())]
    NoRobot {
        /// The entry.
        path: PathBuf,
        /// The schemas that were looked for, and the contents of the asset.
        looked_for: String,
    },
    /// The asset has no default prim.
    #[error("{} has no default prim, so it is not a robot asset", path.display())]
    NoDefaultPrim {
        /// The entry.
        path: PathBuf,
    },
}

/// A prim of an asset.
type NodeId = Handle<Node>;

/// A prim of the robot, with the data that this module needs.
struct Node {
    name: String,
    type_name: String,
    schemas: Vec<String>,
    parent: Option<NodeId>,
    /// Pose relative to the default prim.
    pose: Pose,
    prim: Prim,
}

impl Node {
    fn has(&self, schema: &str) -> bool {
        self.schemas.iter().any(|applied| applied == schema)
    }

    fn string(&self, attribute: &str) -> Option<String> {
        match self.prim.value(attribute)? {
            sdf::Value::String(text) => Some(text.clone()),
            sdf::Value::Token(text) => Some(text.to_string()),
            _ => None,
        }
    }

    fn display_name(&self) -> Option<String> {
        let name = self.prim.metadata.get("displayName");
        name.and_then(text).map(str::to_owned)
    }

    fn number(&self, attribute: &str) -> Option<f64> {
        match self.prim.value(attribute)? {
            // Parse the shortest decimal of the single-precision number: 4.2 instead of
            // 4.199999809265137.
            sdf::Value::Float(number) => number.to_string().parse().ok(),
            sdf::Value::Double(number) => Some(*number),
            _ => None,
        }
    }

    fn flag(&self, attribute: &str) -> Option<bool> {
        self.prim.flag(attribute)
    }

    fn frame_kind(&self) -> Option<FrameKind> {
        if self.has("PhysicsRigidBodyAPI") {
            Some(FrameKind::Body)
        } else if self.has("RosFrameAPI") {
            Some(FrameKind::Frame)
        } else {
            None
        }
    }

    /// Returns the name of the TF frame.
    fn frame_id(&self) -> String {
        self.string("ros:frame:id")
            .filter(|id| !id.is_empty() && self.has("RosFrameAPI"))
            .unwrap_or_else(|| self.name.clone())
    }
}

impl Opinions for Node {
    fn schemas(&self) -> &[String] {
        &self.schemas
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.number(name)
    }

    fn target(&self, name: &str) -> Option<String> {
        self.prim.targets(name).first().cloned()
    }

    fn is_false(&self, name: &str) -> bool {
        self.flag(name) == Some(false)
    }
}

/// An open robot asset.
struct Opened {
    nodes: Arena<Node>,
    by_path: HashMap<String, NodeId>,
}

impl Opened {
    fn new(entry: &Path) -> Result<Self, ReadError> {
        let failed = |reason: String| ReadError::Open {
            path: entry.to_owned(),
            reason,
        };
        // Payloads hold no links, joints or interfaces (REP-158 §1.2.3), so none is loaded.
        let options = ReadOptions {
            payloads: false,
            ..ReadOptions::default()
        };
        let stage = Stage::open(entry, &options).map_err(|error| failed(error.reason))?;
        if let Some(error) = stage.errors.first() {
            let place = error.path.as_deref().or(error.layer.as_deref());
            let place = place.unwrap_or("a layer");
            return Err(failed(format!("{place}: {}", error.message)));
        }
        let Some(root) = stage.default_prim else {
            return Err(ReadError::NoDefaultPrim {
                path: entry.to_owned(),
            });
        };
        let mut opened = Self {
            nodes: Arena::default(),
            by_path: HashMap::new(),
        };
        for id in stage.subtree(root) {
            let prim = &stage[id];
            let above = prim
                .parent
                .filter(|_| id != root)
                .map(|above| &stage[above].path);
            let parent = opened.node(above.cloned());
            opened.add(prim.clone(), parent);
        }
        Ok(opened)
    }

    fn add(&mut self, prim: Prim, parent: Option<NodeId>) {
        let above = parent.map_or(Pose::identity(), |p| self.nodes[p].pose);
        let pose = if parent.is_some() {
            above * local_pose(&prim)
        } else {
            above
        };
        let path = prim.path.clone();
        let id = self.nodes.push(Node {
            name: prim.name().to_owned(),
            type_name: prim.type_name.clone(),
            schemas: prim.schemas.clone(),
            parent,
            pose,
            prim,
        });
        self.by_path.insert(path, id);
    }

    fn node(&self, path: Option<String>) -> Option<NodeId> {
        self.by_path.get(&path?).copied()
    }

    /// Returns the nearest ancestor that is a TF frame.
    fn frame_above(&self, id: NodeId) -> Option<NodeId> {
        let mut above = self.nodes[id].parent;
        while let Some(at) = above {
            if self.nodes[at].frame_kind().is_some() {
                return Some(at);
            }
            above = self.nodes[at].parent;
        }
        None
    }
}

/// Returns the prim's own transform as in the profile: `xformOp:translate` and `xformOp:orient`.
fn local_pose(prim: &Prim) -> Pose {
    let translation = prim
        .value("xformOp:translate")
        .map_or_else(Vector3::zeros, vector);
    let rotation = prim
        .value("xformOp:orient")
        .map_or_else(UnitQuaternion::identity, rotation);
    let translation = Translation3::from(translation);
    Pose::from_parts(translation, rotation)
}

/// Returns the components of a vector of three numbers; zero for another value.
fn vector(value: &sdf::Value) -> Vector3<f64> {
    match value {
        sdf::Value::Vec3f(v) => Vector3::new(v.x, v.y, v.z).map(f64::from),
        sdf::Value::Vec3d(v) => Vector3::new(v.x, v.y, v.z),
        _ => Vector3::zeros(),
    }
}

/// Returns the rotation of a quaternion; none for another value.
fn rotation(value: &sdf::Value) -> UnitQuaternion<f64> {
    match value {
        sdf::Value::Quatf(q) => unit([q.w, q.x, q.y, q.z].map(f64::from)),
        sdf::Value::Quatd(q) => unit([q.w, q.x, q.y, q.z]),
        _ => UnitQuaternion::identity(),
    }
}

fn unit([w, x, y, z]: [f64; 4]) -> UnitQuaternion<f64> {
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-12)
        .unwrap_or_else(UnitQuaternion::identity)
}
