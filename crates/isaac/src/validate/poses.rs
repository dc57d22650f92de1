//! Validation of named poses.

use std::collections::HashSet;

use urdf_usd_robot::{Handle, JointKind};
use urdf_usd_stage::{PrimId, array_len, double_array, rigid};
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_read::is_pose_alias;

use super::{Check, count};
use crate::poses::Poses;
use crate::{LinkNode, LinkTree, View, codes};

/// Tolerance of limits, in radians and metres: the resolution of single precision.
const LIMIT_SLACK: f64 = 1e-5;
/// Maximum distance, in metres and radians, of a link from a target that it reaches. Isaac's inverse
/// kinematics ends at a cost of 1e-6, which is a distance of about 1e-3.
const REACH: f64 = 5e-3;

impl Check<'_, '_> {
    /// Checks the named poses that the robot lists or contains.
    pub(super) fn check_poses(&mut self, robot: PrimId) {
        let view = self.view;
        let (mut listed, mut marked) = (HashSet::new(), Vec::new());
        let mut tree = None;
        for path in view.stage[robot].targets(names::ROBOT_POSES) {
            match view
                .at(path)
                .filter(|&id| view.stage[id].type_name == names::NAMED_POSE)
            {
                Some(id) => {
                    listed.insert(id);
                }
                None => {
                    let code = if view.at(path).is_some() {
                        &codes::TARGET_KIND
                    } else {
                        &codes::TARGET
                    };
                    let message = format!(
                        "{} names <{path}>, which is not an existing IsaacNamedPose",
                        names::ROBOT_POSES
                    );
                    self.add(
                        code,
                        robot,
                        Some(names::ROBOT_POSES),
                        message,
                        "remove it from the list",
                    );
                }
            }
        }
        for id in view.subtree(robot) {
            let prim = &view.stage[id];
            let is_own = prim.type_name == names::NAMED_POSE && self.owner(id) == Some(robot);
            if !is_own || is_pose_alias(prim) {
                continue;
            }
            let other = names::other_pose_path(&prim.path).and_then(|path| view.at(&path));
            if !listed.contains(&id) && !other.is_some_and(|other| listed.contains(&other)) {
                let message = format!(
                    "the pose {} is not in {} of {}",
                    self.path(id),
                    names::ROBOT_POSES,
                    self.path(robot)
                );
                self.add(
                    &codes::POSE_UNLISTED,
                    id,
                    None,
                    message,
                    "add it to the list",
                );
            }
            let tree = tree.get_or_insert_with(|| LinkTree::new(view, robot));
            self.check_pose(tree, id);
            if view.stage[id].flag(names::POSE_VALID) == Some(true) {
                marked.push(id);
            }
        }
        self.check_valid(robot, &marked);
    }

    fn check_pose(&mut self, tree: &LinkTree, id: PrimId) {
        let view = self.view;
        let prim = &view.stage[id];
        let joints = prim.targets(names::POSE_JOINTS);
        for attribute in [names::POSE_VALUES, names::POSE_FIXED] {
            // Fixed flags are optional: joints are free by default.
            let default = (attribute == names::POSE_VALUES).then_some(0);
            let Some(values) = prim.value(attribute).and_then(array_len).or(default) else {
                continue;
            };
            if values != joints.len() {
                let message = format!(
                    "{} has {} and {values} {attribute}",
                    prim.path,
                    count(joints.len(), "joint")
                );
                self.add(
                    &codes::POSE,
                    id,
                    Some(attribute),
                    message,
                    "give one value for each joint",
                );
            }
        }
        let values = prim.value(names::POSE_VALUES).and_then(double_array);
        if values.is_some_and(|values| values.iter().any(|value| !value.is_finite())) {
            let message = format!("{} has a value that is not finite", prim.path);
            let help = "give each joint a finite value, in degrees or the unit of length";
            self.add(&codes::POSE, id, Some(names::POSE_VALUES), message, help);
        }
        for path in joints {
            let joint = view.at(path).filter(|joint| view.is_joint(*joint));
            let why = match joint.map(|joint| view.stage[joint].type_name.as_str()) {
                None => "which is not an existing joint",
                Some("PhysicsFixedJoint") => "a fixed joint, which has no position",
                Some(_) => continue,
            };
            let message = format!("{} sets <{path}>, {why}", prim.path);
            let help = "name joints of the robot that turn or slide";
            self.add(&codes::POSE, id, Some(names::POSE_JOINTS), message, help);
        }
        let end = |name: &str| match prim.targets(name) {
            [path] => view.at(path),
            _ => None,
        };
        let ends = [names::POSE_START, names::POSE_END].map(|name| (name, end(name)));
        for (name, end) in ends {
            let is_link = |id: PrimId| {
                view.is_body(id) || view.stage[id].has(names::LINK_API) || view.is_robot(id)
            };
            let message = match end {
                None => format!(
                    "{name} of {} does not name exactly one existing link",
                    prim.path
                ),
                Some(end) if view.is_joint(end) => {
                    format!("{name} of {} names a joint, {}", prim.path, self.path(end))
                }
                // Frames of the robot are links and sites only if they have their schemas.
                Some(end) if is_link(end) || view.is_site(end) || is_frame(view, end) => continue,
                Some(end) => format!(
                    "{name} of {} names {}, which is no link or site",
                    prim.path,
                    self.path(end)
                ),
            };
            let help = "name one link or site of the robot";
            self.add(&codes::POSE, id, Some(name), message, help);
        }
        if let [(_, Some(start)), (_, Some(end))] = ends
            && !view.is_joint(start)
            && !view.is_joint(end)
        {
            self.check_chain(tree, id, start, end);
        }
    }

