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
    let inside: Vec<PrimId> = view.subtree(robot).collect();
    let node_of = |body: PrimId| view.nested_robot_of(body, robot).unwrap_or(body);
    let ends = |joint: PrimId| [0, 1].map(|end| view.joint_body(joint, end).map(node_of));
    let is_own = |&joint: &PrimId| {
        let connects = || matches!(ends(joint), [Some(a), Some(b)] if a != b);
        view.is_joint(joint)
            && view.is_enabled(joint)
            && (view.nested_robot_of(joint, robot).is_none() || connects())
    };
    let joints: Vec<PrimId> = inside.iter().copied().filter(is_own).collect();

    let mut neighbours: HashMap<Node, Vec<(PrimId, Option<Node>)>> = HashMap::new();
    let (mut held, mut moved) = (Vec::new(), HashSet::new());
    for &joint in joints.iter().filter(|&&joint| view.is_articulated(joint)) {
        match ends(joint) {
            [Some(a), Some(b)] if a != b => {
                neighbours.entry(a).or_default().push((joint, Some(b)));
                neighbours.entry(b).or_default().push((joint, Some(a)));
                moved.insert(b);
            }
            [Some(body), None] | [None, Some(body)] => {
                // Before what hangs on it.
                neighbours.entry(body).or_default().insert(0, (joint, None));
                // An end that names what is not there is not in the world.
                if ![0, 1].iter().any(|&end| view.is_lost(joint, end)) {
                    held.push(body);
                }
            }
            _ => {}
        }
    }

    let has_root = |id: &PrimId| {
        view.stage[*id].has("PhysicsArticulationRootAPI")
            && view.nested_robot_of(*id, robot).is_none()
    };
    let body_at = |id: PrimId| match view.is_joint(id) {
        true => view
            .joint_body(id, 0)
            .or_else(|| view.joint_body(id, 1))
            .map(node_of),
        false => Some(id).filter(|&id| view.is_body(id)),
    };
    let roots: Vec<Node> = inside
        .iter()
        .copied()
        .filter(has_root)
        .filter_map(body_at)
        .collect();
    let root = roots
        .iter()
        .find(|root| held.contains(*root))
        .or(roots.first())
        .copied();
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen = HashSet::new();
    for &id in inside
        .iter()
        .filter(|&&id| id != robot && view.is_robot(id) || view.is_body(id))
    {
        let node = node_of(id);
        if seen.insert(node) {
            nodes.push(node);
        }
    }
    let still = nodes.iter().filter(|node| !moved.contains(*node));
    let starts: Vec<Node> = root
        .iter()
        .chain(&held)
        .chain(still)
        .chain(&nodes)
        .copied()
        .collect();

    let mut found = Articulation::default();
    let (mut reached, mut met) = (HashSet::new(), HashSet::new());
    for start in starts {
        if !reached.insert(start) {
            continue;
        }
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            found.links.push(node);
            if view.is_robot(node) && node != robot {
                found.joints.push(node);
            }
            for &(joint, other) in neighbours.get(&node).map_or(&[][..], Vec::as_slice) {
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
    let excluded = joints
        .iter()
        .filter(|&&joint| !view.is_articulated(joint) && ends(joint) != [None, None]);
    found.joints.extend(excluded);
    found
}
