//! Applies SRDF to a [`Robot`]: pairs of links whose collisions are disabled, and named poses.
//!
//! The parent links of end effectors become tool frames. The rest of an SRDF is for planners:
//! passive joints are ignored, and groups and virtual joints are read only to interpret group
//! states (the chain of a group becomes that of its poses). This module knows no files.

pub mod codes;
mod states;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::xml::{Node, Xml, children, name_of, short};
use crate::{Form, is_robot, read_xml};
use urdf_usd_diagnostic::{Code, Diagnostic, Place, Suggestions, did_you_mean};
use urdf_usd_robot::{Link, LinkId, NamedPose, Robot};

const SRDF: Form = Form {
    name: "SRDF",
    run_xacro: "run xacro first: xacro robot.srdf.xacro > robot.srdf",
    needs: None,
};
/// Maximum number of pairs that `disable_default_collisions` may expand to.
const MAX_PAIRS: usize = 1_000_000;

/// A pair of links, in the robot's order.
type Pair = (LinkId, LinkId);

/// Applies the SRDF `text` to `robot`: adds pairs of links whose collisions are disabled, group
/// states as named poses, and the parent links of end effectors as tool frames. `file` is the
/// source of the text, for diagnostics.
///
/// Collisions are combined as in MoveIt: links of `disable_default_collisions` collide with
/// nothing, except in pairs of `enable_collisions`; pairs of `disable_collisions` never collide.
pub fn apply(text: &str, file: Option<&Path>, robot: &mut Robot) -> Vec<Diagnostic> {
    let (found, mut diagnostics) = read_xml(text, file, |xml, root| {
        if !is_robot(xml, root, SRDF) {
            return None;
        }
        report_other_robot(xml, root, robot);
        Some((
            pairs(xml, root, robot),
            states::poses(xml, root, robot),
            tool_frames(xml, root, robot),
        ))
    });
    if let Some((pairs, poses, frames)) = found {
        let mut planning = robot.planning().clone();
        for frame in frames {
            if !planning.tool_frames.contains(&frame) {
                planning.tool_frames.push(frame);
            }
        }
        // Poses replace those of the robot with the same name and group.
        let mut kept = robot.named_poses().to_vec();
        let key = |pose: &NamedPose| (pose.name.clone(), pose.group.clone());
        let replaced: HashSet<_> = poses.iter().map(key).collect();
        kept.retain(|pose| !replaced.contains(&key(pose)));
        // All of it was read for links and joints of this robot.
        let added = [
            robot.disable_collisions(pairs),
            robot.set_planning(planning),
            robot.set_named_poses(kept),
        ];
        let poses = poses.into_iter().map(|pose| robot.add_named_pose(pose));
        let refused = added.into_iter().chain(poses).filter_map(Result::err);
        let place = Place {
            file: file.map(Arc::from),
            ..Place::default()
        };
        diagnostics.extend(refused.map(|error| error.to_diagnostic(place.clone())));
    }
    diagnostics
}

fn report_other_robot(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) {
    if let Some(name) = name_of(root).filter(|name| *name != robot.name()) {
        let message = format!(
            "the SRDF describes the robot \"{}\", not \"{}\"",
            short(name),
            short(robot.name())
        );
        xml.report_at(
            &codes::OTHER_ROBOT,
            root,
            "name",
            message,
            "use the SRDF of this robot",
        );
    }
}

/// Looks up links of a robot by name.
fn link_names(robot: &Robot) -> Names<'_, LinkId> {
    Names {
        robot,
        what: "link",
        code: &codes::UNKNOWN_LINK,
        find: Robot::link_named,
        all: |robot| robot.links().values().map(Link::name).collect(),
        unknown: HashSet::new(),
        suggestions: Suggestions::default(),
    }
}

