//! Reads joints: types, degrees of freedom, limits and mimic relations. [`super::frames`]
//! determines their origins.

use std::collections::HashSet;

use nalgebra::{Unit, UnitQuaternion, Vector3};

use super::codes;
use super::extras;
use super::findings::Findings;
use super::names::Names;
use super::placement::in_source_axes;
use super::scene::Scene;
use urdf_usd_gltf_extension::axes;
use urdf_usd_gltf_extension::{self as extension, Entry, JointType, Misfits, Model, Motion};
use urdf_usd_robot::{
    ArenaMap, Calibration, Dynamics, Joint, JointId, JointKind, Limit, LinkId, Mimic, Robot,
    Safety, kinematics,
};

/// Tolerance of an axis' length within which it is normalised without a warning: files have rounded
/// numbers.
const UNIT_TOLERANCE: f64 = 1e-3;
/// Tolerance of an axis' length within which it is used unchanged.
const UNIT: f64 = 1e-12;

/// A joint of the robot, with the data from which its origin and the named poses are read later.
pub struct Draft<'a> {
    pub id: JointId,
    pub dofs: Vec<Dof>,
    /// The joint in the file.
    read: extension::Joint<'a>,
    pub origin_node: Option<usize>,
    pub dof_nodes: Vec<usize>,
}

/// A degree of freedom.
pub struct Dof {
    pub motion: Motion,
    pub axis: Unit<Vector3<f64>>,
    limit: Option<Limit>,
    /// Default position.
    pub default: f64,
}

/// Collects the node channels that the joints of a model drive.
pub fn driven(model: &Model<'_>, driven: &mut HashSet<(usize, Motion)>) {
    for joint in model.joints().value().unwrap_or_default() {
        let dofs = joint.dofs().value().unwrap_or_default();
        driven.extend(
            joint
                .each_dof_node()
                .into_iter()
                .zip(dofs)
                .filter_map(|(node, dof)| Some((node?, dof.motion()?))),
        );
    }
}

/// Returns the nodes of the links and joints of a model.
pub fn skeleton(model: &Model<'_>) -> Vec<usize> {
    let links = model.links().value().unwrap_or_default();
    let joints = model.joints().value().unwrap_or_default();
    let of_links = links.iter().filter_map(|link| link.node().value());
    let of_joints = joints.iter().flat_map(|joint| {
        let dofs = joint.each_dof_node().into_iter().flatten();
        joint.origin_node().value().into_iter().chain(dofs)
    });
    of_links.chain(of_joints).collect()
}

/// Adds the joints of a model to a robot that has its links, without origins. Returns a draft of
/// each joint of the robot, and for each entry of the model the joint that was made of it.
pub fn drafts<'a>(
    model: &Model<'a>,
    scene: &Scene<'_>,
    robot: &mut Robot,
    findings: &mut Findings,
) -> (Vec<Draft<'a>>, Vec<Option<JointId>>) {
    let mut drafts = Vec::new();
    let mut ids = Vec::new();
    let joints = model.joints().or_report(findings).unwrap_or_default();
    let mut names = Names::of("joint", joints.iter().map(|joint| joint.name().value()));
    for joint in joints {
        let ends = ends(&joint, robot, findings);
        let draft = ends.and_then(|ends| {
            let name = names.give(&joint.entry.at, joint.name(), None, findings);
            draft(joint, name, ends, scene, robot, findings)
        });
        ids.push(draft.as_ref().map(|draft| draft.id));
        drafts.extend(draft);
    }
    let extras = model.entry.get("extras");
    let of_loops = extras
        .and_then(|extras| extras.list("loops").or_report(findings))
        .unwrap_or_default();
    for joint in of_loops.into_iter().map(extension::Joint::from) {
        if let Some(ends) = ends(&joint, robot, findings) {
            let name = names.give(&joint.entry.at, joint.name(), None, findings);
            drafts.extend(of_loop(joint, name, ends, robot, findings));
        }
    }
    (drafts, ids)
}

