//! The TF frames that an asset declares by its schemas (REP-158 §2.1, §2.7, §2.10), independent of
//! the nesting of its bodies, joints and contexts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use nalgebra::{Translation3, Vector3};
use openusd::sdf;

use super::axis::Axis;
use super::{Node, NodeId, Opened, ReadError, rotation};
use crate::{AssetFrame, AssetFrames, AssetJoint, AssetMimic, FrameKind, RosContext};
use urdf_usd_robot::{ArenaMap, JointKind, Pose};
use urdf_usd_usd_author::dialects::{self, Motion, Opinions as _};

/// Reads the TF frames that an asset declares, the joints that move them, and their ROS context.
///
/// Frames are the rigid bodies connected by joints, and the prims with RosFrameAPI. A body inside
/// another one that no joint connects to it is free, and not a frame of the robot's tree. If a
/// stage has several robots, each with its own context, the first is read.
///
/// # Errors
/// If the asset can't be opened, does not compose, or has no default prim.
pub fn read_frames(entry: &Path) -> Result<AssetFrames, ReadError> {
    let asset = Opened::new(entry)?;
    Ok(Reader::new(&asset).read())
}

/// The attachment of a body to its parent.
#[derive(Clone, Copy)]
struct Link {
    /// The joint.
    joint: NodeId,
    /// The parent body; `None` for the world.
    parent: Option<NodeId>,
    /// True if the joint names the moved body first.
    reversed: bool,
}

/// One end of a joint.
#[derive(Clone, Copy)]
struct End {
    /// The attached body; `None` for the world.
    body: Option<NodeId>,
    /// The joint's frame relative to it.
    frame: Pose,
}

/// A body connected by a joint.
struct Neighbour {
    body: NodeId,
    joint: NodeId,
    /// True if the joint names this body first.
    reversed: bool,
}

struct Reader<'a> {
    asset: &'a Opened,
    /// The outermost context, if any.
    context: Option<NodeId>,
    /// The joints among the prims, and their indices.
    joints: Vec<NodeId>,
    numbers: HashMap<NodeId, usize>,
    /// The body that each prim is rigidly attached to.
    bodies: ArenaMap<Node, Option<NodeId>>,
    /// The attachment of each body that has a parent.
    links: HashMap<NodeId, Link>,
    /// Prims that belong to other robots, or to no robot.
    others: HashSet<NodeId>,
}

impl<'a> Reader<'a> {
    fn new(asset: &'a Opened) -> Self {
        let mut bodies = ArenaMap::filled(&asset.nodes, None);
        for (id, node) in asset.nodes.iter() {
            bodies[id] = if node.frame_kind() == Some(FrameKind::Body) {
                Some(id)
            } else {
                node.parent.and_then(|parent| bodies[parent])
            };
        }
        let is_joint = |node: &Node| {
            node.type_name.starts_with("Physics") && node.type_name.ends_with("Joint")
        };
        let joints: Vec<NodeId> = asset
            .nodes
            .iter()
            .filter(|(_, node)| is_joint(node))
            .map(|(id, _)| id)
            .collect();
        let numbers = joints
            .iter()
            .enumerate()
            .map(|(number, &joint)| (joint, number))
            .collect();
        let context = asset.nodes.position(|node| node.has("RosContextAPI"));
        let mut reader = Self {
            asset,
            context,
            joints,
            numbers,
            bodies,
            links: HashMap::new(),
            others: HashSet::new(),
        };
        let trees = reader.connect();
        reader.sort_out(&trees);
        reader
    }

