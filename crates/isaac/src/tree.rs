//! All links and joints of a robot and its nested robots, and the tree of links.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use nalgebra::{Isometry3, Matrix4, Quaternion, Translation3, UnitQuaternion};
use urdf_usd_robot::{Arena, ArenaMap, Handle};
use urdf_usd_stage::{PrimId, Stage, numbers};
use urdf_usd_usd_author::isaac_schema as names;

use crate::{View, articulation};

/// Maximum depth of indentation of printed links.
const MAX_INDENT_DEPTH: usize = 100;

/// Returns the links of a robot: those in its list, with the links of nested robots in their place,
/// then those that joints reach. `sites` includes the sites in lists.
pub fn all_links(view: &View<'_>, robot: PrimId, sites: bool) -> Vec<PrimId> {
    let is_link = |id: PrimId| {
        let is_marked = view.stage[id].has(names::LINK_API);
        is_marked || view.is_body(id) || sites && view.is_site(id)
    };
    collect(view, robot, names::ROBOT_LINKS, true, is_link, |found| {
        found.links
    })
}

/// Returns the joints of a robot, in the order of [`all_links`]. `nested` includes those of nested
/// robots.
pub fn all_joints(view: &View<'_>, robot: PrimId, nested: bool) -> Vec<PrimId> {
    collect(
        view,
        robot,
        names::ROBOT_JOINTS,
        nested,
        |id| view.is_joint(id),
        |found| found.joints,
    )
}

/// Returns the members in the lists of a robot and its nested robots, then those that `members` finds.
fn collect(
    view: &View<'_>,
    robot: PrimId,
    relationship: &str,
    nested: bool,
    is_member: impl Fn(PrimId) -> bool,
    members: impl Fn(articulation::Articulation) -> Vec<PrimId>,
) -> Vec<PrimId> {
    let listed = |robot: PrimId| -> VecDeque<PrimId> {
        view.stage[robot]
            .targets(relationship)
            .iter()
            .filter_map(|path| view.at(path))
            .collect()
    };
    let reached = |robot: PrimId| -> VecDeque<PrimId> { members(articulation(view, robot)).into() };
    let (mut found, mut taken) = (Vec::new(), HashSet::new());
    // Traverse each robot once: their lists may form a cycle.
    let (mut robots, mut known) = (vec![robot], HashSet::from([robot]));
    let mut walk = |list: VecDeque<PrimId>, robots: &mut Vec<PrimId>| {
        let mut stack = vec![list];
        while let Some(list) = stack.last_mut() {
            let Some(id) = list.pop_front() else {
                stack.pop();
                continue;
            };
            if nested && view.is_robot(id) && known.insert(id) {
                robots.push(id);
                let members = listed(id);
                stack.push(if members.is_empty() {
                    reached(id)
                } else {
                    members
                });
            } else if is_member(id) && taken.insert(id) {
                found.push(id);
            }
        }
    };
    walk(listed(robot), &mut robots);
    let mut next = 0;
    while let Some(&robot) = robots.get(next) {
        walk(reached(robot), &mut robots);
        next += 1;
    }
    found
}

/// A link in a [`LinkTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNode {
    /// The link.
    pub prim: PrimId,
    /// The parent link.
    pub parent: Option<Handle<LinkNode>>,
    /// The child links, in the order of the joints.
    pub children: Vec<Handle<LinkNode>>,
    /// The joint to the parent link.
    pub joint: Option<PrimId>,
}

/// The tree of links of a robot and its nested robots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTree {
    /// Links, parents before their children. The first is the base; others without a parent are not
    /// connected to it.
    pub nodes: Arena<LinkNode>,
}

