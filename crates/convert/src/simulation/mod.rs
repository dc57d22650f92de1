//! Completes a robot for simulations: drives that hold its pose, a start inside the limits, and pairs of
//! links that must not push each other apart.
//!
//! `docs/simulate.md` documents the rules. This module must not know formats or engines.

mod actuation;
mod contacts;
mod convex;
mod support;

pub use actuation::{DriveChoice, Rule};

use std::collections::BTreeMap;

use urdf_usd_diagnostic::{Diagnostic, did_you_mean, nearest};
use urdf_usd_kinematics::Mechanism;
use urdf_usd_resolve::Files;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{JointId, NamedPose, Robot, STATE, SelfCollision, Simulation};

use super::context::Stop;
use super::xrdf::DEFAULT_POSES;
use super::{Options, REPORT_IT, codes};

/// Maximum number of pairs of links that a message names.
const MAX_NAMED: usize = 6;
/// Name of the start that follows from limits.
const HOME: &str = "home";
/// Name of the start that the initial positions of drives give.
const INITIAL: &str = "initial_positions";

/// Adds the [`Simulation`] to a robot. Returns findings about the options and the pairs of links that touch;
/// [`drive_findings`] has those about drives.
///
/// # Errors
/// If the file of drives can't be read, an option names a pose that the robot does not have, or a mesh is
/// no longer in the cache.
pub(super) fn complete(
    robot: &mut Robot,
    options: &Options,
    files: &Files,
) -> Result<Vec<Diagnostic>, Stop> {
    let mut found = Vec::new();
    let mechanism = Mechanism::of(robot);
    let home = home(robot, &mechanism, options.pose.as_deref())?;
    // The other outputs have no drives for simulations, but a file of drives is checked in any case.
    let actuation = match crate::writes_drives(options) || options.rule.file.is_some() {
        true => actuation::choose(
            robot,
            &mechanism,
            home.as_ref(),
            options.base,
            &options.rule,
            files,
            &mut found,
        )?,
        false => BTreeMap::new(),
    };
    // A source whose links do not collide keeps that, unless the user asks for all collisions.
    let self_collision = match (options.self_collision, robot.simulation().self_collision) {
        (SelfCollision::NotTouching, SelfCollision::None) => SelfCollision::None,
        (wanted, _) => wanted,
    };
    let touching = match self_collision {
        SelfCollision::NotTouching => contacts::find(robot, &mechanism, home.as_ref())?,
        SelfCollision::All | SelfCollision::None => contacts::Touching::default(),
    };
    found.extend(touching_findings(robot, &touching));
    let simulation = Simulation {
        self_collision,
        touching: touching.pairs,
        actuation,
        home,
    };
    if let Err(error) = robot.set_simulation(simulation) {
        found.push(
            Diagnostic::new(&codes::INTERNAL, robot.place.clone(), error.to_string())
                .help(REPORT_IT),
        );
    }
    Ok(found)
}

/// Returns findings about the drives of a robot. Only outputs that have drives need them.
pub(super) fn drive_findings(robot: &Robot, options: &Options) -> Vec<Diagnostic> {
    actuation::findings(robot, &options.rule)
}

/// Returns the start: the pose that the user names, a conventional one of the source, or else the initial
/// positions of drives and the positions within the limits that are nearest to zero. `None` if that is zero
/// for all joints.
fn home(
    robot: &Robot,
    mechanism: &Mechanism,
    wanted: Option<&str>,
) -> Result<Option<NamedPose>, Diagnostic> {
    let poses = robot.named_poses();
    let has = |name: &str| poses.iter().any(|pose| pose.name == name);
    if let Some(name) = wanted.filter(|name| !has(name)) {
        let message = format!("the robot has no pose \"{name}\" to start from");
        let near = nearest(name, poses.iter().map(|pose| pose.name.as_str()));
        let help = did_you_mean(near).unwrap_or_else(|| crate::xrdf::NO_POSE_HELP.to_owned());
        return Err(Diagnostic::new(&codes::NO_POSE, robot.place.clone(), message).help(help));
    }
    let conventional = || {
        std::iter::once(STATE)
            .chain(DEFAULT_POSES)
            .find(|name| has(name))
    };
    let name = wanted.or_else(conventional);
    let joints = robot.joints().iter();
    let initial =
        joints.filter_map(|(id, joint)| Some((id, vec![joint.drive()?.initial_position?])));
    let initial: Vec<_> = initial.collect();
    let mut q = mechanism.rest();
    set(mechanism, &mut q, initial.iter());
    // A pose of that name for each group: arm and gripper, for example.
    let named = poses.iter().filter(|pose| Some(pose.name.as_str()) == name);
    set(mechanism, &mut q, named.flat_map(|pose| &pose.positions));
    let positions = robot.joints().iter().filter_map(|(id, joint)| {
        let first = mechanism.first(id)?;
        let at = q.get(first..first + position_count(joint.kind()))?;
        at.iter().any(|at| *at != 0.0).then(|| (id, at.to_vec()))
    });
    let positions: Vec<(JointId, Vec<f64>)> = positions.collect();
    // Followers with an offset are not at zero, even if all others are.
    let has_offset = robot
        .joints()
        .values()
        .any(|joint| joint.mimic().is_some_and(|mimic| mimic.offset != 0.0));
    let name = name.unwrap_or(if initial.is_empty() { HOME } else { INITIAL });
    Ok((!positions.is_empty() || has_offset).then(|| NamedPose {
        name: name.to_owned(),
        group: None,
        chain: None,
        fixed: Vec::new(),
        positions,
        place: robot.place.clone(),
    }))
}

/// Sets the positions of some joints in the coordinates `q`.
fn set<'a>(
    mechanism: &Mechanism,
    q: &mut [f64],
    positions: impl Iterator<Item = &'a (JointId, Vec<f64>)>,
) {
    for (joint, at) in positions {
        let first = mechanism.first(*joint);
        let to = first.and_then(|first| q.get_mut(first..first + at.len()));
        to.into_iter()
            .flatten()
            .zip(at)
            .for_each(|(to, at)| *to = *at);
    }
}

fn touching_findings(robot: &Robot, touching: &contacts::Touching) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if !touching.pairs.is_empty() {
        let name = |link| robot.links()[link].name();
        let named = touching.pairs.iter().take(MAX_NAMED);
        let mut names: Vec<String> = named
            .map(|(a, b)| format!("{} and {}", name(a), name(b)))
            .collect();
        let more = touching.pairs.len() - names.len();
        names.extend((more > 0).then(|| format!("{more} more")));
        let message = format!(
            "pairs of links that touch at the start do not collide in simulations: {}",
            names.join("; ")
        );
        let help = "let them collide with --self-collision all; write an SRDF to choose the pairs";
        found.push(Diagnostic::new(&codes::TOUCHING, robot.place.clone(), message).help(help));
    }
    if touching.is_partial {
        let message = "too many colliders are close to each other: some pairs of links that touch at the start may collide in simulations";
        let help = "use fewer or simpler colliders, or list the pairs in an SRDF (--srdf)";
        found.push(
            Diagnostic::new(&codes::TOUCHING_UNTESTED, robot.place.clone(), message).help(help),
        );
    }
    found
}
