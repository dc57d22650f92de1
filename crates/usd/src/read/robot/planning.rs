//! What motion planners need to know of the robot, as this program keeps it ([`crate::planning`]).

use std::collections::{BTreeSet, HashMap, HashSet};

use nalgebra::Point3;

use super::scene::Scene;
use super::shapes::number_array;
use crate::plan::SPHERES;
use crate::planning::{COLLISION, DEFAULT_POSE_PROPERTIES, SELF_COLLISION};
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{
    Coordinate, DEFAULT_POSE, JointId, LinkId, NamedPose, Planning, PlanningCollision, Robot,
    Sphere, SphereGroup,
};
use urdf_usd_stage::{Prim, PrimId, numbers, texts};

/// Reads what there is. `links` and `joints`: the prims of the robot's links and joints; `world`:
/// the link that stands for the world. What refers to nothing in the robot is left out.
pub(super) fn read(
    scene: &Scene<'_>,
    robot: &mut Robot,
    (links, joints): (&[Option<PrimId>], &[Option<PrimId>]),
    world: Option<LinkId>,
) {
    let stage = scene.stage;
    let Some(root) = stage.default_prim else {
        return;
    };
    let mut link_of: HashMap<PrimId, LinkId> = links
        .iter()
        .enumerate()
        .filter_map(|(index, prim)| Some(((*prim)?, LinkId(index))))
        .collect();
    if let Some(world) = world {
        link_of.entry(root).or_insert(world);
    }
    let joint_of: HashMap<PrimId, JointId> = joints
        .iter()
        .enumerate()
        .filter_map(|(index, prim)| Some(((*prim)?, JointId(index))))
        .collect();
    let link = |path: &String| stage.at(path).and_then(|prim| link_of.get(&prim)).copied();
    let is_own = |joint: &JointId| {
        robot
            .joints
            .get(joint.0)
            .is_some_and(|joint| position_count(joint.kind) == 1 && joint.mimic.is_none())
    };
    // By its place in the list, so that numbers in other lists find it.
    let joint = |path: &String| {
        stage
            .at(path)
            .and_then(|prim| joint_of.get(&prim))
            .copied()
            .filter(is_own)
    };
    let prim = &stage[root];

    let limits = [
        "planning:cspace:accelerationLimits",
        "planning:cspace:jerkLimits",
    ]
    .map(|name| number_array(prim, name));
    let limit = |which: usize, index: usize| {
        let limit = limits[which]
            .as_ref()
            .and_then(|limits| limits.get(index))
            .copied();
        limit.filter(|limit| *limit > 0.0 && limit.is_finite())
    };
    let mut seen = HashSet::new();
    let targets = prim.targets("planning:cspace:joints").iter().enumerate();
    let coordinates = targets.filter_map(|(index, path)| {
        let joint = joint(path).filter(|joint| seen.insert(*joint))?;
        Some(Coordinate {
            joint,
            acceleration: limit(0, index),
            jerk: limit(1, index),
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
        others
            .filter(move |other| other != first)
            .map(move |other| (*first.min(&other), *first.max(&other)))
    });
    let ignored = pairs.collect::<BTreeSet<_>>().into_iter().collect();

    let positions = number_array(prim, DEFAULT_POSE_PROPERTIES[1]).unwrap_or_default();
    let set = prim
        .targets(DEFAULT_POSE_PROPERTIES[0])
        .iter()
        .zip(positions);
    let set = set
        .filter_map(|(path, at)| Some((joint(path)?, at)))
        .filter(|(_, at)| at.is_finite());
    let set: std::collections::BTreeMap<JointId, f64> = set.collect();
    if !set.is_empty() {
        let place = scene.place(root, Some(DEFAULT_POSE_PROPERTIES[1]));
        let positions = set
            .into_iter()
            .map(|(joint, at)| (joint, vec![at]))
            .collect();
        robot.named_poses.push(NamedPose {
            name: DEFAULT_POSE.to_owned(),
            group: None,
            chain: None,
            positions,
            place,
        });
    }
    robot.planning = Planning {
        coordinates,
        tool_frames,
        groups,
        collision,
        self_collision,
        ignored,
    };
}

/// The groups of spheres, in the order that the robot says; those of each link in the order of the
/// stage.
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
        // A group in the scope of spheres of a link.
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

/// A sphere. Its own translation is its place in the link: only scopes are between them.
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

/// A kind of collision.
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
    buffers.sort_by_key(|(link, _)| *link);
    Some(PlanningCollision { group, buffers })
}
