//! The named poses of the Isaac robot schema: prims of the type IsaacNamedPose. What it calls links, joints and sites is read where links
//! and joints are.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::scene::Scene;
use super::shapes::number_array;
use crate::codes;
use crate::isaac_schema as names;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{JointId, JointKind, LinkId, NamedPose, Robot};
use urdf_usd_stage::{Prim, PrimId, Value, text};

/// Reads the named poses: those that the robot's prim lists in its order, then others. A pose that the robot has already is left out.
/// `links` and `joints`: the prims of the robot's links and joints.
pub(super) fn read(scene: &Scene<'_>, robot: &mut Robot, (links, joints): (&[Option<PrimId>], &[Option<PrimId>])) {
    let stage = scene.stage;
    let mut seen = HashSet::new();
    let listed = stage.default_prim.into_iter().flat_map(|root| stage[root].targets(names::ROBOT_POSES));
    let listed = listed.filter_map(|path| stage.at(path));
    let poses: Vec<PrimId> = listed.chain(scene.prims().map(|(id, _)| id)).filter(|id| seen.insert(*id)).collect();
    let poses: Vec<PrimId> = poses.into_iter().filter(|id| stage[*id].type_name == names::NAMED_POSE).collect();
    if poses.is_empty() {
        return;
    }
    let ids = |prims: &[Option<PrimId>]| -> HashMap<PrimId, usize> {
        prims.iter().enumerate().filter_map(|(index, prim)| Some(((*prim)?, index))).collect()
    };
    let (link_of, joint_of) = (ids(links), ids(joints));
    let mut known: HashSet<(String, Option<String>)> =
        robot.named_poses.iter().map(|pose| (pose.name.clone(), pose.group.clone())).collect();
    for id in poses {
        let prim = &stage[id];
        let link = |name: &str| {
            let path = prim.targets(name).first()?;
            stage.at(path).and_then(|prim| link_of.get(&prim)).copied().map(LinkId)
        };
        let name = super::display_name(scene, id).unwrap_or_else(|| prim.name().to_owned());
        let positions = positions(scene, id, robot, &joint_of);
        let group = group(prim);
        if positions.is_empty() || !known.insert((name.clone(), group.clone())) {
            continue;
        }
        let chain = link(names::POSE_START).zip(link(names::POSE_END));
        robot.named_poses.push(NamedPose { name, group, chain, positions, place: scene.place(id, None) });
    }
}

/// The group that this program's own poses name.
fn group(prim: &Prim) -> Option<String> {
    match prim.metadata.get("customData")? {
        Value::Dictionary(data) => data.get("group").and_then(text).map(str::to_owned),
        _ => None,
    }
}

/// The positions that a pose sets, in radians or metres. What is no position of a joint of the robot is reported and left out.
fn positions(scene: &Scene<'_>, id: PrimId, robot: &Robot, joint_of: &HashMap<PrimId, usize>) -> Vec<(JointId, Vec<f64>)> {
    let prim = &scene.stage[id];
    let (joints, values) = (prim.targets(names::POSE_JOINTS), number_array(prim, names::POSE_VALUES).unwrap_or_default());
    let report = |message: String, help: &str| scene.report(&codes::READ_POSE, (id, Some(names::POSE_VALUES)), message, help);
    if joints.len() != values.len() {
        let message = format!("the pose has {} joints and {} values", joints.len(), values.len());
        report(message, "give each joint of the pose one value");
    }
    let mut positions = BTreeMap::new();
    for (path, value) in joints.iter().zip(values) {
        let joint = scene.stage.at(path).and_then(|joint| joint_of.get(&joint)).copied();
        let Some((index, joint)) = joint.and_then(|index| Some((index, robot.joints.get(index)?))) else {
            report(format!("the pose sets <{path}>, which is no joint of the robot"), "name a joint of the robot");
            continue;
        };
        // What follows another, or has no one position, stands where it stands.
        if joint.mimic.is_some() || position_count(joint.kind) != 1 || !value.is_finite() {
            continue;
        }
        let value = if joint.kind == JointKind::Prismatic { value * scene.metre } else { value.to_radians() };
        positions.insert(JointId(index), vec![value]);
    }
    positions.into_iter().collect()
}
