//! Data for motion planners, as this program authors it (attributes `planning:*`).

use std::collections::{HashMap, HashSet};

use nalgebra::Point3;

use super::ByPrim;
use super::scene::Scene;
use super::shapes::number_array;
use crate::codes;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{
    Coordinate, DEFAULT_POSE, JointId, LinkId, NamedPose, Planning, PlanningCollision, Robot,
    Sphere, SphereGroup,
};
use urdf_usd_stage::{Prim, PrimId, numbers, texts};
use urdf_usd_usd_author::layout::{COLLISION, DEFAULT_POSE_PROPERTIES, SELF_COLLISION, SPHERES};

/// Reads the planning data. `world`: the link that represents the world. Omits entries that refer
/// to prims outside the robot.
pub(super) fn read(scene: &Scene<'_>, robot: &mut Robot, by_prim: &ByPrim, world: Option<LinkId>) {
    let stage = scene.stage;
    let Some(root) = stage.default_prim else {
        return;
    };
    let mut link_of = by_prim.links.clone();
    if let Some(world) = world {
        link_of.entry(root).or_insert(world);
    }
    let link = |path: &String| stage.at(path).and_then(|prim| link_of.get(&prim)).copied();
    let joint = |path: &String| {
        let id = *by_prim.joints.get(&stage.at(path)?)?;
        let joint = &robot.joints()[id];
        (position_count(joint.kind()) == 1 && joint.mimic().is_none()).then_some(id)
    };
    let prim = &stage[root];

    let [accelerations, jerks] = [
        "planning:cspace:accelerationLimits",
        "planning:cspace:jerkLimits",
    ]
    .map(|name| number_array(prim, name).unwrap_or_default());
    // Limits are indexed like the list of joints.
    let limit = |limits: &[f64], index: usize| {
        let limit = limits.get(index).copied();
        limit.filter(|limit| *limit > 0.0 && limit.is_finite())
    };
    let mut seen = HashSet::new();
    let targets = prim.targets("planning:cspace:joints").iter().enumerate();
    let coordinates = targets.filter_map(|(index, path)| {
        let joint = joint(path).filter(|joint| seen.insert(*joint))?;
        Some(Coordinate {
            joint,
            acceleration: limit(&accelerations, index),
            jerk: limit(&jerks, index),
        })
    });
    let coordinates = coordinates.collect();
    let mut seen = HashSet::new();
    let tool_frames = prim
        .targets("planning:toolFrames")
        .iter()
        .filter_map(link)
        .filter(|frame| seen.insert(*frame))
        .collect();
    let groups = groups(scene, prim, &link_of);
    let collision = |name: &str| collision(scene, prim, name, &groups, &link_of);
    let (collision, self_collision) = (collision(COLLISION), collision(SELF_COLLISION));
    let ignored = format!("{SELF_COLLISION}:ignored");
    let pairs = link_of.iter().flat_map(|(prim, first)| {
        let others = stage[*prim].targets(&ignored).iter().filter_map(link);
        others.map(move |other| (*first, other))
    });
    let ignored = pairs.collect();

    let [joints, positions] = DEFAULT_POSE_PROPERTIES;
    let values = number_array(prim, positions).unwrap_or_default();
    let set = prim.targets(joints).iter().zip(values);
    let set = set
        .filter_map(|(path, at)| Some((joint(path)?, at)))
        .filter(|(_, at)| at.is_finite());
    let set: std::collections::BTreeMap<JointId, f64> = set.collect();
    let pose = (!set.is_empty()).then(|| NamedPose {
        name: DEFAULT_POSE.to_owned(),
        group: None,
        chain: None,
        positions: set
            .into_iter()
            .map(|(joint, at)| (joint, vec![at]))
            .collect(),
        fixed: Vec::new(),
        place: scene.place(root, Some(positions)),
    });
    let planning = Planning {
        coordinates,
        tool_frames,
        groups,
        collision,
        self_collision,
        ignored,
    };
    let outcome = pose.map_or(Ok(()), |pose| robot.add_named_pose(pose));
    if let Err(error) = outcome.and_then(|()| robot.set_planning(planning)) {
        let message = format!("what the asset says for motion planners is left out: {error}");
        let help = "name joints of the robot that have one position and follow no other";
        scene.report(&codes::POSE, root, None, message, help);
    }
}

/// Returns the groups of spheres, in the robot's order; the spheres of each link are in stage
/// order.
fn groups(scene: &Scene<'_>, root: &Prim, link_of: &HashMap<PrimId, LinkId>) -> Vec<SphereGroup> {
    let names = root
        .value("planning:sphereGroups")
        .and_then(texts)
        .unwrap_or_default();
    let mut known = HashSet::new();
    let names = names
        .into_iter()
        .filter(|name| !name.is_empty() && known.insert(*name));
    let mut groups: Vec<SphereGroup> = names
        .map(|name| SphereGroup {
            name: name.to_owned(),
            spheres: Vec::new(),
        })
        .collect();
    let number: HashMap<String, usize> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| (group.name.clone(), index))
        .collect();
    for (id, scope) in scene.prims() {
        // A group is a child of the scope of spheres of a link.
        let above = scope
            .parent
            .filter(|above| scene.stage[*above].name() == SPHERES);
        let Some(link) = above.and_then(|above| link_of.get(&scene.stage[above].parent?)) else {
            continue;
        };
        let name = super::display_name(scene, id).unwrap_or_else(|| scope.name().to_owned());
        let Some(group) = number.get(&name).and_then(|index| groups.get_mut(*index)) else {
            continue;
        };
        let spheres: Vec<Sphere> = scope
            .children
            .iter()
            .filter_map(|child| sphere(scene, &scene.stage[*child]))
            .collect();
        if !spheres.is_empty() {
            group.spheres.push((*link, spheres));
        }
    }
    groups
}

/// Returns a sphere. Its own translation is its centre in the link: only scopes are between them.
fn sphere(scene: &Scene<'_>, prim: &Prim) -> Option<Sphere> {
    if prim.type_name != "Sphere" {
        return None;
    }
    let radius = prim
        .number("planning:radius")
        .or_else(|| prim.number("radius"))?
        * scene.metre;
    let center = prim
        .value("xformOp:translate")
        .and_then(numbers::<3>)
        .unwrap_or_default()
        .map(|at| at * scene.metre);
    let is_sound = radius.is_finite() && center.iter().all(|at| at.is_finite());
    is_sound.then(|| Sphere {
        center: Point3::from(center),
        radius,
    })
}

/// Reads the data of a kind of collision.
fn collision(
    scene: &Scene<'_>,
    root: &Prim,
    name: &str,
    groups: &[SphereGroup],
    link_of: &HashMap<PrimId, LinkId>,
) -> Option<PlanningCollision> {
    let group = root.text(&format!("{name}:group"))?;
    let group = groups.iter().position(|known| known.name == group)?;
    let attribute = format!("{name}:buffer");
    let mut buffers: Vec<(LinkId, f64)> = link_of
        .iter()
        .filter_map(|(prim, link)| {
            Some((*link, scene.stage[*prim].number(&attribute)? * scene.metre))
        })
        .filter(|(_, buffer)| buffer.is_finite())
        .collect();
    // A hash map has no order.
    buffers.sort_by_key(|(link, _)| *link);
    Some(PlanningCollision { group, buffers })
}
