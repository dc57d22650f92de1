//! Reads group states as named poses.
//!
//! Values have the meaning that MoveIt gives them: a planar joint has x, y and an angle in the
//! joint's xy plane, a floating one a position and a quaternion.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};

use super::{Names, codes, link_names};
use crate::xml::{Node, Xml, children, name_of, short};
use urdf_usd_diagnostic::Suggestions;
use urdf_usd_robot::kinematics::{Model, floating_positions, planar_basis};
use urdf_usd_robot::{Joint, JointId, JointKind, LinkId, NamedPose, Pose, Robot};

/// Maximum number of group states: writers store a position of every joint for each.
const MAX_STATES: usize = 1000;
/// Maximum number of positions in all group states together.
const MAX_POSITIONS: usize = 1_000_000;
/// Differences up to this, in metres or radians, are ignored.
const TOLERANCE: f64 = 1e-6;

/// Reads the group states of an SRDF. A later state replaces an earlier one of the same name and
/// group.
pub(super) fn poses(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> Vec<NamedPose> {
    let chains = chains(xml, root, robot);
    let mut known = Known::new(root, robot, chains);
    let mut poses: Vec<NamedPose> = Vec::new();
    let mut places: HashMap<(Option<String>, String), usize> = HashMap::new();
    // A state may set every joint: the more joints, the fewer states.
    let max = MAX_STATES
        .min(MAX_POSITIONS / robot.joints().len().max(1))
        .max(1);
    for (count, node) in children(root, "group_state").enumerate() {
        if count == max {
            let message =
                format!("the limit of {max} group states is reached; further ones are left out");
            xml.report(
                &codes::TOO_MANY_STATES,
                node,
                message,
                "remove unused states",
            );
            break;
        }
        let Some(pose) = known.pose(xml, node) else {
            continue;
        };
        match places.entry((pose.group.clone(), pose.name.clone())) {
            Entry::Vacant(place) => {
                place.insert(poses.len());
                poses.push(pose);
            }
            Entry::Occupied(place) => {
                if let Some(first) = poses.get_mut(*place.get()) {
                    let line = first.place.line;
                    let message = format!(
                        "{} is already defined on line {line}; the last definition is used",
                        xml.label(node)
                    );
                    xml.report(
                        &codes::REPEATED_STATE,
                        node,
                        message,
                        "rename or remove one of them",
                    );
                    *first = pose;
                }
            }
        }
    }
    poses
}

/// Returns the groups of an SRDF, each with the base and tip links of its chain if it consists of
/// exactly one chain.
fn chains<'a>(
    xml: &mut Xml<'_>,
    root: Node<'a>,
    robot: &Robot,
) -> HashMap<&'a str, Option<(LinkId, LinkId)>> {
    const BASE: &str = "base_link";
    const TIP: &str = "tip_link";
    let mut links = link_names(robot);
    let mut chains = HashMap::new();
    for group in children(root, "group") {
        let Some(name) = name_of(group).map(str::trim) else {
            continue;
        };
        let parts = ["joint", "link", "group"]
            .iter()
            .map(|part| children(group, part).count())
            .sum::<usize>();
        let mut in_group = children(group, "chain");
        let chain = in_group
            .next()
            .filter(|_| parts == 0 && in_group.next().is_none())
            .and_then(|node| {
                let mut end = |attribute| {
                    links.find(
                        xml,
                        node,
                        attribute,
                        node.attribute(attribute).map(str::trim)?,
                    )
                };
                let (base, tip) = (end(BASE), end(TIP));
                let (base, tip) = (base?, tip?);
                let up = |link: &LinkId| {
                    let joint = robot.tree().parent_joint(*link)?;
                    Some(robot.joints()[joint].parent())
                };
                if std::iter::successors(Some(tip), up).any(|link| link == base) {
                    return Some((base, tip));
                }
                let message = format!(
                    "{} ends at a link that is not a descendant of its base link",
                    xml.label(node)
                );
                xml.report_at(
                    &codes::NO_CHAIN,
                    node,
                    TIP,
                    message,
                    "name a tip_link below base_link",
                );
                None
            });
        chains.insert(name, chain);
    }
    chains
}