/// Parent and child link of a joint.
#[derive(Clone, Copy)]
struct Ends {
    parent: LinkId,
    child: LinkId,
}

/// Returns the links that a joint connects. Reports and returns `None` if one does not exist.
fn ends(joint: &extension::Joint<'_>, robot: &Robot, findings: &mut Findings) -> Option<Ends> {
    let (parent, child) = (
        joint.parent_link().or_report(findings),
        joint.child_link().or_report(findings),
    );
    let link = |index: Option<usize>| robot.links().handle(index?);
    let why = match (link(parent), link(child)) {
        _ if parent.is_none() || child.is_none() => "does not say which links it joins",
        _ if parent == child => "joins a link to itself",
        (Some(parent), Some(child)) => return Some(Ends { parent, child }),
        _ => "joins a link that the model does not have",
    };
    findings.report(
        &codes::JOINT_LINKS,
        &joint.entry.at,
        format!("joint {} {why}", label(joint)),
        "correct parentLink and childLink",
    );
    None
}

/// Returns the joint's name for messages.
fn label(joint: &extension::Joint<'_>) -> String {
    match joint.name().value() {
        Some(name) => format!("\"{}\"", name.chars().take(100).collect::<String>()),
        None => joint.entry.at.clone(),
    }
}

fn draft<'a>(
    read: extension::Joint<'a>,
    name: String,
    ends: Ends,
    scene: &Scene<'_>,
    robot: &mut Robot,
    findings: &mut Findings,
) -> Option<Draft<'a>> {
    let entry = &read.entry;
    let dofs = read.dofs().or_report(findings).unwrap_or_default();
    let origin_node = read.origin_node().or_report(findings);
    let is_turned = origin_node.is_some_and(|node| scene.is_turned(node));
    let dofs: Vec<Dof> = dofs
        .iter()
        .filter_map(|dof| self::dof(dof, is_turned, findings))
        .collect();
    let kind = kind(&read, &dofs, findings);
    let limit = match kinematics::position_count(kind) {
        1 => dofs.first().and_then(|dof| dof.limit),
        // The robot has one limit for both directions of a planar joint, so it is kept only if both
        // agree.
        2 if dofs.iter().any(|dof| dof.limit.is_some()) => dofs
            .first()
            .and_then(|dof| dof.limit)
            .filter(|limit| dofs.iter().all(|dof| dof.limit == Some(*limit))),
        _ => entry
            .get("extras")
            .and_then(|extras| extras::kept_limit(&extras, findings)),
    };
    let dynamics = read.dynamics().map(|entry| Dynamics {
        damping: entry.number("damping").or_report(findings),
        friction: entry.number("friction").or_report(findings),
    });
    let safety = read.safety().map(|entry| Safety {
        soft_lower_limit: entry.number("softLowerLimit").or_report(findings),
        soft_upper_limit: entry.number("softUpperLimit").or_report(findings),
        k_position: entry.number("kPosition").or_report(findings),
        k_velocity: entry.number("kVelocity").or_report(findings),
    });
    let mut joint = Joint::new(name, kind, ends.parent, ends.child);
    joint.axis = axis(kind, &dofs, &read, findings);
    joint.limit = limit;
    joint.dynamics = dynamics;
    joint.safety = safety;
    joint.calibration = calibration(&read, findings);
    joint.commanded = extras::drive(entry, findings);
    joint.custom = extras::custom(entry, findings);
    joint.place = findings.place(&entry.at);
    let dof_nodes = read.dof_nodes().or_report(findings).unwrap_or_default();
    Some(Draft {
        id: robot.add_joint(joint).ok()?,
        dofs,
        read,
        origin_node,
        dof_nodes,
    })
}

