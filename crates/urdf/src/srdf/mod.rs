//! SRDF → changes to a [`Robot`]: which pairs of links need no check for collision, and the poses
//! that have a name.
//!
//! The links that end effectors are on become tool frames. What else is in an SRDF is for planners:
//! passive joints are not read, and groups and virtual joints only to know what group states are
//! about: the chain of a group is that of its poses. This module must not know files.

pub mod codes;
mod states;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::xml::{Node, Xml, children, name_of, short};
use crate::{Form, is_robot, read_xml};
use urdf_usd_diagnostic::{Code, Diagnostic, Place, Suggestions, did_you_mean};
use urdf_usd_robot::{Link, LinkId, Robot};

const SRDF: Form = Form {
    name: "SRDF",
    run_xacro: "run xacro first: xacro robot.srdf.xacro > robot.srdf",
    needs: None,
};
/// The most pairs that `disable_default_collisions` may lead to.
const MAX_PAIRS: usize = 1_000_000;

/// A pair of links, the one that the robot has first in front.
type Pair = (LinkId, LinkId);

/// Reads the SRDF `text` and adds to `robot` the pairs of links that it says need no check for
/// collision, and its group states as named poses, and the links that its end effectors are on as
/// tool frames; `file` is where the text is from, for the places in diagnostics.
///
/// As MoveIt has it: links of `disable_default_collisions` collide with nothing, but for pairs of
/// `enable_collisions`; pairs of `disable_collisions` do not collide in any case.
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
        // All of it was read of links and joints of this robot.
        let added = [
            robot.disable_collisions(pairs),
            robot.set_planning(planning),
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
            "it is about the robot \"{}\", not \"{}\"",
            short(name),
            short(robot.name())
        );
        xml.report_at(
            &codes::OTHER_ROBOT,
            root,
            "name",
            message,
            "give the SRDF of this robot",
        );
    }
}

/// The links of a robot by name.
fn links_of(robot: &Robot) -> Names<'_, LinkId> {
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

/// The links that end effectors are on.
fn tool_frames(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> Vec<LinkId> {
    const PARENT: &str = "parent_link";
    let mut names = links_of(robot);
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
        names: links_of(robot),
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

/// The pairs of links of `disable_default_collisions` with all others. Only links that have
/// something to collide with count.
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
        if colliding.binary_search(&link).is_err() {
            continue;
        }
        if pairs.len() + colliding.len() > MAX_PAIRS {
            let message = format!(
                "there are more than {MAX_PAIRS} pairs of links without collisions; from here on none is added"
            );
            xml.report(
                &codes::TOO_MANY_PAIRS,
                node,
                message,
                "leave the collision geometry of these links out of the URDF",
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

/// The links of an element's `link1` and `link2`. None, reported, if they are no two links of the
/// robot that can collide.
fn pair(xml: &mut Xml<'_>, node: Node<'_>, links: &mut Links<'_>) -> Option<Pair> {
    let (first, second) = (
        link(xml, node, "link1", links),
        link(xml, node, "link2", links),
    );
    let (first, second) = (first?, second?);
    if first == second {
        let message = format!("{} names one link twice", xml.label(node));
        xml.report(&codes::SAME_LINK, node, message, "name two links");
        return None;
    }
    Some(ordered(first, second))
}

fn ordered(a: LinkId, b: LinkId) -> Pair {
    (a.min(b), a.max(b))
}

/// The link that an attribute names. None, reported, if there is none, or if it is a frame, which
/// collides with nothing.
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
            "\"{}\" is a frame, not a body: it collides with nothing",
            short(name)
        );
        xml.report_at(
            &codes::FRAME_IN_PAIR,
            node,
            attribute,
            message,
            "name the link that the geometry is on, or remove the element",
        );
    }
    None
}

/// The links of a robot, for pairs of them.
struct Links<'a> {
    names: Names<'a, LinkId>,
    robot: &'a Robot,
    /// Those that were reported to be frames: each is once.
    frames: HashSet<LinkId>,
}

/// The links or the joints of a robot by name.
struct Names<'a, Id> {
    robot: &'a Robot,
    /// What they are.
    what: &'static str,
    /// What is reported of others.
    code: &'static Code,
    find: fn(&Robot, &str) -> Option<Id>,
    all: fn(&'a Robot) -> Vec<&'a str>,
    /// Unknown names, each of which is reported once.
    unknown: HashSet<String>,
    suggestions: Suggestions,
}

impl<Id> Names<'_, Id> {
    /// What `name` is, which stands in an attribute. None, reported, if there is none.
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
                .unwrap_or_else(|| "correct the name, or give the SRDF of this robot".to_owned());
            let message = format!("the robot has no {} \"{}\"", self.what, short(name));
            xml.report_at(self.code, node, attribute, message, help);
        }
        found
    }
}

#[cfg(test)]
mod tests;
