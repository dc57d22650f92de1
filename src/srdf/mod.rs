//! SRDF → changes to a [`Robot`]: which pairs of links need no check for collision.
//!
//! Groups, states, end effectors and virtual joints are for planners; nothing of them is read. This module must not know files.

pub mod codes;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::near::nearest;
use crate::robot::{LinkId, Robot};
use crate::urdf::xml::{Node, Xml, children, name_of, short};
use crate::urdf::{Form, is_robot, read_xml};

const SRDF: Form = ("SRDF", "run xacro first: xacro robot.srdf.xacro > robot.srdf");
/// The most pairs that `disable_default_collisions` may lead to.
const MAX_PAIRS: usize = 1_000_000;
/// Links are looked for among all others at most this often: it takes long in large robots.
const MAX_NEAREST: usize = 20;

/// A pair of links, the one that the robot has first in front.
type Pair = (LinkId, LinkId);

/// Reads the SRDF `text` and adds to `robot` the pairs of links that it says need no check for collision; `file` is where the text
/// is from, for the places in diagnostics.
///
/// As MoveIt has it: links of `disable_default_collisions` collide with nothing, but for pairs of `enable_collisions`; pairs of
/// `disable_collisions` do not collide in any case.
pub fn apply(text: &str, file: Option<&Path>, robot: &mut Robot) -> Vec<Diagnostic> {
    let (pairs, diagnostics) =
        read_xml(text, file, |xml, root| if is_robot(xml, root, SRDF) { Some(pairs(xml, root, robot)) } else { None });
    let known: BTreeSet<Pair> = robot.disabled_collisions.drain(..).collect();
    robot.disabled_collisions =
        known.into_iter().chain(pairs.into_iter().flatten()).collect::<BTreeSet<_>>().into_iter().collect();
    diagnostics
}

fn pairs(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot) -> BTreeSet<Pair> {
    if let Some(name) = name_of(root).filter(|name| *name != robot.name) {
        let message = format!("it is about the robot \"{}\", not \"{}\"", short(name), short(&robot.name));
        xml.report_at(&codes::OTHER_ROBOT, root, "name", message, "give the SRDF of this robot");
    }
    let mut links = Links::of(robot);
    let mut pairs = default_pairs(xml, root, robot, &mut links);
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

/// The pairs of links of `disable_default_collisions` with all others. Only links that have something to collide with count.
fn default_pairs(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot, links: &mut Links<'_>) -> BTreeSet<Pair> {
    let colliding: Vec<LinkId> =
        robot.links.iter().enumerate().filter(|(_, link)| !link.collisions.is_empty()).map(|(id, _)| LinkId(id)).collect();
    let mut pairs = BTreeSet::new();
    for node in children(root, "disable_default_collisions") {
        let Some(link) = links.find(xml, node, "link") else { continue };
        if colliding.binary_search(&link).is_err() {
            continue;
        }
        if pairs.len() + colliding.len() > MAX_PAIRS {
            let message =
                format!("there are more than {MAX_PAIRS} pairs of links without collisions; from here on none is added");
            xml.report(&codes::TOO_MANY_PAIRS, node, message, "leave the collision geometry of these links out of the URDF");
            break;
        }
        pairs.extend(colliding.iter().filter(|&&other| other != link).map(|&other| ordered(link, other)));
    }
    pairs
}

/// The links of an element's `link1` and `link2`. None, reported, if they are no two links of the robot.
fn pair(xml: &mut Xml<'_>, node: Node<'_>, links: &mut Links<'_>) -> Option<Pair> {
    let (first, second) = (links.find(xml, node, "link1"), links.find(xml, node, "link2"));
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

/// The links of a robot by name.
struct Links<'a> {
    ids: HashMap<&'a str, LinkId>,
    /// Names that were looked for in vain: each is reported once.
    unknown: HashSet<String>,
}

impl<'a> Links<'a> {
    fn of(robot: &'a Robot) -> Self {
        let ids = robot.links.iter().enumerate().map(|(id, link)| (link.name.as_str(), LinkId(id))).collect();
        Self { ids, unknown: HashSet::new() }
    }

    /// The link that an attribute names. None, reported, if there is none.
    fn find(&mut self, xml: &mut Xml<'_>, node: Node<'_>, attribute: &str) -> Option<LinkId> {
        let Some(name) = node.attribute(attribute).map(str::trim).filter(|name| !name.is_empty()) else {
            let message = format!("{} has no {attribute}", xml.label(node));
            xml.report(&codes::NO_LINK, node, message, format!("add {attribute}=\"…\""));
            return None;
        };
        let found = self.ids.get(name).copied();
        if found.is_none() && self.unknown.insert(name.to_owned()) {
            let is_few = self.unknown.len() <= MAX_NEAREST;
            let near = if is_few { nearest(name, self.ids.keys().copied()) } else { Vec::new() };
            let near: Vec<String> = near.iter().map(|name| format!("\"{}\"", short(name))).collect();
            let help = match near.is_empty() {
                true => "correct the name, or give the SRDF of this robot".to_owned(),
                false => format!("did you mean {}?", near.join(" or ")),
            };
            let message = format!("the robot has no link \"{}\"", short(name));
            xml.report_at(&codes::UNKNOWN_LINK, node, attribute, message, help);
        }
        found
    }
}

#[cfg(test)]
mod tests;
