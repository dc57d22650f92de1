//! Named poses of the Isaac robot schema: their prims, and the chains of links they affect.

use std::collections::{HashMap, HashSet};

use super::isaac_schema as names;
use super::numbers::place;
use super::{Attribute, Layer, Relationship, string};
use urdf_usd_robot::{JointId, LinkId, NamedPose, Pose, Robot};

/// A prim of the type IsaacNamedPose, as authored.
#[derive(Clone, Debug, PartialEq)]
pub struct PosePrim<'a> {
    /// Name of the pose.
    pub name: &'a str,
    /// Name of its group of joints, if it has one.
    pub group: Option<&'a str>,
    /// Path of the first link of its chain.
    pub start: String,
    /// Path of the last link or site of its chain.
    pub end: String,
    /// The paths of the joints that it sets.
    pub joints: Vec<String>,
    /// Their positions: degrees, or the stage's units of length.
    pub values: Vec<f32>,
    /// True for each joint that inverse kinematics keeps fixed.
    pub fixed: Vec<bool>,
    /// True if the positions are within limits.
    pub is_valid: bool,
    /// Resulting pose of the end relative to the robot's prim, in the stage's units and axes.
    pub end_at: Pose,
}

impl PosePrim<'_> {
    /// Authors the prim at `path`, whose last component is the encoded name of the pose.
    pub fn author(self, layer: &mut Layer, path: &str) {
        let mut prim = layer.def(path, names::NAMED_POSE);
        if name_of(path) != self.name {
            prim.display_name(self.name);
        }
        if let Some(group) = self.group {
            prim.custom_data([("group", string(group))]);
        }
        prim.relationship(names::POSE_START, Relationship::to([self.start]))
            .relationship(names::POSE_END, Relationship::to([self.end]))
            .relationship(names::POSE_JOINTS, Relationship::to(self.joints))
            .attribute(names::POSE_VALID, Attribute::bool(self.is_valid))
            .attribute(names::POSE_VALUES, Attribute::float_array(self.values))
            .attribute(names::POSE_FIXED, Attribute::bool_array(self.fixed));
        place(&mut prim, &self.end_at, None);
    }
}

/// Authors the scopes of named poses in the robot's prim at `root`, and returns the path of the scope
/// that has the prims.
///
/// The other scope inherits it: an internal reference would lose the relationships of poses, whose
/// targets are outside of the scope.
pub fn author_scopes(layer: &mut Layer, root: &str, scopes: names::PoseScope) -> String {
    let scope = format!("{root}/{}", scopes.scope());
    if !layer.has(&scope) {
        layer.scope(&scope);
    }
    if scopes == names::PoseScope::Both {
        layer
            .scope(&format!("{root}/{}", names::SIM_NAMED_POSES))
            .inherit(&scope);
    }
    scope
}

/// The part of the robot that a pose affects.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Its first link.
    pub start: LinkId,
    /// Its last link.
    pub end: LinkId,
    /// The joints of the pose with one degree of freedom, and their positions in radians or metres:
    /// those between the first and the last link in that order, then the others from the base outwards.
    pub joints: Vec<(JointId, f64)>,
}

impl Chain {
    /// Returns the chain of a pose: that of its group, or else the smallest part of the robot with
    /// all joints of the pose. `has_prim`: whether a joint has a prim; `body`: the body that a link
    /// is rigidly attached to. `None` if the pose has no one-DOF joint with a prim, or its joints
    /// are in several trees.
    pub fn of(
        robot: &Robot,
        pose: &NamedPose,
        has_prim: &dyn Fn(JointId) -> bool,
        body: &dyn Fn(LinkId) -> Option<LinkId>,
    ) -> Option<Self> {
        let one = |at: &Vec<f64>| at.first().copied().filter(|_| at.len() == 1);
        let set: HashMap<JointId, f64> = pose
            .positions
            .iter()
            .filter_map(|(joint, at)| Some((*joint, one(at)?)))
            .collect();
        let in_tree = robot
            .tree()
            .order()
            .iter()
            .filter_map(|link| robot.tree().parent_joint(*link));
        let mut joints: Vec<(JointId, f64)> = in_tree
            .filter(|joint| has_prim(*joint))
            .filter_map(|joint| Some((joint, *set.get(&joint)?)))
            .collect();
        let last = robot.joints()[joints.last()?.0].child();
        if let Some((start, end)) = pose.chain {
            let order = joints_between(robot, start, end)?;
            let order: HashMap<JointId, usize> = order.into_iter().zip(0..).collect();
            // Stable, so that joints elsewhere keep their order.
            joints.sort_by_key(|(joint, _)| order.get(joint).copied().unwrap_or(usize::MAX));
            return Some(Self { start, end, joints });
        }
        // Prefer a tool frame rigidly attached to the last link.
        let is_tool = |tool: &&LinkId| body(**tool) == body(last);
        let end = robot
            .planning()
            .tool_frames
            .iter()
            .find(is_tool)
            .copied()
            .unwrap_or(last);
        Some(Self {
            start: above_all(robot, &joints)?,
            end,
            joints,
        })
    }

