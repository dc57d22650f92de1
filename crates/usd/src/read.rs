//! What the rest of the program reads back from a written asset: its TF frames (REP-158 §2.7), and a summary for people.
//!
//! Nothing here comes from memory: the asset is opened as any program would open it, without its payloads.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, Translation3, UnitQuaternion};
use openusd::usd::{InitialLoadSet, Prim, Stage};
use openusd::{gf, sdf};
use serde::{Serialize, Serializer};

use super::FrameKind;
use urdf_usd_diagnostic::Escaped;
use urdf_usd_robot::Pose;
use urdf_usd_stage::{DEEPEST, Shallow, on_large_stack};

mod frames;
mod robot;

pub use frames::read_frames;
pub use robot::read;

/// Why an asset could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The entry or a layer that it needs is missing or broken.
    #[error("{} cannot be opened as OpenUSD: {reason}", path.display())]
    Open {
        /// The entry.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It opens, but has no rigid body.
    #[error("{} holds no robot: {looked_for}", path.display())]
    NoRobot {
        /// The entry.
        path: PathBuf,
        /// What was looked for, and what is there instead.
        looked_for: String,
    },
    /// It opens, but is no robot.
    #[error("{} has no default prim, so it is not a robot asset", path.display())]
    NoDefaultPrim {
        /// The entry.
        path: PathBuf,
    },
}

/// Links deeper than this are shown to people as if they stood this deep.
const DEEPEST_SHOWN: usize = 100;

/// A prim of the robot, as far as this module looks.
struct Node {
    name: String,
    path: String,
    type_name: String,
    schemas: Vec<String>,
    parent: Option<usize>,
    /// The pose in the default prim.
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
        self.prim.get_metadata(sdf::FieldKey::DisplayName.as_str()).ok().flatten()
    }

    fn number(&self, attribute: &str) -> Option<f64> {
        match self.prim.attribute(attribute).get::<sdf::Value>() {
            // The shortest decimal of the single-precision number: 4.2 and not 4.199999809265137.
            Ok(Some(sdf::Value::Float(number))) => number.to_string().parse().ok(),
            Ok(Some(sdf::Value::Double(number))) => Some(number),
            _ => None,
        }
    }

    fn flag(&self, attribute: &str) -> Option<bool> {
        self.prim.attribute(attribute).get::<bool>().ok().flatten()
    }

    fn target(&self, relationship: &str) -> Option<String> {
        self.prim.relationship(relationship).targets().ok()?.first().map(|path| path.as_str().to_owned())
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

    /// The name of the TF frame.
    fn frame_id(&self) -> String {
        self.string("ros:frame:id").filter(|id| !id.is_empty() && self.has("RosFrameAPI")).unwrap_or_else(|| self.name.clone())
    }
}

/// Opens the asset `entry` and has it read where there is stack enough for whatever opens.
fn opened<T: Send>(entry: &Path, read: impl FnOnce(&Opened) -> T + Send) -> Result<T, ReadError> {
    on_large_stack(|| Opened::new(entry).map(|asset| read(&asset)))
        .unwrap_or_else(|error| Err(ReadError::Open { path: entry.to_owned(), reason: format!("no thread for it: {error}") }))
}

/// A robot asset, opened.
struct Opened {
    nodes: Vec<Node>,
    by_path: HashMap<String, usize>,
    _stage: Stage,
}

impl Opened {
    fn new(entry: &Path) -> Result<Self, ReadError> {
        let failed = |reason: String| ReadError::Open { path: entry.to_owned(), reason };
        let stage = Stage::builder()
            .resolver(Shallow::default())
            .load(InitialLoadSet::LoadNone)
            .open(&entry.to_string_lossy())
            .map_err(|error| failed(error.to_string()))?;
        if let Some(error) = stage.composition_errors().first() {
            return Err(failed(format!("{error:?}")));
        }
        let Some(root) = stage.default_prim() else { return Err(ReadError::NoDefaultPrim { path: entry.to_owned() }) };
        let root = stage.prim(format!("/{root}").as_str()).map_err(|error| failed(error.to_string()))?;
        let mut opened = Self { nodes: Vec::new(), by_path: HashMap::new(), _stage: stage };
        let mut stack = vec![(root, None, 1)];
        while let Some((prim, parent, depth)) = stack.pop() {
            if depth > DEEPEST {
                return Err(failed(format!("{} is nested more than {DEEPEST} deep", prim.path().as_str())));
            }
            let index = opened.nodes.len();
            let children = prim.children().map_err(|error| failed(error.to_string()))?;
            stack.extend(children.into_iter().rev().map(|child| (child, Some(index), depth + 1)));
            opened.add(prim, parent).map_err(failed)?;
        }
        if let Some(error) = opened._stage.composition_errors().first() {
            return Err(failed(format!("{error:?}")));
        }
        Ok(opened)
    }