/// Adds a joint that closes a loop, from the model's extras. It has no nodes.
fn of_loop<'a>(
    read: extension::Joint<'a>,
    name: String,
    ends: Ends,
    robot: &mut Robot,
    findings: &mut Findings,
) -> Option<Draft<'a>> {
    let kind = read
        .type_word()
        .or_report(findings)
        .and_then(JointType::of)
        .map_or(JointKind::Fixed, joint_kind);
    let mut joint = Joint::new(name, kind, ends.parent, ends.child);
    joint.origin = extras::placement(&read.entry, "origin", findings);
    joint.axis = unit(&read.entry, findings);
    joint.limit = extras::kept_limit(&read.entry, findings);
    joint.place = findings.place(&read.entry.at);
    Some(Draft {
        id: robot.add_joint(joint).ok()?,
        dofs: Vec::new(),
        read,
        origin_node: None,
        dof_nodes: Vec::new(),
    })
}

fn calibration(joint: &extension::Joint<'_>, findings: &mut Findings) -> Option<Calibration> {
    let reference_position = joint
        .entry
        .get("extras")
        .and_then(|extras| extras.number("referencePosition").or_report(findings));
    let given = joint.calibration();
    (given.is_some() || reference_position.is_some()).then(|| Calibration {
        rising: given
            .as_ref()
            .and_then(|entry| entry.number("rising").or_report(findings)),
        falling: given
            .as_ref()
            .and_then(|entry| entry.number("falling").or_report(findings)),
        reference_position,
    })
}

/// Reads a degree of freedom. `is_turned`: whether its axis is in the source's axes.
fn dof(dof: &extension::Dof<'_>, is_turned: bool, findings: &mut Findings) -> Option<Dof> {
    let Some(motion) = dof.motion() else {
        findings.misfit(
            &dof.entry.below("motion"),
            "\"rotation\" or \"translation\"",
        );
        return None;
    };
    let default = dof.default().or_report(findings).unwrap_or(0.0);
    let axis = unit(&dof.entry, findings);
    let axis = if is_turned {
        Unit::new_unchecked(in_source_axes(&axis))
    } else {
        axis
    };
    Some(Dof {
        motion,
        axis,
        limit: dof.limit().map(|limit| extras::limit(&limit, findings)),
        default,
    })
}

/// Reads the axis in `entry`.
fn unit(entry: &Entry<'_>, findings: &mut Findings) -> Unit<Vector3<f64>> {
    let axis: Vector3<f64> = entry
        .numbers("axis")
        .or_report(findings)
        .map(axes::to_vector)
        .unwrap_or_default();
    if (axis.norm_squared() - 1.0).abs() < UNIT {
        return Unit::new_unchecked(axis);
    }
    // Divide by the largest component first, since the square of a tiny number underflows to zero.
    let largest = axis.amax();
    if largest == 0.0 {
        let message = format!(
            "the axis of {} is missing or has no direction; glTF's z is used",
            entry.at
        );
        findings.report(
            &codes::AXIS,
            &entry.below("axis"),
            message,
            "give the direction of the motion",
        );
        return Vector3::x_axis();
    }
    let length = (axis / largest).norm() * largest;
    if (length - 1.0).abs() > UNIT_TOLERANCE {
        let message = format!("the axis of {} has the length {length:.4}, not 1", entry.at);
        findings.report(
            &codes::AXIS,
            &entry.below("axis"),
            message,
            "only its direction counts",
        );
    }
    Unit::new_normalize(axis / largest)
}