    /// Checks that a pose sets joints between its first and its last link, in their order.
    fn check_chain(&mut self, tree: &LinkTree, id: PrimId, start: PrimId, end: PrimId) {
        let view = self.view;
        let prim = &view.stage[id];
        let node_of = |id: PrimId| {
            view.stage
                .self_and_ancestors(id)
                .find_map(|id| tree.nodes.position(|node| node.prim == id))
        };
        let (Some(first), Some(last)) = (node_of(start), node_of(end)) else {
            return;
        };
        let help = "name the joints from the first link to the last in their order, or other links";
        let Some(chain) = joints_between(tree, first, last) else {
            let message = format!(
                "no joints connect the first link of {} with its last: {} and {}",
                prim.path,
                self.path(start),
                self.path(end)
            );
            self.add(&codes::POSE_CHAIN, id, Some(names::POSE_END), message, help);
            return;
        };
        let joints = prim
            .targets(names::POSE_JOINTS)
            .iter()
            .filter_map(|path| view.at(path))
            .filter(|joint| view.is_joint(*joint));
        let (mut places, mut wrong) = (Vec::new(), Vec::new());
        for joint in joints {
            match chain.iter().position(|other| *other == joint) {
                Some(place) => places.push((place, joint)),
                None => wrong.push(format!(
                    "{} sets {}, which is not between {} and {}",
                    prim.path,
                    self.path(joint),
                    self.path(start),
                    self.path(end)
                )),
            }
        }
        let mut pairs = places.iter().zip(places.iter().skip(1));
        if let Some((_, (_, joint))) = pairs.find(|((one, _), (next, _))| next <= one) {
            wrong.push(format!(
                "{} sets {} out of the order from {} to {}",
                prim.path,
                self.path(*joint),
                self.path(start),
                self.path(end)
            ));
        }
        for message in wrong {
            let property = Some(names::POSE_JOINTS);
            self.add(&codes::POSE_CHAIN, id, property, message, help);
        }
    }

    /// Checks the poses of a robot that are marked as valid: their limits, and the frames of their last
    /// links.
    fn check_valid(&mut self, robot: PrimId, marked: &[PrimId]) {
        let view = self.view;
        if marked.is_empty() {
            return;
        }
        // Faults of the robot are reported elsewhere.
        let Ok(poses) = Poses::of(view.stage, Some(self.path(robot))) else {
            return;
        };
        let help = "compute the pose again (`urdf_usd pose store`), or set isaac:robot:pose:valid to false";
        for pose in poses.robot.named_poses() {
            let Some(id) = poses.prim_of(pose).filter(|id| marked.contains(id)) else {
                continue;
            };
            for (joint, at) in &pose.positions {
                let joint = &poses.robot.joints()[*joint];
                let bounds = joint.bounds();
                let Some(at) = at.first().filter(|at| {
                    **at < bounds.lower() - LIMIT_SLACK || **at > bounds.upper() + LIMIT_SLACK
                }) else {
                    continue;
                };
                let unit = match joint.kind() {
                    JointKind::Prismatic => "m",
                    _ => "rad",
                };
                let message = format!(
                    "{} is marked as valid, and sets {:?} to {at:.6} {unit}, outside its limits {:.6} to {:.6} {unit}",
                    self.path(id),
                    joint.name(),
                    bounds.lower(),
                    bounds.upper()
                );
                self.add(
                    &codes::POSE_VALID,
                    id,
                    Some(names::POSE_VALUES),
                    message,
                    help,
                );
            }
            let target = view
                .within(id, robot)
                .and_then(|within| Some(rigid(&within)?.0));
            if let (Some((start, end)), Some(target)) = (pose.chain, target) {
                let apart = poses.end_at(pose, [start, end]).inverse() * target;
                let distance = apart.translation.vector.norm() * view.stage.meters_per_unit();
                let angle = apart.rotation.angle();
                if distance > REACH || angle > REACH {
                    let message = format!(
                        "{} is marked as valid, and its last link is {distance:.4} m and {:.2}° from its target",
                        self.path(id),
                        angle.to_degrees()
                    );
                    self.add(&codes::POSE_VALID, id, None, message, help);
                }
            }
        }
    }
}

/// Returns whether a prim is a frame that converters give a robot without the schemas of links and sites.
fn is_frame(view: &View<'_>, id: PrimId) -> bool {
    let prim = &view.stage[id];
    prim.has("RosFrameAPI") || prim.type_name == "Xform" && view.body_of(id).is_some()
}

/// Returns the joints from one link to another, through their nearest common ancestor.
fn joints_between(
    tree: &LinkTree,
    first: Handle<LinkNode>,
    last: Handle<LinkNode>,
) -> Option<Vec<PrimId>> {
    let above = |node: Handle<LinkNode>| -> Vec<Handle<LinkNode>> {
        std::iter::successors(Some(node), |node| tree.nodes[*node].parent).collect()
    };
    let (up, down) = (above(first), above(last));
    let top = up.iter().find(|node| down.contains(node))?;
    let below = |nodes: &[Handle<LinkNode>]| -> Vec<PrimId> {
        let below = nodes.iter().take_while(|node| *node != top);
        below.filter_map(|node| tree.nodes[*node].joint).collect()
    };
    let mut joints = below(&up);
    joints.extend(below(&down).into_iter().rev());
    Some(joints)
}
