//! The articulation of a robot: its bodies and joints in the order in which joints reach them.

use std::collections::{HashMap, HashSet, VecDeque};

use urdf_usd_stage::PrimId;

use crate::View;

/// The bodies and joints of a robot, breadth-first from the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Articulation {
    /// Rigid bodies, and the topmost prims of robots within it, each once. The first is the base.
    pub links: Vec<PrimId>,
    /// Joints in the order in which they are met, what holds the base to the world first; and the
    /// topmost prims of robots within it. Joints that are excluded from the articulation come last.
    pub joints: Vec<PrimId>,
    /// Joints that close a loop and are not excluded from the articulation.
    pub loops: Vec<PrimId>,
}

/// What joints connect: a body, or a robot within the robot.
type Node = PrimId;

/// Finds the articulation of the robot whose topmost prim is `robot`.
///
/// The first link is the body with `PhysicsArticulationRootAPI`, or that at the joint which has it
/// (of several, the first that a joint holds to the world); or else the first that a joint holds to
/// the world, the first that no joint moves, the first of all. Bodies that no joint connects to it
/// follow in the same way. A robot within this one (`IsaacRobotAPI`) stands for all its bodies and
/// joints.
pub fn articulation(view: &View<'_>, robot: PrimId) -> Articulation {
    let search = Search::new(view, robot);
    let starts = search.starts();
    search.walk(starts)
}

/// What [`articulation`] knows of a robot before it walks.
struct Search<'v, 's> {
    view: &'v View<'s>,
    robot: PrimId,
    /// All prims of the robot.
    inside: Vec<PrimId>,
    /// The robot's joints.
    joints: Vec<PrimId>,
    /// The joints at each node, with the node at their other end; the world is `None`.
    neighbours: HashMap<Node, Vec<(PrimId, Option<Node>)>>,
    /// Bodies that joints hold to the world.
    held: Vec<Node>,
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
            held: Vec::new(),
            moved: HashSet::new(),
        };
        let inside = search.inside.iter().copied();
        search.joints = inside.filter(|&joint| search.is_own(joint)).collect();
        search.connect();
        search
    }

    /// The robot within this one that a body belongs to, or the body.
    fn node_of(&self, body: PrimId) -> Node {
        self.view.nested_robot_of(body, self.robot).unwrap_or(body)
    }

    fn ends(&self, joint: PrimId) -> [Option<Node>; 2] {
        [0, 1].map(|end| {
            let body = self.view.joint_body(joint, end);
            body.map(|body| self.node_of(body))
        })
    }

    /// Whether it is a joint that counts, of this robot or between it and one within.
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
                    // Before what hangs on it.
                    let at_body = self.neighbours.entry(body).or_default();
                    at_body.insert(0, (joint, None));
                    // An end that names what is not there is not in the world.
                    if ![0, 1].iter().any(|&end| self.view.is_lost(joint, end)) {
                        self.held.push(body);
                    }
                }
                _ => {}
            }
        }
    }

    /// The body that is marked as the root; of several, the first that is held to the world.
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
        let held = roots.iter().find(|root| self.held.contains(*root));
        held.or(roots.first()).copied()
    }

    /// Where to begin, in this order, with what was not reached before.
    fn starts(&self) -> Vec<Node> {
        let is_node =
            |&&id: &&PrimId| id != self.robot && self.view.is_robot(id) || self.view.is_body(id);
        let mut seen = HashSet::new();
        let nodes = self.inside.iter().filter(is_node);
        let nodes: Vec<Node> = nodes
            .map(|&id| self.node_of(id))
            .filter(|node| seen.insert(*node))
            .collect();
        let still = nodes.iter().filter(|node| !self.moved.contains(*node));
        let marked = self.marked_root();
        marked
            .iter()
            .chain(&self.held)
            .chain(still)
            .chain(&nodes)
            .copied()
            .collect()
    }

    /// Goes through the robot breadth first.
    fn walk(&self, starts: Vec<Node>) -> Articulation {
        let mut found = Articulation::default();
        let (mut reached, mut met) = (HashSet::new(), HashSet::new());
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
                    let is_new = met.insert(joint);
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
