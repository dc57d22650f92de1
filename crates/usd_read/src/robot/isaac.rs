//! Robot-level data of the Isaac robot schema: the order of links and joints, nested robots, and
//! named poses (prims of the type IsaacNamedPose). Overridden names of links, joints and sites are
//! read with the links and joints.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::ByPrim;
use super::scene::Scene;
use super::shapes::number_array;
use crate::codes;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{About, JointId, JointKind, NamedPose, Robot, Site, SiteAxis};
use urdf_usd_stage::{Prim, PrimId, Value, text, texts};
use urdf_usd_usd_author::isaac_schema as names;

/// Tolerance, in radians or metres, within which positions are equal in single precision.
const SAME: f64 = 1e-6;

/// Returns the position of each prim in the lists of the stage's robots: their links and joints,
/// with those of nested robots in place.
pub(super) fn order(scene: &Scene<'_>) -> HashMap<PrimId, usize> {
    let mut places = HashMap::new();
    for list in [names::ROBOT_LINKS, names::ROBOT_JOINTS] {
        let named = |robot: PrimId| {
            let targets = scene.stage[robot].targets(list).iter();
            targets
                .filter_map(|path| scene.stage.at(path))
                .collect::<VecDeque<_>>()
        };
        // Each robot is visited once: robots may reference each other in a cycle.
        let mut known = HashSet::new();
        for robot in scene
            .prims()
            .filter(|(_, prim)| prim.has(names::ROBOT_API))
            .map(|(id, _)| id)
        {
            let mut stack = if known.insert(robot) {
                vec![named(robot)]
            } else {
                Vec::new()
            };
            // Depth first with an explicit stack: nested robots expand in place.
            while let Some(rest) = stack.last_mut() {
                match rest.pop_front() {
                    None => {
                        stack.pop();
                    }
                    Some(id) if scene.stage[id].has(names::ROBOT_API) && known.insert(id) => {
                        stack.push(named(id))
                    }
                    Some(id) => {
                        let place = places.len();
                        places.entry(id).or_insert(place);
                    }
                }
            }
        }
    }
    places
}

/// Sorts the items that have a position; the others keep their place.
pub(super) fn arranged<T: Copy>(
    items: impl Iterator<Item = T>,
    place: impl Fn(T) -> Option<usize>,
) -> Vec<T> {
    let mut all: Vec<T> = items.collect();
    let has_place = |item: &T| place(*item).is_some();
    let mut listed: Vec<T> = all.iter().copied().filter(has_place).collect();
    listed.sort_by_key(|&item| place(item));
    let slots = all.iter_mut().filter(|item| has_place(item));
    for (slot, item) in slots.zip(listed) {
        *slot = item;
    }
    all
}

/// Returns the prims that hold the members of the robots in `root`, and of the robots they
/// reference: besides `root`, robots elsewhere in the stage.
pub(super) fn roots(scene: &Scene<'_>, root: PrimId) -> Vec<PrimId> {
    let stage = scene.stage;
    let (mut roots, mut next) = (vec![root], 0);
    while let Some(&root) = roots.get(next) {
        next += 1;
        let robots = stage
            .subtree(root)
            .filter(|id| scene.is_part[*id] && stage[*id].has(names::ROBOT_API));
        let named = robots.flat_map(|robot| {
            [names::ROBOT_LINKS, names::ROBOT_JOINTS].map(|list| stage[robot].targets(list))
        });
        for id in named
            .flatten()
            .filter_map(|path| stage.at(path))
            .collect::<Vec<_>>()
        {
            let is_within =
                |root: &PrimId| id == *root || stage.ancestors(id).any(|above| above == *root);
            if scene.is_part[id] && stage[id].has(names::ROBOT_API) && !roots.iter().any(is_within)
            {
                roots.push(id);
            }
        }
    }
    roots
}