    fn add(&mut self, prim: Prim, parent: Option<usize>) -> Result<(), String> {
        let path = prim.path().as_str().to_owned();
        let type_name = prim.type_name().map_err(|e| e.to_string())?.map(|t| t.to_string()).unwrap_or_default();
        let schemas = prim.api_schemas().map_err(|e| e.to_string())?.iter().map(ToString::to_string).collect();
        let above = parent.map_or(Pose::identity(), |p| self.nodes[p].pose);
        let pose = if parent.is_some() { above * local_pose(&prim) } else { above };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        self.by_path.insert(path.clone(), self.nodes.len());
        self.nodes.push(Node { name, path, type_name, schemas, parent, pose, prim });
        Ok(())
    }

    fn node(&self, path: Option<String>) -> Option<usize> {
        self.by_path.get(&path?).copied()
    }

    /// The nearest prim above that is a TF frame.
    fn frame_above(&self, index: usize) -> Option<usize> {
        let mut above = self.nodes[index].parent;
        while let Some(at) = above {
            if self.nodes[at].frame_kind().is_some() {
                return Some(at);
            }
            above = self.nodes[at].parent;
        }
        None
    }

    fn joints(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.type_name.starts_with("Physics") && node.type_name.ends_with("Joint"))
    }
}

/// The prim's own transform as the profile has it: `xformOp:translate` and `xformOp:orient`.
fn local_pose(prim: &Prim) -> Pose {
    let translation = match prim.attribute("xformOp:translate").get::<sdf::Value>() {
        Ok(Some(sdf::Value::Vec3d(v))) => Translation3::new(v.x, v.y, v.z),
        Ok(Some(sdf::Value::Vec3f(v))) => Translation3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z)),
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
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-12).unwrap_or_else(UnitQuaternion::identity)
}

/// What an asset holds, for people and scripts.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The default prim.
    pub name: String,
    /// The namespace of its ROS interfaces.
    pub namespace: String,
    /// Bodies and frames, depth first.
    pub links: Vec<LinkSummary>,
    /// Joints, in the order of the bodies that they move.
    pub joints: Vec<JointSummary>,
    /// Topics, services and actions.
    pub interfaces: Vec<InterfaceSummary>,
}

/// A body or a frame.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// The TF frame's name.
    pub frame: String,
    /// The prim.
    pub path: String,
    /// How many bodies and frames stand above it.
    pub depth: usize,
    /// Body or frame.
    #[serde(serialize_with = "frame_kind")]
    pub kind: FrameKind,
    /// kg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// How many visuals it has.
    pub visuals: usize,
    /// How many colliders it has.
    pub colliders: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn frame_kind<S: Serializer>(kind: &FrameKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// A joint.
#[derive(Clone, Debug, Serialize)]
pub struct JointSummary {
    /// The ROS name.
    pub name: String,
    /// The prim.
    pub path: String,
    /// URDF's word where the asset keeps it, else the prim's type.
    pub kind: String,
    /// The body it hangs on; `None`: the world.
    pub parent: Option<String>,
    /// The body it moves.
    pub child: Option<String>,
    /// Degrees or metres; infinities are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Degrees or metres; infinities are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// What the limits are in: `deg` or `m`; `None` without limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// The joint that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mimics: Option<String>,
}

/// A topic, service or action.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceSummary {
    /// `topic`, `service` or `action`.
    pub kind: &'static str,
    /// Publisher, subscription, server, client.
    pub role: String,
    /// As authored: relative to the namespace.
    pub name: String,
    /// The ROS type.
    pub type_name: String,
    /// The frame of its messages, by where it stands (REP-158 §2.7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// Whether it is there from the start (§2.3).
    pub starts_enabled: bool,
    /// Hz, of topics that it publishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// What the asset says about how messages are delivered, by policy: reliability, durability, history, depth.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub qos: BTreeMap<&'static str, String>,
}

/// Reads what an asset holds.
///
/// # Errors
/// As [`read_frames`].
pub fn inspect(entry: &Path) -> Result<Summary, ReadError> {
    opened(entry, summary)
}