/// The robot and the SRDF's definitions that group states refer to.
struct Known<'a> {
    robot: &'a Robot,
    model: Model,
    joints: Names<'a, JointId>,
    /// Groups, with the base and tip links of each that is a single chain.
    groups: HashMap<&'a str, Option<(LinkId, LinkId)>>,
    /// Joints of the SRDF itself, between the robot and the world.
    virtual_joints: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn new(
        root: Node<'a>,
        robot: &'a Robot,
        groups: HashMap<&'a str, Option<(LinkId, LinkId)>>,
    ) -> Self {
        let virtual_joints = children(root, "virtual_joint")
            .filter_map(name_of)
            .map(str::trim)
            .collect();
        let joints = Names {
            robot,
            what: "joint",
            code: &codes::UNKNOWN_JOINT,
            find: Robot::joint_named,
            all: |robot| robot.joints().values().map(Joint::name).collect(),
            unknown: HashSet::new(),
            suggestions: Suggestions::default(),
        };
        Self {
            robot,
            model: Model::of(robot),
            joints,
            groups,
            virtual_joints,
        }
    }

    /// Reads a group state; reports and returns `None` if it has no name or sets no joint.
    fn pose(&mut self, xml: &mut Xml<'_>, node: Node<'_>) -> Option<NamedPose> {
        let Some(name) = name_of(node).map(str::trim) else {
            let message = format!("{} has no name", xml.label(node));
            xml.report(&codes::UNNAMED_STATE, node, message, "add name=\"…\"");
            return None;
        };
        let group = self.group(xml, node);
        let mut positions = BTreeMap::new();
        let mut followers = BTreeMap::new();
        for joint in children(node, "joint") {
            let Some((id, values)) = self.setting(xml, joint) else {
                continue;
            };
            if positions.contains_key(&id) || followers.contains_key(&id) {
                let message = format!("{} is set twice; the first value is used", xml.label(joint));
                xml.report(&codes::REPEATED_JOINT, joint, message, "remove one of them");
            } else if self.robot.joints()[id].mimic().is_some() {
                followers.insert(id, (joint, values));
            } else {
                positions.insert(id, values);
            }
        }
        // After all positions are known: a state may set a follower before its leader.
        for (id, (joint, values)) in followers {
            self.report_follower(xml, joint, id, &values, &positions);
        }
        if positions.is_empty() {
            let message = format!("{} sets no joint of the robot", xml.label(node));
            xml.report(
                &codes::EMPTY_STATE,
                node,
                message,
                "add <joint name=\"…\" value=\"…\"/>, or remove the state",
            );
            return None;
        }
        let chain = group
            .as_deref()
            .and_then(|group| self.groups.get(group).copied().flatten());
        Some(NamedPose {
            name: name.to_owned(),
            group,
            chain,
            positions: positions.into_iter().collect(),
            fixed: Vec::new(),
            place: xml.place(node),
        })
    }

    /// Returns the group that a state names, if any.
    fn group(&self, xml: &mut Xml<'_>, node: Node<'_>) -> Option<String> {
        let Some(group) = node
            .attribute("group")
            .map(str::trim)
            .filter(|group| !group.is_empty())
        else {
            let message = format!("{} names no group", xml.label(node));
            xml.report(
                &codes::STATE_WITHOUT_GROUP,
                node,
                message,
                "add group=\"…\"",
            );
            return None;
        };
        if !self.groups.contains_key(group) {
            let message = format!(
                "{} names the group \"{}\", which the SRDF does not define",
                xml.label(node),
                short(group)
            );
            xml.report_at(
                &codes::UNKNOWN_GROUP,
                node,
                "group",
                message,
                "define the group, or correct its name",
            );
        }
        Some(group.to_owned())
    }

    /// Reads a joint of a state and its positions; reports and returns `None` if it can't be set.
    fn setting(&mut self, xml: &mut Xml<'_>, node: Node<'_>) -> Option<(JointId, Vec<f64>)> {
        let name = name_of(node).map(str::trim);
        let (Some(name), true) = (name, node.has_attribute("value")) else {
            let lacking = if name.is_none() { "name" } else { "value" };
            let message = format!("{} has no {lacking}", xml.label(node));
            xml.report(
                &codes::INCOMPLETE_JOINT,
                node,
                message,
                format!("add {lacking}=\"…\""),
            );
            return None;
        };
        if self.virtual_joints.contains(name) && self.robot.joint_named(name).is_none() {
            let message = format!(
                "{} is a virtual joint of the SRDF and not part of the robot",
                xml.label(node)
            );
            let help =
                "no action is needed: the robot's place in the world is not part of the asset";
            xml.report_at(&codes::VIRTUAL_JOINT, node, "name", message, help);
            return None;
        }
        let id = self.joints.find(xml, node, "name", name)?;
        let joint = &self.robot.joints()[id];
        if joint.kind() == JointKind::Fixed {
            let message = format!("{} is fixed and has no position", xml.label(node));
            xml.report_at(
                &codes::FIXED_JOINT,
                node,
                "name",
                message,
                "remove it from the state",
            );
            return None;
        }
        let values = xml.any_numbers(node, "value", "the joint is left out of the state")?;
        Some((id, positions(xml, node, joint, &values)?))
    }

    /// Reports that the position of a mimic joint is not part of a pose.
    fn report_follower(
        &self,
        xml: &mut Xml<'_>,
        node: Node<'_>,
        id: JointId,
        values: &[f64],
        positions: &BTreeMap<JointId, Vec<f64>>,
    ) {
        let Some((driver, multiplier, offset)) = self.model.driver(id.index()) else {
            return;
        };
        let Some(driver) = self.robot.joints().handle(driver) else {
            return;
        };
        let name = short(self.robot.joints()[driver].name());
        let label = xml.label(node);
        let Some(at) = positions.get(&driver).and_then(|at| at.first()) else {
            let message =
                format!("{label} mimics the joint \"{name}\", which the state does not set");
            let help = format!("set \"{name}\" instead");
            return xml.report_at(&codes::FOLLOWER_APART, node, "value", message, help);
        };
        let follows = multiplier * at + offset;
        if values
            .first()
            .is_some_and(|value| (value - follows).abs() > TOLERANCE)
        {
            let message =
                format!("{label} mimics the joint \"{name}\", which puts it at {follows}");
            return xml.report_at(
                &codes::FOLLOWER_APART,
                node,
                "value",
                message,
                "remove it from the state",
            );
        }
        let message = format!("{label} mimics the joint \"{name}\", so its position is redundant");
        xml.report_at(
            &codes::FOLLOWER,
            node,
            "name",
            message,
            "no action is needed; it may be removed",
        );
    }
}