    fn node(&self, id: NodeId) -> &'a Node {
        &self.asset.nodes[id]
    }

    fn pose(&self, id: Option<NodeId>) -> Pose {
        id.map_or(Pose::identity(), |id| self.node(id).pose)
    }

    /// Returns both ends of a joint: the bodies of its targets, and its frames there.
    fn ends(&self, joint: NodeId) -> [End; 2] {
        let node = self.node(joint);
        ["0", "1"].map(|end| {
            let target = self.asset.node(node.target(&format!("physics:body{end}")));
            let body = target.and_then(|target| self.bodies[target]);
            let at = vector(node, &format!("physics:localPos{end}"));
            let turn = node.prim.value(&format!("physics:localRot{end}"));
            let turn = turn.map_or_else(nalgebra::UnitQuaternion::identity, rotation);
            let local = Pose::from_parts(Translation3::from(at), turn);
            let frame = self.pose(body).inverse() * self.pose(target) * local;
            End { body, frame }
        })
    }

    /// Finds the parent of every body, breadth first from the roots, and returns the bodies of each
    /// tree, its root first. Joints that close loops hold nothing.
    fn connect(&mut self) -> Vec<Vec<NodeId>> {
        let holds = |node: &Node| {
            node.flag("physics:excludeFromArticulation") != Some(true)
                && node.flag("physics:jointEnabled") != Some(false)
        };
        let mut neighbours: HashMap<NodeId, Vec<Neighbour>> = HashMap::new();
        let (mut held, mut moved) = (Vec::new(), HashSet::new());
        for &joint in self.joints.iter().filter(|&&joint| holds(self.node(joint))) {
            match self.ends(joint).map(|end| end.body) {
                [Some(body0), Some(body1)] if body0 != body1 => {
                    for (from, body, reversed) in [(body0, body1, false), (body1, body0, true)] {
                        neighbours.entry(from).or_default().push(Neighbour {
                            body,
                            joint,
                            reversed,
                        });
                    }
                    moved.insert(body1);
                }
                [None, Some(body)] => held.push((
                    body,
                    Link {
                        joint,
                        parent: None,
                        reversed: false,
                    },
                )),
                [Some(body), None] => held.push((
                    body,
                    Link {
                        joint,
                        parent: None,
                        reversed: true,
                    },
                )),
                _ => {}
            }
        }
        let is_body = |id: &NodeId| self.bodies[*id] == Some(*id);
        let bodies: Vec<NodeId> = self.asset.nodes.handles().filter(is_body).collect();
        let is_base = |&&body: &&NodeId| {
            let node = self.node(body);
            node.has("PhysicsArticulationRootAPI") || self.context == Some(body)
        };
        // Start from bodies held to the world, then from bodies marked as the base, then from
        // bodies that no joint moves; in a ring, from the first body.
        let starts = held.iter().map(|(body, _)| *body);
        let starts = starts.chain(bodies.iter().filter(is_base).copied());
        let starts = starts
            .chain(bodies.iter().filter(|body| !moved.contains(*body)).copied())
            .chain(bodies.iter().copied());
        let starts: Vec<NodeId> = starts.collect();
        for (body, link) in held {
            self.links.entry(body).or_insert(link);
        }
        let mut trees: Vec<Vec<NodeId>> = Vec::new();
        let mut seen: HashSet<NodeId> = HashSet::new();
        for start in starts {
            if !seen.insert(start) {
                continue;
            }
            // A body gets the parent found first; a later joint to a seen body closes a loop.
            let (mut tree, mut next) = (vec![start], VecDeque::from([start]));
            while let Some(body) = next.pop_front() {
                for other in neighbours.get(&body).into_iter().flatten() {
                    // A body held to the world keeps that parent.
                    if !self.links.contains_key(&other.body) && seen.insert(other.body) {
                        self.links.insert(
                            other.body,
                            Link {
                                joint: other.joint,
                                parent: Some(body),
                                reversed: other.reversed,
                            },
                        );
                        tree.push(other.body);
                        next.push_back(other.body);
                    }
                }
            }
            trees.push(tree);
        }
        trees
    }

    /// Finds the prims outside the robot: other robots, free bodies inside the robot's bodies, and,
    /// if the context is one of its bodies, everything that no joint connects to it.
    fn sort_out(&mut self, trees: &[Vec<NodeId>]) {
        let outermost = |id: NodeId| {
            let mut found = None;
            let mut at = Some(id);
            while let Some(node) = at {
                found = if self.node(node).has("RosContextAPI") {
                    Some(node)
                } else {
                    found
                };
                at = self.node(node).parent;
            }
            found
        };
        let is_foreign =
            |id: &NodeId| outermost(*id).is_some_and(|context| Some(context) != self.context);
        let foreign: HashSet<NodeId> = self.asset.nodes.handles().filter(is_foreign).collect();
        let mut others = HashSet::new();
        for tree in trees {
            let Some(&root) = tree.first() else { continue };
            let lies_in_a_body = self
                .asset
                .frame_above(root)
                .is_some_and(|above| self.node(above).frame_kind() == Some(FrameKind::Body));
            let is_free = !self.links.contains_key(&root) && lies_in_a_body;
            let is_inside = |body: &NodeId| {
                self.context
                    .is_none_or(|context| self.is_within(*body, context))
            };
            let is_foreign = tree.iter().all(|body| foreign.contains(body));
            if is_free || is_foreign || !tree.iter().any(is_inside) {
                others.extend(tree.iter().copied());
            }
        }
        others.extend(
            foreign
                .into_iter()
                .filter(|&id| self.node(id).frame_kind() == Some(FrameKind::Frame)),
        );
        self.others = others;
    }

    fn is_within(&self, id: NodeId, ancestor: NodeId) -> bool {
        let mut at = Some(id);
        while let Some(node) = at {
            if node == ancestor {
                return true;
            }
            at = self.node(node).parent;
        }
        false
    }

    fn read(&self) -> AssetFrames {
        let context = self.ros_context();
        let mut joints: Vec<AssetJoint> =
            self.joints.iter().map(|&joint| self.joint(joint)).collect();
        let mut frames = Vec::new();
        let keeps_words = self
            .asset
            .nodes
            .values()
            .any(|node| node.has("UrdfJointAPI") || node.string("urdf:joint:name").is_some());
        for (id, node) in self.asset.nodes.iter() {
            let Some(kind) = node.frame_kind().filter(|_| !self.others.contains(&id)) else {
                continue;
            };
            let link = self.links.get(&id).filter(|_| kind == FrameKind::Body);
            let above = self.asset.frame_above(id);
            // The parent is the enclosing frame, if that is rigidly attached to the parent body;
            // bodies may be nested anywhere.
            let (parent, is_apart) = match link {
                Some(link) => {
                    let within = above.filter(|&above| self.bodies[above] == link.parent);
                    (
                        within.or(link.parent),
                        within.is_none() && link.parent.is_some(),
                    )
                }
                None => (above, false),
            };
            let mut frame = AssetFrame {
                id: node.frame_id(),
                display_name: node.display_name(),
                parent: parent.map(|parent| self.node(parent).frame_id()),
                is_static: true,
                pose: self.pose(parent).inverse() * node.pose,
                kind,
                // The robot's own links have the attributes of their URDF joints, in assets that
                // keep these.
                from_sensor: kind == FrameKind::Frame
                    && node.string("urdf:joint:name").is_none()
                    && (node
                        .parent
                        .is_some_and(|parent| self.node(parent).type_name == "Camera")
                        || keeps_words && above.is_some() && node.has("RosTopicAPI")),
                is_root: false,
                is_apart,
                joint: None,
            };
            if parent.is_none() {
                frame.parent.clone_from(&context.parent_frame);
                frame.is_root = frame.parent.is_none() || kind == FrameKind::Body && link.is_none();
            }
            match (kind, link) {
                (FrameKind::Frame, _) => {
                    frame.is_static = node.flag("ros:frame:static") != Some(false)
                }
                (FrameKind::Body, Some(link)) => {
                    let number = self.numbers.get(&link.joint).copied();
                    if let Some(joint) = number.and_then(|number| joints.get_mut(number)) {
                        self.place(joint, link, parent);
                        frame.is_static = joint.kind == JointKind::Fixed;
                        frame.joint = number.filter(|_| !frame.is_static);
                    }
                }
                (FrameKind::Body, None) => {}
            }
            frames.push(frame);
        }
        AssetFrames {
            context,
            frames,
            joints,
        }
    }

    /// Returns the description of a joint, without its location.
    fn joint(&self, joint: NodeId) -> AssetJoint {
        let node = self.node(joint);
        let (kind, axis) = kind_and_axis(node);
        AssetJoint {
            name: ros_name(node),
            kind,
            origin: Pose::identity(),
            tail: Pose::identity(),
            axis: axis.direction(),
            mimic: self.mimic(node, kind),
        }
    }

    /// Places a joint between its parent frame and the frame it moves.
    fn place(&self, joint: &mut AssetJoint, link: &Link, parent: Option<NodeId>) {
        let [local0, local1] = self.ends(link.joint).map(|end| end.frame);
        let (near, far) = if link.reversed {
            (local1, local0)
        } else {
            (local0, local1)
        };
        joint.origin = self.pose(parent).inverse() * self.pose(link.parent) * near;
        joint.tail = far.inverse();
        if link.reversed {
            joint.axis = -joint.axis;
        }
    }

    /// Reads the mimic relation of a joint, in the first dialect that has it.
    fn mimic(&self, node: &Node, kind: JointKind) -> Option<AssetMimic> {
        let relations = dialects::relations(node);
        let relation = relations.first().filter(|found| !found.is_polynomial)?;
        let leader = self.asset.node(relation.leader.clone())?;
        let motion = |kind| {
            if kind == JointKind::Revolute {
                Motion::Angular
            } else {
                Motion::Linear
            }
        };
        let of_leader = motion(kind_and_axis(self.node(leader)).0);
        let (multiplier, offset) = relation.in_si(motion(kind), of_leader);
        Some(AssetMimic {
            joint: *self.numbers.get(&leader)?,
            multiplier,
            offset,
        })
    }

    fn ros_context(&self) -> RosContext {
        let Some(context) = self.context else {
            return RosContext {
                namespace: "/".to_owned(),
                joint_states: self.joint_states(),
                ..RosContext::default()
            };
        };
        let node = self.node(context);
        let parent_frame = node.string("ros:context:parent_frame");
        RosContext {
            namespace: self.namespace(context),
            parent_frame: parent_frame.filter(|frame| !frame.is_empty()),
            domain_id: match node.prim.value("ros:context:domain_id") {
                Some(sdf::Value::Int(id)) => Some(*id),
                _ => None,
            },
            root: node.frame_kind().is_none().then(|| node.frame_id()),
            joint_states: self.joint_states(),
        }
    }

    /// Returns the effective namespace at a prim (§2.1.1): from the outermost context down to it,
    /// restarted at an absolute one.
    fn namespace(&self, id: NodeId) -> String {
        let mut segments: Vec<String> = Vec::new();
        let mut at = Some(id);
        while let Some(node) = at.map(|at| self.node(at)) {
            let segment = node
                .string("ros:context:namespace")
                .filter(|_| node.has("RosContextAPI"))
                .unwrap_or_default();
            let name = segment.trim_matches('/');
            if !name.is_empty() {
                segments.push(name.to_owned());
            }
            at = if segment.starts_with('/') {
                None
            } else {
                node.parent
            };
        }
        segments.reverse();
        format!("/{}", segments.join("/"))
    }

    /// Returns the topic of the robot's joint states.
    fn joint_states(&self) -> Option<String> {
        let is_it = |node: &Node| {
            let says =
                |attribute: &str, value: &str| node.string(attribute).as_deref() == Some(value);
            node.has("RosTopicAPI")
                && says("ros:topic:role", "publisher")
                && says("ros:topic:type", "sensor_msgs/msg/JointState")
        };
        let topic = self.asset.nodes.position(is_it)?;
        let name = self
            .node(topic)
            .string("ros:topic:name")
            .filter(|name| !name.is_empty())?;
        let namespace = self.namespace(topic);
        Some(if name.starts_with('/') {
            name
        } else {
            format!("{}/{name}", namespace.trim_end_matches('/'))
        })
    }
}