/// Returns the parent links of end effectors.
fn tool_frames(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> Vec<LinkId> {
    const PARENT: &str = "parent_link";
    let mut names = link_names(robot);
    let mut frames = Vec::new();
    for node in children(root, "end_effector") {
        let Some(name) = node.attribute(PARENT).map(str::trim) else {
            continue;
        };
        frames.extend(names.find(xml, node, PARENT, name));
    }
    frames
}

fn pairs(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> BTreeSet<Pair> {
    let mut links = Links {
        names: link_names(robot),
        robot,
        frames: HashSet::new(),
    };
    let mut pairs = default_pairs(xml, root, &mut links);
    for node in children(root, "enable_collisions") {
        if let Some(pair) = pair(xml, node, &mut links) {
            pairs.remove(&pair);
        }
    }
    for node in children(root, "disable_collisions") {
        pairs.extend(pair(xml, node, &mut links));
    }
    pairs
}

/// Returns the pairs of links of `disable_default_collisions` with all others. Only links with
/// collision geometry count.
fn default_pairs(xml: &mut Xml<'_>, root: Node<'_>, links: &mut Links<'_>) -> BTreeSet<Pair> {
    let robot = links.robot;
    let colliding: Vec<LinkId> = robot
        .links()
        .iter()
        .filter(|(_, link)| !link.collisions.is_empty())
        .map(|(id, _)| id)
        .collect();
    let mut pairs = BTreeSet::new();
    for node in children(root, "disable_default_collisions") {
        let Some(link) = link(xml, node, "link", links) else {
            continue;
        };
        // Handles are in the order of links, so `colliding` is sorted.
        if colliding.binary_search(&link).is_err() {
            continue;
        }
        if pairs.len() + colliding.len() > MAX_PAIRS {
            let message = format!(
                "the limit of {MAX_PAIRS} pairs of links without collisions is reached; further ones are left out"
            );
            xml.report(
                &codes::TOO_MANY_PAIRS,
                node,
                message,
                "remove the collision geometry of these links from the URDF",
            );
            break;
        }
        pairs.extend(
            colliding
                .iter()
                .filter(|&&other| other != link)
                .map(|&other| ordered(link, other)),
        );
    }
    pairs
}

/// Reads an element's `link1` and `link2`; reports and returns `None` if they are not two links
/// that can collide.
fn pair(xml: &mut Xml<'_>, node: Node<'_>, links: &mut Links<'_>) -> Option<Pair> {
    let (first, second) = (
        link(xml, node, "link1", links),
        link(xml, node, "link2", links),
    );
    let (first, second) = (first?, second?);
    if first == second {
        let message = format!("{} names the same link twice", xml.label(node));
        xml.report(&codes::SAME_LINK, node, message, "name two different links");
        return None;
    }
    Some(ordered(first, second))
}

fn ordered(a: LinkId, b: LinkId) -> Pair {
    (a.min(b), a.max(b))
}

/// Returns the link that an attribute names; reports and returns `None` if there is none, or if it
/// is a mere frame, which can't collide.
fn link(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    attribute: &str,
    links: &mut Links<'_>,
) -> Option<LinkId> {
    let Some(name) = node
        .attribute(attribute)
        .map(str::trim)
        .filter(|name| !name.is_empty())
    else {
        let message = format!("{} has no {attribute}", xml.label(node));
        xml.report(
            &codes::NO_LINK,
            node,
            message,
            format!("add {attribute}=\"…\""),
        );
        return None;
    };
    let link = links.names.find(xml, node, attribute, name)?;
    if !links.robot.is_frame(link) {
        return Some(link);
    }
    if links.frames.insert(link) {
        let message = format!(
            "\"{}\" is a frame, not a body, so it can't collide",
            short(name)
        );
        xml.report_at(
            &codes::FRAME_IN_PAIR,
            node,
            attribute,
            message,
            "name the link with the geometry, or remove the element",
        );
    }
    None
}

/// Looks up links of a robot for pairs.
struct Links<'a> {
    names: Names<'a, LinkId>,
    robot: &'a Robot,
    /// Frames that were reported, each once.
    frames: HashSet<LinkId>,
}

/// Looks up links or joints of a robot by name.
struct Names<'a, Id> {
    robot: &'a Robot,
    /// Word for what is looked up, in messages.
    what: &'static str,
    /// Code of unknown names.
    code: &'static Code,
    find: fn(&Robot, &str) -> Option<Id>,
    all: fn(&'a Robot) -> Vec<&'a str>,
    /// Unknown names that were reported, each once.
    unknown: HashSet<String>,
    suggestions: Suggestions,
}

impl<Id> Names<'_, Id> {
    /// Returns the link or joint `name`, given in an attribute; reports and returns `None` if there
    /// is none.
    fn find(
        &mut self,
        xml: &mut Xml<'_>,
        node: Node<'_>,
        attribute: &str,
        name: &str,
    ) -> Option<Id> {
        let found = (self.find)(self.robot, name);
        if found.is_none() && self.unknown.insert(name.to_owned()) {
            let near = self.suggestions.nearest(name, (self.all)(self.robot));
            let help = did_you_mean(near.iter().map(|name| short(name)))
                .unwrap_or_else(|| "correct the name, or use the SRDF of this robot".to_owned());
            let message = format!("the robot has no {} \"{}\"", self.what, short(name));
            xml.report_at(self.code, node, attribute, message, help);
        }
        found
    }
}

#[cfg(test)]
mod tests;
