//! `isaac.usda`: the overlay with the Isaac robot schema, prefix `isaac:`: the robot's metadata,
//! its links, joints and sites in order, and its named poses.
//!
//! Each frame that is not a body is a site. A pose is a prim with its chain of links: from its
//! group in the SRDF, or else the smallest part of the robot that has all joints of the pose.

use std::collections::{HashMap, HashSet};

use super::{Scene, codes};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{
    About, Joint, JointId, JointKind, LinkId, NamedPose, Role, SensorKind, SiteAxis,
};
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_author::numbers::{degrees, joint_axis};
use urdf_usd_usd_author::{Attribute, Chain, Layer, PosePrim, Relationship, author_scopes};

/// Contents of the overlay beside links, joints and poses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isaac {
    /// Statements about the robot; empty ones are not authored.
    pub about: About,
    /// True if sites are at the end of the list of links, not after their link.
    pub sites_last: bool,
    /// The scopes of named poses.
    pub pose_scope: names::PoseScope,
}

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Links, joints, sites and poses in the words of the Isaac robot schema",
    );
    let poses = author_poses(scene, &mut layer, &root, diagnostics);
    author_robot(scene, &mut layer, &root, poses);
    let says_drives = scene
        .robot
        .joints()
        .values()
        .any(|joint| joint.drive().is_some());
    let tools: HashSet<LinkId> = scene.robot.planning().tool_frames.iter().copied().collect();
    let coordinates: HashSet<JointId> = scene
        .robot
        .planning()
        .coordinates
        .iter()
        .map(|coordinate| coordinate.joint)
        .collect();
    for (id, joint) in scene.robot.joints().iter() {
        let Some(plan) = &scene.plan.joints[id] else {
            continue;
        };
        let mut prim = layer.over(&plan.path);
        prim.apply([names::JOINT_API]);
        if name_of(&plan.path) != joint.name() {
            // The schema file and the programs that read the attribute spell it differently; author
            // both.
            prim.attribute(names::NAME_OVERRIDE, Attribute::string(joint.name()));
            prim.attribute(names::JOINT_NAME_OVERRIDE, Attribute::string(joint.name()));
        }
        let free = degrees_of_freedom(joint);
        if free.len() > 1 {
            prim.attribute(
                names::DOF_ORDER,
                Attribute::token_array(free.iter().copied()),
            );
        }
        let is_driven = joint.drive().is_some() || coordinates.contains(&id);
        if !free.is_empty() && (says_drives || !coordinates.is_empty()) {
            prim.attribute(
                names::ACTUATOR,
                Attribute::bool_array(vec![is_driven; free.len()]),
            );
        }
    }
    for (path, _) in &scene.plan.world_joints {
        layer.over(path).apply([names::JOINT_API]);
    }
    let cameras = scene
        .robot
        .sensors()
        .iter()
        .filter(|sensor| matches!(sensor.kind, SensorKind::Camera(_)));
    let optical: HashSet<LinkId> = cameras.filter_map(|camera| camera.frame).collect();
    for (id, plan) in scene.plan.links.iter() {
        let name = scene.robot.links()[id].name();
        let is_tool = tools.contains(&id);
        let site = scene.robot.links()[id].site.as_ref();
        if plan.role == Role::Body {
            let mut prim = layer.over(&plan.path);
            prim.apply([names::LINK_API]);
            if name_of(&plan.path) != name {
                prim.attribute(names::NAME_OVERRIDE, Attribute::string(name));
            }
        }
        let is_site = is_tool || site.is_some();
        if plan.role == Role::Frame || plan.role == Role::Body && is_site {
            let what = if is_tool { "tool frame" } else { "frame" };
            let description = site
                .map(|site| site.description.clone())
                .filter(|description| !description.is_empty());
            let description = description.unwrap_or_else(|| format!("{what} {name}"));
            let is_optical = optical.contains(&id)
                || name.ends_with("_optical_frame")
                || name == "optical_frame";
            // REP 103: optical frames look along z.
            let assumed = if is_optical { SiteAxis::Z } else { SiteAxis::X };
            let forward = match site.and_then(|site| site.forward).unwrap_or(assumed) {
                SiteAxis::X => "X",
                SiteAxis::Y => "Y",
                SiteAxis::Z => "Z",
            };
            layer
                .over(&plan.path)
                .apply([names::SITE_API])
                .attribute(names::SITE_DESCRIPTION, Attribute::string(description))
                .attribute(names::FORWARD_AXIS, Attribute::token(forward).uniform());
        }
    }
    layer
}

