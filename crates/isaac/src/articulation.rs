//! The articulation of a robot: its bodies and joints in breadth-first order from the base.

use std::collections::{HashMap, HashSet, VecDeque};

use urdf_usd_stage::PrimId;

use crate::View;

/// The bodies and joints of a robot, breadth-first from the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Articulation {
    /// Rigid bodies, and the topmost prims of nested robots. The first is the base.
    pub links: Vec<PrimId>,
    /// Joints in the order of the traversal, beginning with those that attach the base to the world, and
    /// the topmost prims of nested robots. Joints that are excluded from the articulation come last.
    pub joints: Vec<PrimId>,
    /// Joints that close a loop and are not excluded from the articulation.
    pub loops: Vec<PrimId>,
}

/// A node of the graph that joints connect: a body, or a nested robot.
type Node = PrimId;

/// Finds the articulation of the robot whose topmost prim is `robot`.
///
/// The base is the body with `PhysicsArticulationRootAPI`, or the body of the joint with it. If there
/// are several, a body that a joint attaches to the world takes precedence. Without any, the base is
/// the first body that a joint attaches to the world, the first that no joint moves, or the first of
/// all. Bodies that are not connected to the base follow in the same order. A nested robot
/// (`IsaacRobotAPI`) is a single node for all its bodies and joints.
pub fn articulation(view: &View<'_>, robot: PrimId) -> Articulation {
    let search = Search::new(view, robot);
    let starts = search.starts();
    search.walk(starts)
}

/// The graph of joints and nodes that [`articulation`] traverses.
struct Search<'v, 's> {
    view: &'v View<'s>,
    robot: PrimId,
    /// All prims of the robot.
    inside: Vec<PrimId>,
    /// The robot's joints.
    joints: Vec<PrimId>,
    /// The joints at each node, with the node at their other end; the world is `None`.
    neighbours: HashMap<Node, Vec<(PrimId, Option<Node>)>>,
    /// Bodies that joints attach to the world.
    anchored: Vec<Node>,
    /// Bodies that joints move.
    moved: HashSet<Node>,
}

impl<'v, 's> Search<'v, 's> {
    fn new(view: &'v View<'s>, robot: PrimId) -> Self {
        let mut search = Self {
            view,
            robot,
            inside: view.subtree(robot).collect(),
            joints: Vec::new(),
            neighbours: HashMap::new(),
            anchored: Vec::new(),
            moved: HashSet::new(),
        };
        let inside = search.inside.iter().copied();
        search.joints = inside.filter(|&joint| search.is_own(joint)).collect();
        search.connect();
        search
    }

    /// Returns the node of a body: the nested robot that contains it, or the body itself.
    fn node_of(&self, body: PrimId) -> Node {
        self.view.nested_robot_of(body, self.robot).unwrap_or(body)
    }

    fn ends(&self, joint: PrimId) -> [Option<Node>; 2] {
        [0, 1].map(|end| {
            let body = self.view.joint_body(joint, end);
            body.map(|body| self.node_of(body))
        })
    }

    /// Whether this is an enabled joint of the robot, or between it and a nested robot.
    fn is_own(&self, joint: PrimId) -> bool {
        let view = self.view;
        let connects = || matches!(self.ends(joint), [Some(a), Some(b)] if a != b);
        view.is_joint(joint)
            && view.is_enabled(joint)
            && (view.nested_robot_of(joint, self.robot).is_none() || connects())
    }

    fn connect(&mut self) {
        for joint in self.joints.clone() {
            if !self.view.is_articulated(joint) {
                continue;
            }
            let ends = self.ends(joint);
            let mut at = |node, entry| self.neighbours.entry(node).or_default().push(entry);
            match ends {
                [Some(a), Some(b)] if a != b => {
                    at(a, (joint, Some(b)));
                    at(b, (joint, Some(a)));
                    self.moved.insert(b);
                }
                [Some(body), None] | [None, Some(body)] => {
                    // Visit the anchor before the joints to children.
                    let at_body = self.neighbours.entry(body).or_default();
                    at_body.insert(0, (joint, None));
                    // A dangling target does not attach the body to the world.
                    if ![0, 1]
                        .iter()
                        .any(|&end| self.view.has_dangling_end(joint, end))
                    {
                        self.anchored.push(body);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the body with `PhysicsArticulationRootAPI`. Of several, one that is attached to the world
    /// takes precedence.
    fn marked_root(&self) -> Option<Node> {
        let view = self.view;
        let has_root = |id: &PrimId| {
            view.stage[*id].has("PhysicsArticulationRootAPI")
                && view.nested_robot_of(*id, self.robot).is_none()
        };
        let body_at = |id: PrimId| match view.is_joint(id) {
            true => view
                .joint_body(id, 0)
                .or_else(|| view.joint_body(id, 1))
                .map(|body| self.node_of(body)),
            false => Some(id).filter(|&id| view.is_body(id)),
        };
        let marked = self.inside.iter().copied().filter(has_root);
        let roots: Vec<Node> = marked.filter_map(body_at).collect();
        let anchored = roots.iter().find(|root| self.anchored.contains(*root));
        anchored.or(roots.first()).copied()
    }

    /// Returns the nodes to start from, by precedence. Nodes that were reached already are skipped.
    fn starts(&self) -> Vec<Node> {
        let is_node =
            |&&id: &&PrimId| id != self.robot && self.view.is_robot(id) || self.view.is_body(id);
        let mut seen = HashSet::new();
        let nodes = self.inside.iter().filter(is_node);
        let nodes: Vec<Node> = nodes
            .map(|&id| self.node_of(id))
            .filter(|node| seen.insert(*node))
            .collect();
        let unmoved = nodes.iter().filter(|node| !self.moved.contains(*node));
        let marked = self.marked_root();
        marked
            .iter()
            .chain(&self.anchored)
            .chain(unmoved)
            .chain(&nodes)
            .copied()
            .collect()
    }

    /// Traverses the robot breadth-first.
    fn walk(&self, starts: Vec<Node>) -> Articulation {
        let mut found = Articulation::default();
        let (mut reached, mut visited) = (HashSet::new(), HashSet::new());
        for start in starts {
            if !reached.insert(start) {
                continue;
            }
            let mut queue = VecDeque::from([start]);
            while let Some(node) = queue.pop_front() {
                found.links.push(node);
                if self.view.is_robot(node) && node != self.robot {
                    found.joints.push(node);
                }
                for &(joint, other) in self.neighbours.get(&node).map_or(&[][..], Vec::as_slice) {
                    let is_new = visited.insert(joint);
                    if is_new {
                        found.joints.push(joint);
                    }
                    match other {
                        Some(other) if reached.insert(other) => queue.push_back(other),
                        Some(_) if is_new => found.loops.push(joint),
                        _ => {}
                    }
                }
            }
        }
        let excluded = self
            .joints
            .iter()
            .filter(|&&joint| !self.view.is_articulated(joint) && self.ends(joint) != [None, None]);
        found.joints.extend(excluded);
        found
    }
}