impl LinkTree {
    /// Builds the tree of the robot with the topmost prim `robot`, breadth-first from the first link of
    /// its list.
    ///
    /// Joints that are excluded from the articulation do not count, nor does the last joint of a loop in
    /// the order of the traversal.
    pub fn new(view: &View<'_>, robot: PrimId) -> Self {
        let links = all_links(view, robot, false);
        let mut by_body: HashMap<PrimId, Vec<(PrimId, PrimId)>> = HashMap::new();
        for joint in all_joints(view, robot, true)
            .into_iter()
            .filter(|&joint| view.is_articulated(joint))
        {
            if let [Some(a), Some(b)] = [0, 1].map(|end| view.joint_body(joint, end)) {
                by_body.entry(a).or_default().push((joint, b));
                by_body.entry(b).or_default().push((joint, a));
            }
        }
        let mut tree = Self::default();
        let mut seen: HashSet<PrimId> = HashSet::new();
        for start in links {
            if !seen.insert(start) {
                continue;
            }
            let base = tree.nodes.push(LinkNode {
                prim: start,
                parent: None,
                children: Vec::new(),
                joint: None,
            });
            let mut queue = VecDeque::from([base]);
            while let Some(at) = queue.pop_front() {
                let joints = by_body.get(&tree.nodes[at].prim);
                for &(joint, other) in joints.into_iter().flatten() {
                    if seen.insert(other) {
                        let child = tree.nodes.push(LinkNode {
                            prim: other,
                            parent: Some(at),
                            children: Vec::new(),
                            joint: Some(joint),
                        });
                        tree.nodes[at].children.push(child);
                        queue.push_back(child);
                    }
                }
            }
        }
        tree
    }

    /// Returns the links on either side of a joint: towards the base, and away from it. Both are empty
    /// if the joint has no child link.
    pub fn links_from_joint(&self, joint: PrimId) -> (Vec<PrimId>, Vec<PrimId>) {
        let Some(first) = self.nodes.position(|node| node.joint == Some(joint)) else {
            return Default::default();
        };
        let mut is_after = ArenaMap::filled(&self.nodes, false);
        is_after[first] = true;
        let mut root = first;
        while let Some(parent) = self.nodes[root].parent {
            root = parent;
        }
        // Links of other trees are on neither side.
        let mut is_of_tree = ArenaMap::filled(&self.nodes, false);
        is_of_tree[root] = true;
        for (id, node) in self.nodes.iter() {
            if let Some(parent) = node.parent {
                is_after[id] |= is_after[parent];
                is_of_tree[id] |= is_of_tree[parent];
            }
        }
        let side = |after: bool| {
            let links = self
                .nodes
                .iter()
                .filter(|(id, _)| is_of_tree[*id] && is_after[*id] == after);
            links.map(|(_, node)| node.prim).collect()
        };
        (side(false), side(true))
    }

    /// Returns the links depth first, with their depth.
    pub fn depth_first(&self) -> Vec<(usize, &LinkNode)> {
        let mut out = Vec::with_capacity(self.nodes.len());
        let roots = self
            .nodes
            .iter()
            .filter(|(_, node)| node.parent.is_none())
            .map(|(id, _)| (0, id));
        let mut stack: Vec<(usize, Handle<LinkNode>)> = roots.collect();
        stack.reverse();
        while let Some((depth, id)) = stack.pop() {
            let node = &self.nodes[id];
            out.push((depth, node));
            stack.extend(node.children.iter().rev().map(|child| (depth + 1, *child)));
        }
        out
    }

    /// Formats the tree as text: a line per link with the name of its prim, indented by two spaces per
    /// level.
    pub fn print<'a>(&'a self, stage: &'a Stage) -> impl fmt::Display + 'a {
        struct Printed<'a>(&'a LinkTree, &'a Stage);
        impl fmt::Display for Printed<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (depth, node) in self.0.depth_first() {
                    let indent = 2 * depth.min(MAX_INDENT_DEPTH);
                    writeln!(f, "{:indent$}{}", "", self.1[node.prim].name())?;
                }
                Ok(())
            }
        }
        Printed(self, stage)
    }
}

/// Returns the frame of a joint in the robot's prim, in the units and axes of the stage, for column
/// vectors.
///
/// The frame is that at `body0`, or else at `body1`. Returns `None` if the joint has neither, or is
/// excluded from the articulation.
pub fn joint_pose(view: &View<'_>, robot: PrimId, joint: PrimId) -> Option<Matrix4<f64>> {
    let prim = &view.stage[joint];
    if !view.is_articulated(joint) {
        return None;
    }
    [0, 1].into_iter().find_map(|end| {
        let target = view.at(prim.targets(&format!("physics:body{end}")).first()?)?;
        let point = prim
            .value(&format!("physics:localPos{end}"))
            .and_then(numbers::<3>)
            .unwrap_or_default();
        let [w, x, y, z] = prim
            .value(&format!("physics:localRot{end}"))
            .and_then(numbers::<4>)
            .unwrap_or([1.0, 0.0, 0.0, 0.0]);
        let turn = UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
            .unwrap_or_else(UnitQuaternion::identity);
        let local = Isometry3::from_parts(Translation3::from(point), turn);
        Some(view.within(target, robot)? * local.to_homogeneous())
    })
}