/// Authors IsaacRobotAPI on the default prim. Empty values are left to the schema's fallbacks.
fn author_robot(scene: &Scene<'_>, layer: &mut Layer, root: &str, poses: Vec<String>) {
    let About {
        description,
        license,
        source,
        version,
        changelog,
        category,
        namespace,
    } = &scene.options.isaac.about;
    let mut prim = layer.over(root);
    prim.apply([names::ROBOT_API]);
    let texts = [
        (names::DESCRIPTION, description),
        (names::NAMESPACE, namespace),
        (names::SOURCE, source),
        (names::VERSION, version),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        prim.attribute(name, Attribute::string(text.as_str()));
    }
    for (name, token) in [(names::ROBOT_TYPE, category), (names::LICENSE, license)] {
        if !token.is_empty() {
            prim.attribute(name, Attribute::token(token.as_str()));
        }
    }
    if !changelog.is_empty() {
        let changelog = changelog.iter().map(String::as_str);
        prim.attribute(names::CHANGELOG, Attribute::string_array(changelog));
    }
    // Explicit lists would hide those of weaker layers.
    prim.relationship(names::ROBOT_LINKS, Relationship::prepend(links(scene)))
        .relationship(names::ROBOT_JOINTS, Relationship::prepend(joints(scene)));
    if !poses.is_empty() {
        prim.relationship(names::ROBOT_POSES, Relationship::prepend(poses));
    }
}

/// Returns the bodies depth first, each followed by its sites, or all sites at the end.
fn links(scene: &Scene<'_>) -> Vec<String> {
    let (plans, is_last) = (&scene.plan.links, scene.options.isaac.sites_last);
    let mut sites: HashMap<LinkId, Vec<LinkId>> = HashMap::new();
    let mut last = Vec::new();
    for &link in scene
        .robot
        .tree()
        .order()
        .iter()
        .filter(|link| plans[**link].role == Role::Frame)
    {
        match plans[link].body.filter(|_| !is_last) {
            Some(body) => sites.entry(body).or_default().push(link),
            None => last.push(link),
        }
    }
    let bodies = scene
        .robot
        .tree()
        .order()
        .iter()
        .filter(|link| plans[**link].role == Role::Body);
    let with_sites = bodies
        .flat_map(|body| std::iter::once(*body).chain(sites.remove(body).unwrap_or_default()));
    with_sites
        .collect::<Vec<_>>()
        .into_iter()
        .chain(last)
        .map(|link| plans[link].path.clone())
        .collect()
}

/// Returns the joints: those that fix the robot to the world first, then in the order of the bodies
/// that they move, loops last.
fn joints(scene: &Scene<'_>) -> Vec<String> {
    let added = scene.plan.world_joints.iter().map(|(path, _)| path.clone());
    let path = |joint: JointId| Some(scene.plan.joints[joint].as_ref()?.path.clone());
    let in_tree = scene
        .robot
        .tree()
        .order()
        .iter()
        .filter_map(|link| scene.robot.tree().parent_joint(*link));
    let loops = scene
        .robot
        .joints()
        .iter()
        .filter(|(_, joint)| joint.closes_loop())
        .map(|(id, _)| id);
    added.chain(in_tree.chain(loops).filter_map(path)).collect()
}