/// Returns the ROS name of a joint (§2.10).
fn ros_name(node: &Node) -> String {
    node.string("ros:joint:name")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| node.name.clone())
}

fn vector(node: &Node, attribute: &str) -> Vector3<f64> {
    let value = node.prim.value(attribute);
    value.map_or_else(Vector3::zeros, super::vector)
}

/// Returns the kind of a joint and its axis.
fn kind_and_axis(node: &Node) -> (JointKind, Axis) {
    let axis = Axis::named(node.string("physics:axis").as_deref()).unwrap_or(Axis::X);
    match node.type_name.as_str() {
        "PhysicsFixedJoint" => (JointKind::Fixed, axis),
        "PhysicsRevoluteJoint" => (JointKind::Revolute, axis),
        "PhysicsPrismaticJoint" => (JointKind::Prismatic, axis),
        "PhysicsJoint" => six_axes(node),
        _ => (JointKind::Floating, axis),
    }
}

/// Classifies a six-axis joint. Axes with a low limit above the high one are locked.
fn six_axes(node: &Node) -> (JointKind, Axis) {
    let is_free = |kind: &str, letter: &str| {
        let limit = |side: &str| {
            let name = format!("limit:{kind}{letter}:physics:{side}");
            match node.prim.value(&name) {
                Some(sdf::Value::Float(limit)) => f64::from(*limit),
                Some(sdf::Value::Double(limit)) => *limit,
                _ => {
                    if side == "low" {
                        f64::NEG_INFINITY
                    } else {
                        f64::INFINITY
                    }
                }
            }
        };
        !node.has(&format!("PhysicsLimitAPI:{kind}{letter}")) || limit("low") <= limit("high")
    };
    let free = |kind: &str| -> Vec<Axis> {
        [("X", Axis::X), ("Y", Axis::Y), ("Z", Axis::Z)]
            .into_iter()
            .filter(|(letter, _)| is_free(kind, letter))
            .map(|(_, axis)| axis)
            .collect()
    };
    match (&free("trans")[..], &free("rot")[..]) {
        ([], []) => (JointKind::Fixed, Axis::X),
        ([], [turn]) => (JointKind::Revolute, *turn),
        ([slide], []) => (JointKind::Prismatic, *slide),
        ([a, b], turns) => {
            let normal = Axis::across(*a, *b);
            let is_flat = turns.is_empty() || turns == [normal];
            let kind = if is_flat {
                JointKind::Planar
            } else {
                JointKind::Floating
            };
            (kind, normal)
        }
        _ => (JointKind::Floating, Axis::X),
    }
}

#[cfg(test)]
mod tests;