/// Reads the named poses: those listed by the robot's prim in its order, then others. A pose that
/// the robot already has from other attributes of the asset gets the positions given here. `of`:
/// the prim whose poses are read, if the stage has several robots.
pub(super) fn read(scene: &Scene<'_>, robot: &mut Robot, by_prim: &ByPrim, of: Option<PrimId>) {
    let stage = scene.stage;
    let mut seen = HashSet::new();
    let listed = of
        .or(stage.default_prim)
        .into_iter()
        .flat_map(|root| stage[root].targets(names::ROBOT_POSES));
    let listed = listed
        .filter_map(|path| stage.at(path))
        .filter(|id| scene.is_part[*id]);
    // An unlisted pose belongs to the robot whose prim contains it.
    let owner = |id: PrimId| {
        stage
            .ancestors(id)
            .find(|above| stage[*above].has(names::ROBOT_API))
    };
    let is_own = |id: &PrimId| of.is_none_or(|of| owner(*id).is_none_or(|owner| owner == of));
    let others = scene.prims().map(|(id, _)| id).filter(is_own);
    let poses: Vec<PrimId> = listed.chain(others).filter(|id| seen.insert(*id)).collect();
    let poses: Vec<PrimId> = poses
        .into_iter()
        .filter(|id| stage[*id].type_name == names::NAMED_POSE)
        .collect();
    if poses.is_empty() {
        return;
    }
    let mut named = robot.named_poses().to_vec();
    let mut met: HashSet<(String, Option<String>)> = HashSet::new();
    for id in poses {
        let prim = &stage[id];
        if is_pose_alias(prim) {
            continue;
        }
        let link = |name: &str| {
            let path = prim.targets(name).first()?;
            by_prim.links.get(&stage.at(path)?).copied()
        };
        let name = super::display_name(scene, id).unwrap_or_else(|| prim.name().to_owned());
        let positions = positions(scene, id, robot, by_prim);
        let group = group(prim);
        // The scope of Isaac Sim may override the other, which it inherits: that is what it edits.
        let is_new = met.insert((name.clone(), group.clone()));
        if positions.is_empty() || !is_new && !is_in_sim_scope(prim) {
            continue;
        }
        let chain = link(names::POSE_START).zip(link(names::POSE_END));
        let pose = NamedPose {
            name,
            group,
            chain,
            fixed: fixed(scene, id, &positions, by_prim),
            positions,
            place: scene.place(id, None),
        };
        match named
            .iter_mut()
            .find(|known| (&known.name, &known.group) == (&pose.name, &pose.group))
        {
            None => named.push(pose),
            Some(known) if !is_new && is_same(known, &pose) => {}
            // The pose read before has the same positions in double precision.
            Some(known) if is_same(known, &pose) => {
                (known.chain, known.fixed, known.place) = (pose.chain, pose.fixed, pose.place)
            }
            Some(known) => *known = pose,
        }
    }
    let place = stage.default_prim;
    if let (Err(error), Some(root)) = (robot.set_named_poses(named), place) {
        let message = format!("the named poses are left out: {error}");
        let help = "set joints of the robot that have one position and follow no other";
        scene.report(&codes::POSE, root, None, message, help);
    }
}

/// Returns whether a prim is in the scope in which Isaac Sim stores poses.
fn is_in_sim_scope(prim: &Prim) -> bool {
    let scope = prim.path.rsplit('/').nth(1);
    scope == Some(names::SIM_NAMED_POSES)
}

/// Returns whether a pose is only inherited by the scope in which Isaac Sim looks for it, so that it
/// is another prim's.
pub fn is_pose_alias(prim: &Prim) -> bool {
    let own = format!("/{}/{}", names::SIM_NAMED_POSES, prim.name());
    is_in_sim_scope(prim) && !prim.sites.iter().any(|site| site.path.ends_with(&own))
}

/// Returns the joints of a pose that inverse kinematics must not move.
fn fixed(
    scene: &Scene<'_>,
    id: PrimId,
    positions: &[(JointId, Vec<f64>)],
    by_prim: &ByPrim,
) -> Vec<JointId> {
    let prim = &scene.stage[id];
    let Some(Value::BoolVec(flags)) = prim.value(names::POSE_FIXED) else {
        return Vec::new();
    };
    let joints = prim.targets(names::POSE_JOINTS).iter().zip(flags);
    let joints = joints.filter(|(_, is_fixed)| **is_fixed);
    let held: HashSet<JointId> = joints
        .filter_map(|(path, _)| by_prim.joints.get(&scene.stage.at(path)?).copied())
        .collect();
    let set = positions.iter().map(|(joint, _)| *joint);
    set.filter(|joint| held.contains(joint)).collect()
}