fn summary(asset: &Opened) -> Summary {
    let (mut links, mut joints, mut interfaces) = (Vec::new(), Vec::new(), Vec::new());
    // By the prim that holds them: looking through all prims for each link would take the square of them.
    let mut shapes: HashMap<usize, usize> = HashMap::new();
    for parent in asset.nodes.iter().filter(|node| node.type_name != "Scope").filter_map(|node| node.parent) {
        *shapes.entry(parent).or_default() += 1;
    }
    let mut depth: HashMap<usize, usize> = HashMap::new();
    let ros_name = |node: &Node| node.string("ros:joint:name").unwrap_or_else(|| node.name.clone());
    for (index, node) in asset.nodes.iter().enumerate() {
        if let Some(kind) = node.frame_kind() {
            let at = asset.frame_above(index).and_then(|above| depth.get(&above)).map_or(0, |above| above + 1);
            depth.insert(index, at);
            let count = |scope: &str| {
                let scope = asset.by_path.get(&format!("{}/{scope}", node.path));
                scope.and_then(|scope| shapes.get(scope)).copied().unwrap_or(0)
            };
            links.push(LinkSummary {
                frame: node.frame_id(),
                path: node.path.clone(),
                depth: at,
                kind,
                mass: node.number("physics:mass"),
                visuals: count("visual"),
                colliders: count("collision"),
            });
        }
        for (schema, kind) in [("RosTopicAPI", "topic"), ("RosServiceAPI", "service"), ("RosActionAPI", "action")] {
            if node.has(schema) {
                let text = |field: &str| node.string(&format!("ros:{kind}:{field}")).unwrap_or_default();
                let frame = if node.frame_kind().is_some() { Some(index) } else { asset.frame_above(index) };
                interfaces.push(InterfaceSummary {
                    kind,
                    role: text("role"),
                    name: text("name"),
                    type_name: text("type"),
                    frame: frame.map(|frame| asset.nodes[frame].frame_id()),
                    starts_enabled: node.flag(&format!("ros:{kind}:starts_enabled")).unwrap_or(true),
                    rate: node.number("ros:topic:publish_rate"),
                    qos: qos(node),
                });
            }
        }
    }
    // From the root outwards, as the links.
    let mut ordered: Vec<&Node> = asset.joints().collect();
    ordered.sort_by_key(|node| asset.node(node.target("physics:body1")));
    for node in ordered {
        let frame = |relationship: &str| asset.node(node.target(relationship)).map(|body| asset.nodes[body].frame_id());
        let finite = |attribute: &str| node.number(attribute).filter(|limit| limit.is_finite());
        let (lower, upper) = (finite("physics:lowerLimit"), finite("physics:upperLimit"));
        let unit = if node.type_name == "PhysicsPrismaticJoint" { "m" } else { "deg" };
        joints.push(JointSummary {
            name: ros_name(node),
            path: node.path.clone(),
            kind: node.string("urdf:type").unwrap_or_else(|| node.type_name.clone()),
            parent: frame("physics:body0"),
            child: frame("physics:body1"),
            lower,
            upper,
            unit: lower.or(upper).map(|_| unit),
            mimics: asset.node(node.target("ext_physics:mimic:joint")).map(|leader| ros_name(&asset.nodes[leader])),
        });
    }
    let root = asset.nodes.first();
    Summary {
        name: root.map(|root| root.name.clone()).unwrap_or_default(),
        namespace: root.and_then(|root| root.string("ros:context:namespace")).unwrap_or_default(),
        links,
        joints,
        interfaces,
    }
}

/// The policies of a topic that the asset says.
fn qos(node: &Node) -> BTreeMap<&'static str, String> {
    let named = ["reliability", "durability", "history"]
        .into_iter()
        .filter_map(|policy| Some((policy, node.string(&format!("ros:topic:qos:{policy}"))?)));
    let depth = node.prim.attribute("ros:topic:qos:depth").get::<i32>().ok().flatten();
    named.chain(depth.map(|depth| ("depth", depth.to_string()))).collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (namespace {:?})", Escaped(&self.name), self.namespace)?;
        writeln!(f, "\nlinks ({})", self.links.len())?;
        for link in &self.links {
            let indent = "  ".repeat(link.depth.min(DEEPEST_SHOWN) + 1);
            write!(f, "{indent}{}", Escaped(&link.frame))?;
            match link.kind {
                FrameKind::Frame => write!(f, "  frame")?,
                FrameKind::Body => write!(f, "  {} kg", link.mass.unwrap_or(0.0))?,
            }
            if link.visuals > 0 {
                write!(f, ", visuals {}", link.visuals)?;
            }
            if link.colliders > 0 {
                write!(f, ", colliders {}", link.colliders)?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\njoints ({})", self.joints.len())?;
        for joint in &self.joints {
            let [name, kind] = [&joint.name, &joint.kind].map(|text| Escaped(text));
            let parent = Escaped(joint.parent.as_deref().unwrap_or("(world)"));
            write!(f, "  {name}  {kind}  {parent} -> {}", Escaped(joint.child.as_deref().unwrap_or("?")))?;
            if let Some(unit) = joint.unit {
                let side = |limit: Option<f64>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
                write!(f, "  {} .. {} {unit}", side(joint.lower), side(joint.upper))?;
            }
            if let Some(leader) = &joint.mimics {
                write!(f, "  mimics {}", Escaped(leader))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\ninterfaces ({})", self.interfaces.len())?;
        for interface in &self.interfaces {
            let [role, name, type_name] = [&interface.role, &interface.name, &interface.type_name].map(|text| Escaped(text));
            write!(f, "  {} {role}  {name}  {type_name}", interface.kind)?;
            if let Some(frame) = &interface.frame {
                write!(f, "  in {}", Escaped(frame))?;
            }
            if !interface.starts_enabled {
                write!(f, "  disabled at start")?;
            }
            if let Some(rate) = interface.rate {
                write!(f, "  {rate} Hz")?;
            }
            for (policy, value) in &interface.qos {
                write!(f, "  {policy} {}", Escaped(value))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
