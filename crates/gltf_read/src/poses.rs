//! Reads configurations as named poses.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::findings::Findings;
use super::joints::Draft;
use urdf_usd_gltf_extension::{Configuration, Json, Model};
use urdf_usd_robot::{ArenaMap, Joint, JointId, NamedPose, Robot, kinematics};

/// Name of the pose that the writer adds to robots without poses.
const HOME: &str = "home";
/// Maximum number of configurations that are read.
const MAX_CONFIGURATIONS: usize = 1000;
/// Tolerance within which positions are equal.
const SAME: f64 = 1e-9;

/// Reads the named poses of a model. `ids`: the joint of each entry of the model.
///
/// A lone configuration `home` is dropped if it has the positions that every robot has by default:
/// zero, or the nearest position within limits. Without configurations, the default positions of
/// the degrees of freedom become a pose `home` if they differ from those.
pub fn read(
    model: &Model<'_>,
    drafts: &[Draft<'_>],
    ids: &[Option<JointId>],
    robot: &Robot,
    findings: &mut Findings,
) -> Vec<NamedPose> {
    let configurations = model.configurations();
    let mut poses = Vec::new();
    let at_home = home(robot);
    let is_home = |pose: &NamedPose| {
        let same = |(id, positions): &(JointId, Vec<f64>)| {
            let home = at_home[*id];
            positions.iter().all(|q| (q - home).abs() < SAME)
        };
        pose.name == HOME && pose.group.is_none() && pose.positions.iter().all(same)
    };
    if configurations.len() > MAX_CONFIGURATIONS {
        let message = format!(
            "the model has {} configurations; {MAX_CONFIGURATIONS} are read",
            configurations.len()
        );
        findings.report(
            &codes::CONFIGURATION,
            &model.entry.below("configurations"),
            message,
            "leave out what nobody needs",
        );
    }
    for (name, read) in configurations.iter().take(MAX_CONFIGURATIONS) {
        poses.extend(configuration(name, read, drafts, ids, robot, findings));
    }
    if let ([pose], [(_, read)]) = (&poses[..], &configurations[..])
        && read.entry.get("extras").is_none()
        && is_home(pose)
    {
        poses.clear();
    }
    without_groups(&mut poses);
    if configurations.is_empty() {
        let joints = drafts
            .iter()
            .map(|draft| (draft, &robot.joints()[draft.id]))
            .filter(|(_, joint)| is_free(joint));
        let positions = joints.map(|(draft, joint)| {
            let defaults: Vec<f64> = draft.dofs.iter().map(|dof| dof.default).collect();
            (draft.id, draft.positions(joint, &defaults))
        });
        let place = findings.place(&model.entry.at);
        let pose = NamedPose {
            name: HOME.to_owned(),
            group: None,
            chain: None,
            positions: positions.collect(),
            fixed: Vec::new(),
            place,
        };
        if !is_home(&pose) {
            poses.push(pose);
        }
    }
    poses
}

/// Removes the prefix `group/` from pose names where several groups have a pose of that name, since
/// the writer adds it only there.
fn without_groups(poses: &mut [NamedPose]) {
    let bare: Vec<String> = poses
        .iter()
        .map(|NamedPose { name, group, .. }| {
            let rest = group
                .as_ref()
                .and_then(|group| name.strip_prefix(group.as_str())?.strip_prefix('/'));
            rest.filter(|rest| !rest.is_empty())
                .unwrap_or(name)
                .to_owned()
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    bare.iter()
        .for_each(|name| *counts.entry(name).or_default() += 1);
    for (pose, name) in poses.iter_mut().zip(&bare) {
        if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
            pose.name.clone_from(name);
        }
    }
}

/// Returns whether a pose can set the joint.
fn is_free(joint: &Joint) -> bool {
    !joint.closes_loop() && joint.mimic().is_none() && kinematics::position_count(joint.kind()) > 0
}

fn configuration(
    name: &str,
    read: &Configuration<'_>,
    drafts: &[Draft<'_>],
    ids: &[Option<JointId>],
    robot: &Robot,
    findings: &mut Findings,
) -> Option<NamedPose> {
    let entry = &read.entry;
    let mut report = |message: String| {
        let help = "give one entry for each joint: a number for one degree of freedom, a list for any other count";
        findings.report(&codes::CONFIGURATION, &entry.at, message, help);
    };
    let shown = name.chars().take(100).collect::<String>();
    let counts: Vec<usize> = ids
        .iter()
        .map(|id| {
            id.and_then(|id| drafts.get(id.index()))
                .map_or(0, |draft| draft.dofs.len())
        })
        .collect();
    let Some(given) = positions(read, &counts) else {
        report(format!(
            "configuration \"{shown}\" has not one entry for each of {} joints",
            ids.len()
        ));
        return None;
    };
    let extras = entry.get("extras");
    let partial: Option<HashSet<usize>> = extras
        .as_ref()
        .and_then(|extras| extras.json.get("joints"))
        .map(|list| list.items().iter().filter_map(Json::index).collect());
    let is_partial = partial.is_some();
    let mut set = Vec::new();
    let mut misfits = 0;
    for (number, (id, given)) in ids.iter().zip(given).enumerate() {
        let Some(draft) = id.and_then(|id| drafts.get(id.index())) else {
            continue;
        };
        let joint = &robot.joints()[draft.id];
        if !is_free(joint) {
            continue;
        }
        if partial
            .as_ref()
            .is_some_and(|joints| !joints.contains(&number))
        {
            continue;
        }
        match given.filter(|given| given.len() == draft.dofs.len()) {
            Some(given) => set.push((draft.id, draft.positions(joint, &given))),
            None => misfits += 1,
        }
    }
    if misfits > 0 {
        report(format!(
            "configuration \"{shown}\" has no fitting position for {misfits} of its joints"
        ));
    }
    let group = extras.and_then(|extras| extras.json.get("group")?.text().map(str::to_owned));
    let pose = NamedPose {
        name: name.to_owned(),
        group,
        chain: None,
        positions: set,
        fixed: Vec::new(),
        place: findings.place(&entry.at),
    };
    (!pose.name.is_empty() && (is_partial || !pose.positions.is_empty())).then_some(pose)
}

/// Returns the positions of each joint, `None` for entries that are not positions. Accepts one
/// entry per joint, or a flat list of all degrees of freedom.
fn positions(read: &Configuration<'_>, counts: &[usize]) -> Option<Vec<Option<Vec<f64>>>> {
    let items = read.joint_positions()?.items();
    let of = |item: &Json| match item {
        Json::Number(number) => Some(vec![*number]),
        Json::List(items) => items.iter().map(Json::number).collect(),
        _ => None,
    };
    let Some(row) = read.row(counts) else {
        return (items.len() == counts.len()).then(|| items.iter().map(of).collect());
    };
    let mut row = row.into_iter();
    Some(
        counts
            .iter()
            .map(|&count| Some(row.by_ref().take(count).collect()))
            .collect(),
    )
}

/// Returns the position nearest to zero within each joint's limits, and for followers the position
/// that their driver implies.
fn home(robot: &Robot) -> ArenaMap<Joint, f64> {
    let model = kinematics::Model::of(robot);
    let mut positions = model.flat(
        &robot
            .joints()
            .values()
            .map(|joint| [joint.bounds().nearest(0.0)])
            .collect::<Vec<_>>(),
    );
    model.follow(&mut positions);
    ArenaMap::new(robot.joints(), |joint, _| {
        let of_joint = positions.get(model.range(joint.index()));
        let first = of_joint.and_then(|positions| positions.first());
        first.copied().unwrap_or(0.0)
    })
}
