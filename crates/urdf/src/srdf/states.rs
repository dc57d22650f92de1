//! Group states → named poses. What their values mean is MoveIt's to say: a planar joint has x, y
//! and an angle in the joint's xy plane, a floating one a position and a quaternion.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};

use super::{Names, codes, links_of};
use crate::xml::{Node, Xml, children, name_of, short};
use urdf_usd_diagnostic::Suggestions;
use urdf_usd_robot::kinematics::{Model, floating_positions, planar_basis};
use urdf_usd_robot::{Joint, JointId, JointKind, LinkId, NamedPose, Pose, Robot};

/// The most group states that are read: writers give every joint a position in each.
const MAX_STATES: usize = 1000;
/// The most positions in all of them together.
const MAX_POSITIONS: usize = 1_000_000;
/// Metres or radians that are no difference.
const TOLERANCE: f64 = 1e-6;

/// Reads the group states of an SRDF. A later state of the same name and group takes the place of
/// an earlier one.
pub(super) fn poses(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> Vec<NamedPose> {
    let chains = chains(xml, root, robot);
    let mut known = Known::of(root, robot, chains);
    let mut poses: Vec<NamedPose> = Vec::new();
    let mut places: HashMap<(Option<String>, String), usize> = HashMap::new();
    let most = MAX_STATES
        .min(MAX_POSITIONS / robot.joints().len().max(1))
        .max(1);
    for (count, node) in children(root, "group_state").enumerate() {
        if count == most {
            let message =
                format!("there are more than {most} group states; from here on none is read");
            xml.report(
                &codes::TOO_MANY_STATES,
                node,
                message,
                "remove states that nobody uses",
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
                        "{} is there already, on line {line}; this one counts",
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

/// The groups of an SRDF, each with the links that its chain begins and ends with, if it consists
/// of one chain and nothing else.
fn chains<'a>(
    xml: &mut Xml<'_>,
    root: Node<'a>,
    robot: &Robot,
) -> HashMap<&'a str, Option<(LinkId, LinkId)>> {
    const BASE: &str = "base_link";
    const TIP: &str = "tip_link";
    let mut links = links_of(robot);
    let mut chains = HashMap::new();
    for group in children(root, "group") {
        let Some(name) = name_of(group).map(str::trim) else {
            continue;
        };
        let parts = ["joint", "link", "group"]
            .iter()
            .map(|part| children(group, part).count())
            .sum::<usize>();
        let mut of_group = children(group, "chain");
        let chain = of_group
            .next()
            .filter(|_| parts == 0 && of_group.next().is_none())
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
                    "{} ends at a link that does not hang on the one it begins with",
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

/// What group states can refer to.
struct Known<'a> {
    robot: &'a Robot,
    model: Model,
    joints: Names<'a, JointId>,
    /// Groups, and the links that the chain of each begins and ends with, if it is one chain.
    groups: HashMap<&'a str, Option<(LinkId, LinkId)>>,
    /// Joints of the SRDF itself, between the robot and the world.
    virtual_joints: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(
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

    /// Reads a group state. None, reported, if it has no name or sets no joint.
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
                let message = format!("{} is there already; the first counts", xml.label(joint));
                xml.report(&codes::REPEATED_JOINT, joint, message, "remove one of them");
            } else if self.robot.joints()[id].mimic().is_some() {
                followers.insert(id, (joint, values));
            } else {
                positions.insert(id, values);
            }
        }
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
            place: xml.place(node),
        })
    }

    /// The group of a state, if it names one.
    fn group(&self, xml: &mut Xml<'_>, node: Node<'_>) -> Option<String> {
        let Some(group) = node
            .attribute("group")
            .map(str::trim)
            .filter(|group| !group.is_empty())
        else {
            let message = format!("{} does not say which group it is of", xml.label(node));
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
                "{} is of the group \"{}\", which the SRDF does not have",
                xml.label(node),
                short(group)
            );
            xml.report_at(
                &codes::UNKNOWN_GROUP,
                node,
                "group",
                message,
                "add the group, or correct its name",
            );
        }
        Some(group.to_owned())
    }

    /// The joint of a state and its positions. None, reported, if it can have none.
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
                "{} is a virtual joint of the SRDF; the robot itself does not have it",
                xml.label(node)
            );
            let help = "nothing need be done: where the robot stands is not part of it";
            xml.report_at(&codes::VIRTUAL_JOINT, node, "name", message, help);
            return None;
        }
        let id = self.joints.find(xml, node, "name", name)?;
        let joint = &self.robot.joints()[id];
        if joint.kind() == JointKind::Fixed {
            let message = format!("{} is fixed: it has no position", xml.label(node));
            xml.report_at(
                &codes::FIXED_JOINT,
                node,
                "name",
                message,
                "remove it from the state",
            );
            return None;
        }
        let values = xml.any_numbers(node, "value", "the state goes without the joint")?;
        Some((id, positions(xml, node, joint, &values)?))
    }

    /// Says that the position of a joint that follows another is not part of a pose.
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
                format!("{label} follows the joint \"{name}\", which the state does not set");
            let help = format!("set \"{name}\" instead");
            return xml.report_at(&codes::FOLLOWER_APART, node, "value", message, help);
        };
        let follows = multiplier * at + offset;
        if values
            .first()
            .is_some_and(|value| (value - follows).abs() > TOLERANCE)
        {
            let message =
                format!("{label} follows the joint \"{name}\", which puts it at {follows}");
            return xml.report_at(
                &codes::FOLLOWER_APART,
                node,
                "value",
                message,
                "leave it out of the state",
            );
        }
        let message =
            format!("{label} follows the joint \"{name}\", so its position goes without saying");
        xml.report_at(
            &codes::FOLLOWER,
            node,
            "name",
            message,
            "nothing need be done; it may be left out",
        );
    }
}

/// The model's positions for MoveIt's values. None, reported, if there are too many or too few, or
/// they make no sense.
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
                "give as many values as the joint takes",
            );
            None
        }
    }
}

/// Where in its plane a planar joint is. MoveIt moves it in the joint's xy plane and turns it about
/// z; URDF's joint moves across its axis and does not turn.
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
            true => format!("the angle {angle}: a planar joint of a URDF does not turn"),
            false => format!("{out_of_plane} m along the joint's axis, across which it moves"),
        };
        let message = format!("of {} this can't be kept: {lost}", xml.label(node));
        xml.report_at(
            &codes::VALUE_NOT_HELD,
            node,
            "value",
            message,
            "use a continuous joint beside it, or an axis along z",
        );
    }
    let (u, v) = planar_basis(&joint.axis);
    // Adding zero takes the sign off a zero.
    vec![u.dot(&shift) + 0.0, v.dot(&shift) + 0.0]
}

/// The positions of a floating joint. None, reported, if the quaternion is no rotation.
fn floating(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    shift: Vector3<f64>,
    rotation: Quaternion<f64>,
) -> Option<Vec<f64>> {
    let Some(rotation) = UnitQuaternion::try_new(rotation, TOLERANCE) else {
        let message = format!(
            "the quaternion of {} is zero, which is no rotation",
            xml.label(node)
        );
        xml.report_at(
            &codes::NO_ROTATION,
            node,
            "value",
            message,
            "write 0 0 0 1 for no rotation",
        );
        return None;
    };
    Some(floating_positions(&Pose::from_parts(Translation3::from(shift), rotation)).to_vec())
}