/// Returns the joint's kind by its type and its degrees of freedom. If they disagree, the degrees
/// of freedom decide, unless the type is fixed.
fn kind(joint: &extension::Joint<'_>, dofs: &[Dof], findings: &mut Findings) -> JointKind {
    use JointType::{Continuous, Fixed, Floating, Planar, Prismatic, Revolute};
    let found: Vec<Motion> = dofs.iter().map(|dof| dof.motion).collect();
    let said = joint.kind();
    if let Some(kind) = said.filter(|kind| kind.motions() == found) {
        return joint_kind(kind);
    }
    let is_limited = dofs.iter().any(|dof| {
        dof.limit
            .is_some_and(|limit| matches!(limit.bounds.sides(), (Some(_), Some(_))))
    });
    let about = if is_limited { Revolute } else { Continuous };
    let inferred = [Fixed, about, Prismatic, Planar, Floating]
        .into_iter()
        .find(|kind| kind.motions() == found);
    let kind = if said == Some(Fixed) {
        Fixed
    } else {
        inferred.unwrap_or(Fixed)
    };
    let what = match (joint.type_word().value(), said) {
        (Some(_), Some(said)) => format!(
            "has not the degrees of freedom of its type, {}",
            said.as_str()
        ),
        (Some(word), None) => format!(
            "has the unknown type \"{}\"",
            word.chars().take(100).collect::<String>()
        ),
        (None, _) => "has no type".to_owned(),
    };
    let message = format!("joint {} {what}; it is {}", label(joint), kind.as_str());
    let help = "use fixed, revolute, continuous, prismatic, planar or floating, with as many dofs as that has";
    findings.report(&codes::JOINT_TYPE, &joint.entry.at, message, help);
    joint_kind(kind)
}

/// Returns the axis of the only degree of freedom, or the normal of a planar joint.
fn axis(
    kind: JointKind,
    dofs: &[Dof],
    joint: &extension::Joint<'_>,
    findings: &mut Findings,
) -> Unit<Vector3<f64>> {
    match (kind, dofs) {
        (JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic, [dof, ..]) => dof.axis,
        (JointKind::Planar, [u, v, ..]) => {
            let normal = u.axis.cross(&v.axis);
            let Some(unit) = Unit::try_new(normal, 1e-6) else {
                let message = format!("the two axes of joint {} are the same", label(joint));
                findings.report(
                    &codes::AXIS,
                    &joint.entry.below("dofs"),
                    message,
                    "give two directions in the plane",
                );
                return Vector3::x_axis();
            };
            // The writer derives the axes in the plane from the normal. Prefer a normal that gives
            // exactly the axes of the file, so that a file is read and written back unchanged.
            let rounded = Unit::new_unchecked(normal.map(|x| (x * 1e15).round() / 1e15));
            let gives =
                |normal: &Unit<Vector3<f64>>| kinematics::planar_basis(normal) == (u.axis, v.axis);
            [unit, Unit::new_unchecked(normal), rounded]
                .into_iter()
                .find(gives)
                .unwrap_or(unit)
        }
        _ => Vector3::x_axis(),
    }
}

impl Draft<'_> {
    /// Returns the joint's name for messages.
    pub fn label(&self) -> String {
        label(&self.read)
    }

    /// Returns the JSON pointer to the joint.
    pub fn at(&self) -> &str {
        &self.read.entry.at
    }

    /// Converts positions in the file to positions of the robot's joint. They differ for planar and
    /// floating joints whose axes in the file are not those of the robot.
    pub fn positions(&self, joint: &Joint, positions: &[f64]) -> Vec<f64> {
        let are = |axes: &[Unit<Vector3<f64>>]| {
            let is_same = |(dof, axis): (&Dof, &Unit<Vector3<f64>>)| {
                (dof.axis.into_inner() - axis.into_inner()).amax() < UNIT
            };
            self.dofs.len() == axes.len() && self.dofs.iter().zip(axes).all(is_same)
        };
        let along = |dofs: &[Dof]| {
            dofs.iter()
                .zip(positions)
                .map(|(dof, q)| dof.axis.into_inner() * *q)
                .sum::<Vector3<f64>>()
        };
        match joint.kind() {
            JointKind::Planar => {
                let (u, v) = kinematics::planar_basis(&joint.axis);
                let at = along(&self.dofs);
                if are(&[u, v]) {
                    positions.to_vec()
                } else {
                    vec![at.dot(&u), at.dot(&v)]
                }
            }
            JointKind::Floating => {
                let [x, y, z] = [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()];
                if are(&[x, y, z, x, y, z]) {
                    return positions.to_vec();
                }
                let at = along(self.dofs.get(..3).unwrap_or_default());
                let turns = self.dofs.iter().zip(positions).skip(3);
                let turned = |rotation, (dof, q): (&Dof, &f64)| {
                    rotation * UnitQuaternion::from_axis_angle(&dof.axis, *q)
                };
                let r = turns
                    .fold(UnitQuaternion::identity(), turned)
                    .to_rotation_matrix();
                // Euler angles of r = Rx · Ry · Rz, the order of the robot's rotations: r02 is the
                // sine of the angle about y.
                let pitch = r[(0, 2)].clamp(-1.0, 1.0).asin();
                vec![
                    at.x,
                    at.y,
                    at.z,
                    (-r[(1, 2)]).atan2(r[(2, 2)]),
                    pitch,
                    (-r[(0, 1)]).atan2(r[(0, 0)]),
                ]
            }
            _ => positions.to_vec(),
        }
    }
}