/// Converts MoveIt's values to the model's positions; reports and returns `None` if their number is
/// wrong or they are invalid.
fn positions(xml: &mut Xml<'_>, node: Node<'_>, joint: &Joint, values: &[f64]) -> Option<Vec<f64>> {
    match (joint.kind(), values) {
        (JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic, &[value]) => {
            let bounds = joint.bounds();
            if !bounds.contains(value) {
                let message = format!(
                    "{} is at {value}, outside its limits {} … {}",
                    xml.label(node),
                    bounds.lower(),
                    bounds.upper()
                );
                xml.report_at(
                    &codes::OUTSIDE_LIMITS,
                    node,
                    "value",
                    message,
                    "correct the value, or the limits of the joint",
                );
            }
            Some(vec![value])
        }
        (JointKind::Planar, &[x, y, angle]) => {
            Some(planar(xml, node, joint, Vector3::new(x, y, 0.0), angle))
        }
        (JointKind::Floating, &[x, y, z, qx, qy, qz, qw]) => floating(
            xml,
            node,
            Vector3::new(x, y, z),
            Quaternion::new(qw, qx, qy, qz),
        ),
        (kind, _) => {
            let takes = match kind {
                JointKind::Planar => "three values: x y theta",
                JointKind::Floating => "seven values: x y z, and a quaternion qx qy qz qw",
                _ => "one value",
            };
            let message = format!(
                "{} has {} values, but a {} joint takes {takes}",
                xml.label(node),
                values.len(),
                kind.as_str()
            );
            xml.report_at(
                &codes::VALUE_COUNT,
                node,
                "value",
                message,
                "set as many values as the joint takes",
            );
            None
        }
    }
}

/// Returns the position of a planar joint in its plane. MoveIt translates it in the joint's xy
/// plane and rotates it about z; URDF's joint translates perpendicular to its axis and does not
/// rotate.
fn planar(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    joint: &Joint,
    shift: Vector3<f64>,
    angle: f64,
) -> Vec<f64> {
    let out_of_plane = shift.dot(&joint.axis);
    if angle.abs() > TOLERANCE || out_of_plane.abs() > TOLERANCE {
        let lost = match angle.abs() > TOLERANCE {
            true => format!("the angle {angle}: a planar joint of URDF does not rotate"),
            false => {
                format!("{out_of_plane} m along the joint's axis, perpendicular to which it moves")
            }
        };
        let message = format!(
            "{} can't be represented completely; dropped: {lost}",
            xml.label(node)
        );
        xml.report_at(
            &codes::VALUE_NOT_HELD,
            node,
            "value",
            message,
            "add a continuous joint, or use an axis along z",
        );
    }
    let (u, v) = planar_basis(&joint.axis);
    // Adding zero turns -0 into 0.
    vec![u.dot(&shift) + 0.0, v.dot(&shift) + 0.0]
}

/// Converts the values of a floating joint; reports and returns `None` if the quaternion is zero.
fn floating(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    shift: Vector3<f64>,
    rotation: Quaternion<f64>,
) -> Option<Vec<f64>> {
    let Some(rotation) = UnitQuaternion::try_new(rotation, TOLERANCE) else {
        let message = format!(
            "the quaternion of {} is zero, so it is not a rotation",
            xml.label(node)
        );
        xml.report_at(
            &codes::NO_ROTATION,
            node,
            "value",
            message,
            "use 0 0 0 1 for the identity",
        );
        return None;
    };
    Some(floating_positions(&Pose::from_parts(Translation3::from(shift), rotation)).to_vec())
}
