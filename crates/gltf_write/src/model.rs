//! The kinematic model of EXT_robot_kinematics: links, joints and degrees of freedom.

use std::collections::{BTreeMap, HashMap, HashSet};

use nalgebra::Vector3;

use super::codes;
use super::limits::limit;
use super::nodes::{JointNodes, LinkNodes, Nodes};
use super::numbers::finite;
use super::options::Options;
use super::planning::planning;
use crate::json::extras::{
    ConfigurationExtras, Custom, JointExtras, LinkExtras, Loop, ModelExtras, Placement,
};
use crate::json::kinematics::{
    Calibration, Configuration, Dof, Dynamics, Joint, Link, Mimic, Model, Positions, Safety,
};
use crate::json::limit::Limit;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_gltf_extension::axes;
use urdf_usd_gltf_extension::{JointType, Motion};
use urdf_usd_robot::{self as robot, ArenaMap, JointId, JointKind, NamedPose, Robot, kinematics};

/// Index of each joint in the model; `None` for joints that close loops.
pub type Numbers = ArenaMap<robot::Joint, Option<usize>>;

/// Builds the model of `robot` with its `nodes`.
pub fn build(
    robot: &Robot,
    nodes: &Nodes,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Model {
    // Joints that close loops have no nodes, so the model's indices differ from the robot's.
    let present: Vec<(JointId, &JointNodes)> = nodes
        .joints
        .iter()
        .filter_map(|(id, n)| Some((id, n.as_ref()?)))
        .collect();
    let mut number = Numbers::filled(robot.joints(), None);
    for (index, &(id, _)) in present.iter().enumerate() {
        number[id] = Some(index);
    }
    let kinematics = kinematics::Model::of(robot);
    let mimics: Vec<Option<Mimic>> = present
        .iter()
        .map(|&(id, _)| mimic(robot, &kinematics, id, &number, diagnostics))
        .collect();
    let limits: Vec<Option<Limit>> = present
        .iter()
        .map(|&(id, _)| limit(&robot.joints()[id]))
        .collect();
    let home = home(&limits, &mimics);
    let mut joints = Vec::with_capacity(present.len());
    for (((&(id, nodes), mimic), limit), home) in present.iter().zip(mimics).zip(limits).zip(home) {
        let joint = &robot.joints()[id];
        let words = joint.gains().map(|gains| gains.to_words());
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            let message = format!(
                "the drive of joint \"{}\" is in the extras only: {words}",
                joint.name()
            );
            diagnostics.push(
                Diagnostic::new(&codes::DRIVE, joint.place.clone(), message)
                    .help("set them in the controller or simulator that drives the joint"),
            );
        }
        joints.push(joint_entry(joint, nodes, dofs(joint, limit, home), mimic));
    }
    let configurations = configurations(robot, &joints, &number);
    Model {
        name: robot.name().to_owned(),
        root_node: nodes.root,
        links: links(robot, nodes),
        joints,
        configurations,
        source: options.source.clone(),
        extras: ModelExtras {
            loops: loops(robot, diagnostics),
            planning: planning(robot, &number),
            custom: Custom::of(&robot.custom),
        },
    }
}

fn links(robot: &Robot, nodes: &Nodes) -> Vec<Link> {
    let entry = |(link, nodes): (&robot::Link, &LinkNodes)| Link {
        name: link.name().to_owned(),
        node: nodes.frame,
        visual_nodes: nodes.visuals.clone(),
        collision_nodes: nodes.collisions.clone(),
        extras: LinkExtras::of(link),
    };
    let links = robot.links().values().zip(nodes.links.values());
    links.map(entry).collect()
}

fn joint_entry(
    joint: &robot::Joint,
    nodes: &JointNodes,
    dofs: Vec<Dof>,
    mimic: Option<Mimic>,
) -> Joint {
    let dynamics = joint.dynamics.map(|d| Dynamics {
        damping: finite(d.damping),
        friction: finite(d.friction),
    });
    let safety = joint.safety.map(|s| Safety {
        soft_lower_limit: finite(s.soft_lower_limit),
        soft_upper_limit: finite(s.soft_upper_limit),
        k_position: finite(s.k_position),
        k_velocity: finite(s.k_velocity),
    });
    let calibration = joint.calibration.map(|c| Calibration {
        rising: finite(c.rising),
        falling: finite(c.falling),
    });
    Joint {
        name: joint.name().to_owned(),
        kind: joint_type(joint.kind()),
        parent_link: joint.parent().index(),
        child_link: joint.child().index(),
        origin_node: nodes.origin,
        dof_nodes: nodes.dofs.clone(),
        dofs,
        mimic,
        dynamics: dynamics.filter(|d| *d != Dynamics::default()),
        safety: safety.filter(|s| *s != Safety::default()),
        calibration: calibration.filter(|c| *c != Calibration::default()),
        extras: JointExtras::of(joint),
    }
}