/// Reads the statements of the robot's prim about it, and reports those of nested robots and of prims
/// that the model does not have.
///
/// `of`: the robot's prim, if the stage has several.
pub(super) fn about(scene: &Scene<'_>, of: Option<PrimId>) -> About {
    let is_robot = |(_, prim): &(PrimId, &Prim)| prim.has(names::ROBOT_API);
    let robots = || scene.prims().filter(is_robot).map(|(id, _)| id);
    let root = of.or_else(|| robots().next());
    let help =
        "nothing need be done if no program needs it; else author it over the converted asset";
    for nested in robots().filter(|id| Some(*id) != root) {
        let path = &scene.stage[nested].path;
        let message = format!(
            "the robot {path} becomes a part of the other: its lists, type and description are left out"
        );
        scene.report(&codes::ISAAC_LEFT_OUT, nested, None, message, help);
    }
    for (id, prim) in scene.prims() {
        let what = match prim.type_name.as_str() {
            names::SURFACE_GRIPPER => names::SURFACE_GRIPPER,
            _ if prim.has(names::ATTACHMENT_POINT_API) => names::ATTACHMENT_POINT_API,
            _ => continue,
        };
        let message = format!("{what} of {} is left out", prim.path);
        scene.report(&codes::ISAAC_LEFT_OUT, id, None, message, help);
    }
    for (id, prim) in scene.prims() {
        let order = prim.value(names::DOF_ORDER).and_then(texts);
        let place = |token: &&str| names::DOF_TOKENS.iter().position(|known| known == token);
        if order.is_some_and(|order| !order.iter().is_sorted_by_key(place)) {
            let message = format!(
                "the order of the degrees of freedom of {} is left out",
                prim.path
            );
            let help = "programs that index them use translations before rotations, each in the order X, Y, Z";
            scene.report(
                &codes::ISAAC_LEFT_OUT,
                id,
                Some(names::DOF_ORDER),
                message,
                help,
            );
        }
    }
    let Some(root) = root.filter(|root| scene.stage[*root].has(names::ROBOT_API)) else {
        return About::default();
    };
    let said = |name: &str| scene.stage[root].text(name).unwrap_or_default().to_owned();
    let changelog = scene.stage[root].value(names::CHANGELOG).and_then(texts);
    let changelog = changelog.unwrap_or_default();
    About {
        description: said(names::DESCRIPTION),
        license: said(names::LICENSE),
        source: said(names::SOURCE),
        version: said(names::VERSION),
        changelog: changelog.into_iter().map(str::to_owned).collect(),
        category: said(names::ROBOT_TYPE),
        namespace: said(names::NAMESPACE),
    }
}

/// Returns the site that a prim is, by the current or the former schema.
pub(super) fn site(prim: &Prim) -> Option<Site> {
    if !prim.has(names::SITE_API) && !prim.has(names::REFERENCE_POINT_API) {
        return None;
    }
    Some(Site {
        description: prim
            .text(names::SITE_DESCRIPTION)
            .unwrap_or_default()
            .to_owned(),
        forward: match prim.text(names::FORWARD_AXIS) {
            Some("X") => Some(SiteAxis::X),
            Some("Y") => Some(SiteAxis::Y),
            Some("Z") => Some(SiteAxis::Z),
            _ => None,
        },
    })
}

/// Returns whether two poses set the same joints to the same positions.
fn is_same(a: &NamedPose, b: &NamedPose) -> bool {
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME * a.abs().max(1.0);
    a.positions.len() == b.positions.len()
        && a.positions
            .iter()
            .zip(&b.positions)
            .all(|((a, at), (b, to))| a == b && at.iter().zip(to).all(is_near))
}

/// Returns the group that poses authored by this program name.
fn group(prim: &Prim) -> Option<String> {
    match prim.metadata.get("customData")? {
        Value::Dictionary(data) => data
            .get("group")
            .and_then(text)
            .filter(|group| !group.is_empty())
            .map(str::to_owned),
        _ => None,
    }
}

/// Returns the positions that a pose sets, in radians or metres. Reports and omits values that are
/// not a position of a joint of the robot.
fn positions(
    scene: &Scene<'_>,
    id: PrimId,
    robot: &Robot,
    by_prim: &ByPrim,
) -> Vec<(JointId, Vec<f64>)> {
    let prim = &scene.stage[id];
    let (joints, values) = (
        prim.targets(names::POSE_JOINTS),
        number_array(prim, names::POSE_VALUES).unwrap_or_default(),
    );
    let report = |message: String, help: &str| {
        scene.report(&codes::POSE, id, Some(names::POSE_VALUES), message, help)
    };
    if joints.len() != values.len() {
        let message = format!(
            "the pose has {} joints and {} values",
            joints.len(),
            values.len()
        );
        report(message, "give each joint of the pose one value");
    }
    let mut positions = BTreeMap::new();
    for (path, value) in joints.iter().zip(values) {
        let joint = scene
            .stage
            .at(path)
            .and_then(|prim| by_prim.joints.get(&prim));
        let Some(&id) = joint else {
            report(
                format!("the pose sets <{path}>, which is no joint of the robot"),
                "name a joint of the robot",
            );
            continue;
        };
        let joint = &robot.joints()[id];
        // Mimic and multi-DOF joints keep their position.
        if joint.mimic().is_some() || position_count(joint.kind()) != 1 || !value.is_finite() {
            continue;
        }
        let value = if joint.kind() == JointKind::Prismatic {
            value * scene.metre
        } else {
            value.to_radians()
        };
        positions.insert(id, vec![value]);
    }
    positions.into_iter().collect()
}