    /// Returns the chain between links that have prims: a first link without one is replaced by the
    /// next link towards the end. `None` if the end has no prim, or is in another tree.
    pub fn between(self, robot: &Robot, is_named: &dyn Fn(LinkId) -> bool) -> Option<Self> {
        if !is_named(self.end) {
            return None;
        }
        let mut links = links_between(robot, self.start, self.end)?.into_iter();
        Some(Self {
            start: links.find(|link| is_named(*link))?,
            ..self
        })
    }

    /// Returns the pose of the end relative to the robot's prim, from the poses of the links at rest and in
    /// the pose. If the end is not below the start, the start stays where it is at rest, as in Isaac's
    /// inverse kinematics.
    pub fn end_at(&self, robot: &Robot, rest: &[Pose], posed: &[Pose]) -> Pose {
        let of = |poses: &[Pose], link: LinkId| {
            let pose = poses.get(link.index()).copied();
            pose.unwrap_or_else(Pose::identity)
        };
        if robot.tree().is_below(self.end, self.start) {
            return of(posed, self.end);
        }
        of(rest, self.start) * of(posed, self.start).inverse() * of(posed, self.end)
    }

    /// Returns whether all joints are between the first and the last link.
    pub fn is_path(&self, robot: &Robot) -> bool {
        let between = joints_between(robot, self.start, self.end).unwrap_or_default();
        let between: HashSet<JointId> = between.into_iter().collect();
        self.joints.iter().all(|(joint, _)| between.contains(joint))
    }

    /// Returns whether all joints are within their limits.
    pub fn is_valid(&self, robot: &Robot) -> bool {
        self.joints
            .iter()
            .all(|(joint, value)| robot.joints()[*joint].bounds().contains(*value))
    }
}

/// Returns the joints from one link to another, through their nearest common ancestor, fixed ones
/// included. `None` if the links are in different trees.
pub fn joints_between(robot: &Robot, start: LinkId, end: LinkId) -> Option<Vec<JointId>> {
    let links = links_between(robot, start, end)?;
    let pairs = links.iter().zip(links.iter().skip(1));
    let joints = pairs.filter_map(|(&one, &next)| {
        // The joint belongs to the child, which is either of the two.
        let child = if parent_of(robot, next) == Some(one) {
            next
        } else {
            one
        };
        robot.tree().parent_joint(child)
    });
    Some(joints.collect())
}

/// Returns the links from one link to another, both included, through their nearest common ancestor.
fn links_between(robot: &Robot, start: LinkId, end: LinkId) -> Option<Vec<LinkId>> {
    let above = |link: LinkId| -> Vec<LinkId> {
        std::iter::successors(Some(link), |link| parent_of(robot, *link)).collect()
    };
    let (mut up, mut down) = (above(start), above(end));
    // Both end with the root. The last common link is the nearest common ancestor.
    let mut common = None;
    while up.last() == down.last() && up.pop().is_some() {
        common = down.pop();
    }
    up.push(common?);
    up.extend(down.into_iter().rev());
    Some(up)
}

/// Returns the parent of a link.
fn parent_of(robot: &Robot, link: LinkId) -> Option<LinkId> {
    let joint = robot.tree().parent_joint(link)?;
    Some(robot.joints()[joint].parent())
}

/// Returns the nearest common ancestor of these joints.
fn above_all(robot: &Robot, joints: &[(JointId, f64)]) -> Option<LinkId> {
    let first = robot.joints()[joints.first()?.0].parent();
    let above: Vec<LinkId> =
        std::iter::successors(Some(first), |link| parent_of(robot, *link)).collect();
    let rank: HashMap<LinkId, usize> = above
        .iter()
        .enumerate()
        .map(|(rank, link)| (*link, rank))
        .collect();
    // Each link is visited at most once.
    let (mut seen, mut top) = (HashSet::new(), 0);
    for (joint, _) in joints {
        let mut at = robot.joints()[*joint].parent();
        // Climbs until the path of the first joint. `seen` makes the whole search linear in the
        // number of links, however many joints share an ancestor.
        while !rank.contains_key(&at) && seen.insert(at) {
            at = parent_of(robot, at)?;
        }
        top = top.max(rank.get(&at).copied().unwrap_or_default());
    }
    above.get(top).copied()
}

/// Returns the last component of a path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