/// Returns the degrees of freedom, in the order of their nodes. `limit` and `default` apply to each
/// of them, except for floating joints, which have neither.
fn dofs(joint: &robot::Joint, limit: Option<Limit>, default: f64) -> Vec<Dof> {
    let (limit, default) = if joint.kind() == JointKind::Floating {
        (None, 0.0)
    } else {
        (limit, default)
    };
    let along = match joint.kind() {
        JointKind::Planar => {
            let (u, v) = kinematics::planar_basis(&joint.axis);
            vec![u.into_inner(), v.into_inner()]
        }
        JointKind::Floating => [Vector3::x(), Vector3::y(), Vector3::z()].repeat(2),
        _ => vec![joint.axis.into_inner()],
    };
    let dof = |(&motion, axis): (&Motion, Vector3<f64>)| Dof {
        motion,
        axis: axes::vector(&axis),
        limit,
        default,
    };
    joint_type(joint.kind())
        .motions()
        .iter()
        .zip(along)
        .map(dof)
        .collect()
}

fn has_one_position(joint: &robot::Joint) -> bool {
    kinematics::position_count(joint.kind()) == 1
}

/// Returns the mimic relation of joint `id` to the joint at the end of its chain. Chains are
/// resolved here because the extension allows a single step only.
fn mimic(
    robot: &Robot,
    kinematics: &kinematics::Model,
    id: JointId,
    number: &Numbers,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Mimic> {
    let follower = &robot.joints()[id];
    let (leader, multiplier, offset) = kinematics.driver(id.index())?;
    let leader = robot.joints().handle(leader)?;
    let driver = &robot.joints()[leader];
    match number[leader] {
        Some(joint) if has_one_position(follower) && has_one_position(driver) => Some(Mimic {
            joint,
            multiplier,
            offset,
        }),
        _ => {
            let message = format!(
                "joint \"{}\" ({}) can't follow joint \"{}\" ({}) in the GLB",
                follower.name(),
                follower.kind().as_str(),
                driver.name(),
                driver.kind().as_str()
            );
            let help = "a mimic needs two joints of one degree of freedom, and a driver that closes no loop";
            diagnostics.push(
                Diagnostic::new(&codes::MIMIC_LEFT_OUT, follower.place.clone(), message).help(help),
            );
            None
        }
    }
}

/// Returns the home positions: nearest to zero within each joint's limits, and followers at the
/// position that their driver implies. They apply to each degree of freedom of a joint with limits.
fn home(limits: &[Option<Limit>], mimics: &[Option<Mimic>]) -> Vec<f64> {
    let nearest = |limit: &Option<Limit>| {
        let (lower, upper) = limit.map_or((None, None), |limit| (limit.lower, limit.upper));
        0_f64
            .max(lower.unwrap_or(0.0))
            .min(upper.unwrap_or(f64::INFINITY))
            + 0.0
    };
    let alone: Vec<f64> = limits.iter().map(nearest).collect();
    let follow = |(mimic, &alone_at): (&Option<Mimic>, &f64)| match mimic {
        Some(mimic) => {
            let driver = alone.get(mimic.joint).copied().unwrap_or(0.0);
            mimic.multiplier * driver + mimic.offset + 0.0
        }
        None => alone_at,
    };
    mimics.iter().zip(&alone).map(follow).collect()
}

/// Returns the robot's named poses, or `home` if it has none, with default positions for joints
/// that a pose does not set. Poses of several groups with the same name are qualified by their
/// group.
fn configurations(
    robot: &Robot,
    joints: &[Joint],
    number: &Numbers,
) -> Vec<(String, Configuration)> {
    let home: Vec<Vec<f64>> = joints
        .iter()
        .map(|joint| joint.dofs.iter().map(|dof| dof.default).collect())
        .collect();
    if robot.named_poses().is_empty() {
        let joint_positions = home.into_iter().map(Positions::of).collect();
        return vec![(
            "home".to_owned(),
            Configuration {
                joint_positions,
                extras: ConfigurationExtras::default(),
            },
        )];
    }
    let settable = joints
        .iter()
        .filter(|joint| !joint.dofs.is_empty() && joint.mimic.is_none())
        .count();
    let mut taken = HashSet::new();
    let mut count: HashMap<&str, usize> = HashMap::new();
    robot
        .named_poses()
        .iter()
        .for_each(|pose| *count.entry(&pose.name).or_default() += 1);
    let mut configurations = Vec::with_capacity(robot.named_poses().len());
    for pose in robot.named_poses() {
        let mut positions = home.clone();
        let set: BTreeMap<usize, &Vec<f64>> = pose
            .positions
            .iter()
            .filter_map(|(joint, at)| Some((number[*joint]?, at)))
            .collect();
        for (&joint, at) in &set {
            let of_joint = positions.get_mut(joint);
            for (position, at) in of_joint.into_iter().flatten().zip(*at) {
                *position = at + 0.0;
            }
        }
        // Drivers are never followers themselves, so a single pass suffices in any order.
        for (index, joint) in joints.iter().enumerate() {
            let Some(mimic) = &joint.mimic else { continue };
            let driver = positions.get(mimic.joint).and_then(|at| at.first());
            let position = mimic.multiplier * driver.unwrap_or(&0.0) + mimic.offset + 0.0;
            if let Some(follower) = positions.get_mut(index) {
                *follower = vec![position];
            }
        }
        let is_whole = set.len() == settable;
        let extras = ConfigurationExtras {
            group: pose.group.clone(),
            joints: (!is_whole).then(|| set.into_keys().collect()),
        };
        let joint_positions = positions.into_iter().map(Positions::of).collect();
        let name = free_name(
            pose,
            count
                .get(pose.name.as_str())
                .is_some_and(|&count| count > 1),
            &mut taken,
        );
        configurations.push((
            name,
            Configuration {
                joint_positions,
                extras,
            },
        ));
    }
    configurations
}

/// Returns a unique name for the pose. `is_shared`: several poses of the robot have its name.
fn free_name(pose: &NamedPose, is_shared: bool, taken: &mut HashSet<String>) -> String {
    let base = match &pose.group {
        Some(group) if is_shared => format!("{group}/{}", pose.name),
        _ => pose.name.clone(),
    };
    robot::names::unique_from(&base, " ", 2, |name| taken.insert(name.to_owned()))
}

impl Positions {
    fn of(positions: Vec<f64>) -> Self {
        match positions[..] {
            [one] => Self::One(one),
            _ => Self::Each(positions),
        }
    }
}

fn loops(robot: &Robot, diagnostics: &mut Vec<Diagnostic>) -> Vec<Loop> {
    let closing = robot.joints().values().filter(|joint| joint.closes_loop());
    let entry = |joint: &robot::Joint| {
        let message = format!(
            "joint \"{}\" closes a loop, which glTF can't hold: nothing moves by it",
            joint.name()
        );
        diagnostics.push(
            Diagnostic::new(&codes::LOOP_JOINT, joint.place.clone(), message)
                .help("nothing to do if a program of yours closes the loop; its joint is in the model's extras"),
        );
        Loop {
            name: joint.name().to_owned(),
            kind: joint.kind().as_str(),
            parent_link: joint.parent().index(),
            child_link: joint.child().index(),
            origin: Placement::of(&joint.origin),
            axis: axes::vector(&joint.axis),
            limit: joint
                .limit
                .as_ref()
                .map(Limit::of)
                .filter(|limit| *limit != Limit::default()),
        }
    };
    closing.map(entry).collect()
}

/// Returns the extension's type of a joint.
fn joint_type(kind: JointKind) -> JointType {
    match kind {
        JointKind::Fixed => JointType::Fixed,
        JointKind::Revolute => JointType::Revolute,
        JointKind::Continuous => JointType::Continuous,
        JointKind::Prismatic => JointType::Prismatic,
        JointKind::Planar => JointType::Planar,
        JointKind::Floating => JointType::Floating,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_of_freedom_are_positions() {
        for kind in JointKind::ALL {
            let written = joint_type(kind);
            assert_eq!(written.as_str(), kind.as_str());
            assert_eq!(written.motions().len(), kinematics::position_count(kind));
        }
    }
}
