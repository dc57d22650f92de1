//! Named poses of the Isaac robot schema: the chain of links that a pose is about, and its prim.

use std::collections::{HashMap, HashSet};

use super::isaac_schema as names;
use super::numbers::place;
use super::{Attribute, Layer, Relationship, string};
use urdf_usd_robot::{JointId, LinkId, NamedPose, Pose, Robot};

/// A prim of the type IsaacNamedPose, as it is authored.
#[derive(Clone, Debug, PartialEq)]
pub struct PosePrim<'a> {
    /// What the pose is called.
    pub name: &'a str,
    /// The group of joints that it is about, if it is one.
    pub group: Option<&'a str>,
    /// The path of the link that its chain begins with.
    pub start: String,
    /// The path of the link or site that it ends with.
    pub end: String,
    /// The paths of the joints that it sets.
    pub joints: Vec<String>,
    /// Their positions: degrees, or units of length of the stage.
    pub values: Vec<f32>,
    /// Which of them inverse kinematics leaves alone.
    pub fixed: Vec<bool>,
    /// Whether the positions are allowed.
    pub is_valid: bool,
    /// Where the end is in the robot's prim then, in the stage's units and axes.
    pub end_at: Pose,
}

impl PosePrim<'_> {
    /// Authors the prim at `path`, whose last part is as near to the pose's name as USD can hold.
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

/// The part of the robot that a pose is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The link that it begins with.
    pub start: LinkId,
    /// The link that it ends with.
    pub end: LinkId,
    /// The joints that the pose sets and that have one position, from the base outwards, with
    /// these: radians or metres.
    pub joints: Vec<(JointId, f64)>,
}

impl Chain {
    /// The chain of a pose: that of its group, or else the smallest part of the robot that has all
    /// joints of the pose. `has_prim`: which joints can be named; `body`: the body that a link is
    /// rigid in. `None` if no joint of the pose can be named and has one position, or they are in
    /// several trees.
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
        let joints: Vec<(JointId, f64)> = in_tree
            .filter(|joint| has_prim(*joint))
            .filter_map(|joint| Some((joint, *set.get(&joint)?)))
            .collect();
        let last = robot.joints()[joints.last()?.0].child();
        if let Some((start, end)) = pose.chain {
            return Some(Self { start, end, joints });
        }
        // A tool frame that is rigid in the last link, if there is one.
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

    /// The same between links that can be named: the next towards the end stands for a first link
    /// that can't be. `None` if the end can't be named.
    pub fn between(self, robot: &Robot, is_named: &dyn Fn(LinkId) -> bool) -> Option<Self> {
        if !is_named(self.end) {
            return None;
        }
        let up = std::iter::successors(Some(self.end), |link| {
            if *link == self.start {
                None
            } else {
                parent_of(robot, *link)
            }
        });
        Some(Self {
            start: up.filter(|link| is_named(*link)).last()?,
            ..self
        })
    }

    /// Whether all joints are within their limits.
    pub fn is_valid(&self, robot: &Robot) -> bool {
        self.joints
            .iter()
            .all(|(joint, value)| robot.joints()[*joint].bounds().contains(*value))
    }
}

/// Returns the link that a link hangs on.
fn parent_of(robot: &Robot, link: LinkId) -> Option<LinkId> {
    let joint = robot.tree().parent_joint(link)?;
    Some(robot.joints()[joint].parent())
}

/// The link nearest to these joints that is above all of them.
fn above_all(robot: &Robot, joints: &[(JointId, f64)]) -> Option<LinkId> {
    let first = robot.joints()[joints.first()?.0].parent();
    let above: Vec<LinkId> =
        std::iter::successors(Some(first), |link| parent_of(robot, *link)).collect();
    let rank: HashMap<LinkId, usize> = above
        .iter()
        .enumerate()
        .map(|(rank, link)| (*link, rank))
        .collect();
    // Each link is gone up from once.
    let (mut seen, mut top) = (HashSet::new(), 0);
    for (joint, _) in joints {
        let mut at = robot.joints()[*joint].parent();
        while !rank.contains_key(&at) && seen.insert(at) {
            at = parent_of(robot, at)?;
        }
        top = top.max(rank.get(&at).copied().unwrap_or_default());
    }
    above.get(top).copied()
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