/// Returns the degrees of freedom of a joint, named in UsdPhysics's joint frame, in the schema's
/// order.
fn degrees_of_freedom(joint: &Joint) -> Vec<&'static str> {
    let (axis, _) = joint_axis(&joint.axis);
    let is_free = |token: &&str| match joint.kind() {
        JointKind::Fixed => false,
        JointKind::Revolute | JointKind::Continuous => token.strip_prefix("Rot") == Some(axis),
        JointKind::Prismatic => token.strip_prefix("Trans") == Some(axis),
        JointKind::Planar => match token.strip_prefix("Trans") {
            Some(letter) => letter != axis,
            None => token.strip_prefix("Rot") == Some(axis),
        },
        JointKind::Floating => true,
    };
    names::DOF_TOKENS.into_iter().filter(is_free).collect()
}

/// Authors the named poses; returns their paths.
fn author_poses(
    scene: &Scene<'_>,
    layer: &mut Layer,
    root: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let robot = scene.robot;
    let model = Model::of(robot);
    let has_prim = |joint: JointId| scene.plan.joints[joint].is_some();
    let is_named = |link: LinkId| scene.plan.links[link].role != Role::World;
    let body = |link: LinkId| scene.plan.links[link].body;
    let chain =
        |pose: &NamedPose| Chain::of(robot, pose, &has_prim, &body)?.between(robot, &is_named);
    let mut poses: Vec<(&NamedPose, Chain)> = Vec::new();
    for pose in robot.named_poses() {
        match chain(pose) {
            Some(chain) => poses.push((pose, chain)),
            None => {
                let message = format!(
                    "no chain of links has the joints of the pose {:?}: it is not in isaac.usda",
                    pose.name
                );
                let help = "set joints that turn or slide, of one tree of the robot";
                diagnostics.push(
                    Diagnostic::new(&codes::ISAAC_POSE, pose.place.clone(), message).help(help),
                );
            }
        }
    }
    if poses.is_empty() {
        return Vec::new();
    }
    for (pose, _) in poses.iter().filter(|(_, chain)| !chain.is_path(robot)) {
        let message = format!(
            "the pose {:?} sets joints of several branches of the robot, which are no chain: its prim has all of them",
            pose.name
        );
        let help = "give each branch a pose, such as a state of its group in an SRDF; inverse kinematics moves only the joints between the first and the last link";
        diagnostics.push(
            Diagnostic::new(&codes::ISAAC_POSE_BRANCHES, pose.place.clone(), message).help(help),
        );
    }
    let scope = author_scopes(layer, root, scene.options.isaac.pose_scope);
    let wanted: Vec<&str> = poses.iter().map(|(pose, _)| pose.name.as_str()).collect();
    let mut paths = Vec::new();
    let rest = model.poses(&robot.positions(&model, None));
    for ((pose, chain), identifier) in
        poses
            .iter()
            .zip(urdf_usd_robot::names::identifiers(&wanted, "pose", &[]))
    {
        let path = format!("{scope}/{identifier}");
        let at = model.poses(&robot.positions(&model, Some(pose)));
        let link = |link: LinkId| scene.plan.links[link].path.clone();
        let joints = chain
            .joints
            .iter()
            .filter_map(|(joint, _)| scene.plan.joints[*joint].as_ref());
        let values =
            chain
                .joints
                .iter()
                .map(|(joint, value)| match robot.joints()[*joint].kind() {
                    JointKind::Prismatic => *value as f32,
                    _ => degrees(*value),
                });
        let prim = PosePrim {
            name: &pose.name,
            group: pose.group.as_deref(),
            start: link(chain.start),
            end: link(chain.end),
            joints: joints.map(|plan| plan.path.clone()).collect(),
            values: values.collect(),
            fixed: chain
                .joints
                .iter()
                .map(|(joint, _)| pose.fixed.contains(joint))
                .collect(),
            is_valid: chain.is_valid(robot),
            end_at: chain.end_at(robot, &rest, &at),
        };
        prim.author(layer, &path);
        paths.push(path);
    }
    paths
}

/// Returns the last component of a path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