/// Sets the mimic relations of the joints. A cycle of followers is reported, and broken at one of
/// its joints.
pub fn follow(
    drafts: &[Draft<'_>],
    ids: &[Option<JointId>],
    robot: &mut Robot,
    findings: &mut Findings,
) {
    let mut mimics: ArenaMap<Joint, Option<Mimic>> = ArenaMap::filled(robot.joints(), None);
    for draft in drafts {
        mimics[draft.id] = mimic(draft, ids, robot, findings);
    }
    // Each walk along mimic relations marks the joints that it visits, and ends at the first marked
    // one: every joint is visited once.
    let mut met: ArenaMap<Joint, Option<JointId>> = ArenaMap::filled(robot.joints(), None);
    for draft in drafts {
        let start = draft.id;
        let mut at = start;
        while met[at].is_none() {
            met[at] = Some(start);
            at = mimics[at].map_or(at, |mimic| mimic.joint);
        }
        // A joint that this walk has visited before is part of a cycle.
        if met[at] == Some(start)
            && mimics[at].take().is_some()
            && let Some(Draft { read, .. }) = drafts.get(at.index())
        {
            let message = format!(
                "joint {} follows itself through the joints that it follows",
                label(read)
            );
            findings.report(
                &codes::MIMIC,
                &read.entry.below("mimic"),
                message,
                "remove one of the mimics of the circle",
            );
        }
    }
    // All cycles have been broken.
    let set = robot.set_mimics(mimics.iter().map(|(id, mimic)| (id, *mimic)));
    findings.accept(set, "");
}

/// Reads the mimic relation of a joint.
fn mimic(
    follower: &Draft<'_>,
    ids: &[Option<JointId>],
    robot: &Robot,
    findings: &mut Findings,
) -> Option<Mimic> {
    let read = follower.read.mimic()?;
    let leader = read
        .joint()
        .or_report(findings)
        .and_then(|number| *ids.get(number)?);
    let multiplier = read.multiplier().or_report(findings).unwrap_or(1.0);
    let offset = read.offset().or_report(findings).unwrap_or(0.0);
    let has_position = |id: JointId| kinematics::position_count(robot.joints()[id].kind()) == 1;
    let leader = leader.filter(|&leader| leader != follower.id && has_position(leader));
    if let Some(joint) = leader.filter(|_| has_position(follower.id)) {
        return Some(Mimic {
            joint,
            multiplier,
            offset,
        });
    }
    let message = format!(
        "joint {} can't follow the joint that its mimic names",
        follower.label()
    );
    findings.report(
        &codes::MIMIC,
        &read.entry.at,
        message,
        "name another joint of one degree of freedom",
    );
    None
}

/// Converts the extension's joint type.
fn joint_kind(kind: JointType) -> JointKind {
    match kind {
        JointType::Fixed => JointKind::Fixed,
        JointType::Revolute => JointKind::Revolute,
        JointType::Continuous => JointKind::Continuous,
        JointType::Prismatic => JointKind::Prismatic,
        JointType::Planar => JointKind::Planar,
        JointType::Floating => JointKind::Floating,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_kinds_of_the_same_name() {
        for kind in JointKind::ALL {
            let read = JointType::of(kind.as_str()).unwrap();
            assert_eq!(joint_kind(read), kind);
        }
    }
}
