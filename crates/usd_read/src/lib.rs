//! Reads OpenUSD assets: the [`Robot`](urdf_usd_robot::Robot) of any asset, its TF frames (REP-158
//! §2.7), its ROS interfaces, the tiers of its meshes, and a summary for people.
//!
//! An asset is opened as any program would open it. TF frames and interfaces need no payloads. This
//! crate must not know what wrote an asset: of this program's own layout it uses names alone
//! ([`urdf_usd_usd_author::layout`]), and it does not depend on the writer, URDF text or ROS
//! clients.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, Translation3, UnitQuaternion};
use openusd::usd::{InitialLoadSet, Prim, Stage};
use openusd::{gf, sdf};

use urdf_usd_robot::{Arena, Handle, Pose};
use urdf_usd_stage::{DEEPEST, on_large_stack};
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
        match self.prim.attribute(attribute).get::<sdf::Value>() {
            Ok(Some(sdf::Value::String(text))) => Some(text),
            Ok(Some(sdf::Value::Token(text))) => Some(text.to_string()),
            _ => None,
        }
    }

    fn display_name(&self) -> Option<String> {
        self.prim
            .get_metadata(sdf::FieldKey::DisplayName.as_str())
            .ok()
            .flatten()
    }

    fn number(&self, attribute: &str) -> Option<f64> {
        match self.prim.attribute(attribute).get::<sdf::Value>() {
            // Parse the shortest decimal of the single-precision number: 4.2 instead of
            // 4.199999809265137.
            Ok(Some(sdf::Value::Float(number))) => number.to_string().parse().ok(),
            Ok(Some(sdf::Value::Double(number))) => Some(number),
            _ => None,
        }
    }

    fn flag(&self, attribute: &str) -> Option<bool> {
        self.prim.attribute(attribute).get::<bool>().ok().flatten()
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
        self.prim
            .relationship(name)
            .targets()
            .ok()?
            .first()
            .map(|path| path.as_str().to_owned())
    }

    fn is_false(&self, name: &str) -> bool {
        self.flag(name) == Some(false)
    }
}

/// Opens the asset `entry` and reads it on a thread with a large stack.
fn opened<T: Send>(entry: &Path, read: impl FnOnce(&Opened) -> T + Send) -> Result<T, ReadError> {
    on_large_stack(|| Opened::new(entry).map(|asset| read(&asset))).unwrap_or_else(|error| {
        Err(ReadError::Open {
            path: entry.to_owned(),
            reason: format!("no thread for it: {error}"),
        })
    })
}

/// An open robot asset.
struct Opened {
    nodes: Arena<Node>,
    by_path: HashMap<String, NodeId>,
    _stage: Stage,
}

impl Opened {
    fn new(entry: &Path) -> Result<Self, ReadError> {
        let failed = |reason: String| ReadError::Open {
            path: entry.to_owned(),
            reason,
        };
        // Opens it with all limits first: composition ends with this resolver.
        let unloaded = urdf_usd_stage::Options {
            payloads: false,
            ..ReadOptions::default()
        };
        let limited =
            urdf_usd_stage::Stage::open(entry, &unloaded).map_err(|error| failed(error.reason))?;
        // Payloads hold no links, joints or interfaces (REP-158 §1.2.3), so none is loaded.
        let stage = Stage::builder()
            .resolver(limited.resolver())
            .load(InitialLoadSet::LoadNone)
            .open(&entry.to_string_lossy())
            .map_err(|error| failed(error.to_string()))?;
        if let Some(error) = stage.composition_errors().first() {
            return Err(failed(format!("{error:?}")));
        }
        let Some(root) = stage.default_prim() else {
            return Err(ReadError::NoDefaultPrim {
                path: entry.to_owned(),
            });
        };
        let root = stage
            .prim(format!("/{root}").as_str())
            .map_err(|error| failed(error.to_string()))?;
        let mut opened = Self {
            nodes: Arena::default(),
            by_path: HashMap::new(),
            _stage: stage,
        };
        let mut stack = vec![(root, None, 1)];
        while let Some((prim, parent, depth)) = stack.pop() {
            if depth > DEEPEST {
                return Err(failed(format!(
                    "{} is nested more than {DEEPEST} deep",
                    prim.path().as_str()
                )));
            }
            let children = prim.children().map_err(|error| failed(error.to_string()))?;
            let id = opened.add(prim, parent).map_err(failed)?;
            let children = children.into_iter().rev();
            stack.extend(children.map(|child| (child, Some(id), depth + 1)));
        }
        // Composition is lazy: the walk may have found further errors.
        if let Some(error) = opened._stage.composition_errors().first() {
            return Err(failed(format!("{error:?}")));
        }
        Ok(opened)
    }

    fn add(&mut self, prim: Prim, parent: Option<NodeId>) -> Result<NodeId, String> {
        let path = prim.path().as_str().to_owned();
        let type_name = prim
            .type_name()
            .map_err(|e| e.to_string())?
            .map(|t| t.to_string())
            .unwrap_or_default();
        let schemas = prim
            .api_schemas()
            .map_err(|e| e.to_string())?
            .iter()
            .map(ToString::to_string)
            .collect();
        let above = parent.map_or(Pose::identity(), |p| self.nodes[p].pose);
        let pose = if parent.is_some() {
            above * local_pose(&prim)
        } else {
            above
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let id = self.nodes.push(Node {
            name,
            type_name,
            schemas,
            parent,
            pose,
            prim,
        });
        self.by_path.insert(path, id);
        Ok(id)
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
    let translation = match prim.attribute("xformOp:translate").get::<sdf::Value>() {
        Ok(Some(sdf::Value::Vec3d(v))) => Translation3::new(v.x, v.y, v.z),
        Ok(Some(sdf::Value::Vec3f(v))) => {
            Translation3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))
        }
        _ => Translation3::identity(),
    };
    let rotation = match prim.attribute("xformOp:orient").get::<sdf::Value>() {
        Ok(Some(sdf::Value::Quatf(q))) => unit([q.w, q.x, q.y, q.z].map(f64::from)),
        Ok(Some(sdf::Value::Quatd(gf::Quatd { w, x, y, z }))) => unit([w, x, y, z]),
        _ => UnitQuaternion::identity(),
    };
    Pose::from_parts(translation, rotation)
}

fn unit([w, x, y, z]: [f64; 4]) -> UnitQuaternion<f64> {
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-12)
        .unwrap_or_else(UnitQuaternion::identity)
}
