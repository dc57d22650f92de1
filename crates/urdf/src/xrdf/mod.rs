//! Reads and writes XRDF (versions 1.0 and 2.0).
//!
//! An XRDF adds frames to a [`Robot`], sets its root, and defines default joint positions, which
//! become a named pose. The rest is [`Planning`]: configuration space, tool frames, spheres, buffer
//! distances, and pairs of links whose collisions are ignored. Section numbers in this module are
//! those of the XRDF specification.
//!
//! This module knows no files, no ROS, and nothing of the robot's use.

pub mod codes;
mod frames;
mod reader;
mod spheres;
mod write;

use std::collections::{HashMap, HashSet};
use std::path::Path;

pub use write::write;

use reader::{Findings, Known, Removed, below, entry, optional};
use spheres::Groups;

use crate::References;
use crate::xml::short;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    Coordinate, DEFAULT_POSE, Joint, JointId, JointKind, LinkId, LinkPairs, NamedPose, Planning,
    PlanningCollision, Robot, touches,
};
use urdf_usd_text::yaml::{self as yaml, Key, Mark, Yaml};

/// Maximum length of a text, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// Maximum number of pairs of touching frames that are reported.
const MAX_TOUCHES: usize = 20;
/// Penetration of two spheres that is not reported, in metres: numbers in files are rounded.
const TOUCH_TOLERANCE: f64 = 1e-6;
/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// 1.0.
    First,
    /// 2.0: `collision` is renamed `world_collision`, and geometry groups may differ and contain
    /// others (`clone`).
    Second,
    /// Missing or unknown.
    Unknown,
}

/// Sections of all versions.
const SECTIONS: &[&str] = &[
    "format",
    "format_version",
    "modifiers",
    "default_joint_positions",
    "cspace",
    "tool_frames",
    "collision",
    "world_collision",
    "self_collision",
    "geometry",
];

type Fields<'a> = [&'a (Key, Yaml)];

/// Applies the XRDF `text` to `robot`: frames are added, the root is set, the default positions
/// become the named pose [`DEFAULT_POSE`], collisions of the pairs in `self_collision.ignore` are
/// disabled, and [`Robot::planning`] is set.
///
/// `references` are those of the robot; their links are renumbered. `file` is the source of the
/// text, for diagnostics.
pub fn apply(
    text: &str,
    file: Option<&Path>,
    robot: &mut Robot,
    references: &mut References,
) -> Applied {
    let mut findings = Findings::new(file);
    let mut modifiers = Modifiers::default();
    if let Some(document) = document(&mut findings, text) {
        modifiers = sections(&mut findings, &document, robot, references);
    }
    Applied {
        diagnostics: findings.into_diagnostics(),
        modifiers,
    }
}

/// The outcome of [`apply`].
#[derive(Debug)]
pub struct Applied {
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The changes of the robot's frames.
    pub modifiers: Modifiers,
}

/// Changes of a robot's frames by an XRDF (section 2): the difference between a robot and its
/// description, which an XRDF for the description has to repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// Names of the added frames, in the order of the text.
    pub frames: Vec<String>,
    /// Name of the link that was made the root.
    pub base: Option<String>,
    /// Names of the joints that mimic one that is not below the base: they are independent in the
    /// robot, but not for XRDF, which goes by the description.
    pub freed: Vec<String>,
}

/// Parses the text; reports and returns `None` if it is not an XRDF.
fn document(findings: &mut Findings, text: &str) -> Option<Yaml> {
    let start = Mark { line: 1, column: 1 };
    if text.len() > MAX_TEXT_BYTES {
        let message = format!(
            "the text has {} MiB; the limit is {} MiB",
            text.len() >> 20,
            MAX_TEXT_BYTES >> 20
        );
        findings.report(
            &codes::MALFORMED,
            start,
            "",
            message,
            "no robot needs this much; correct the program that wrote the text",
        );
        return None;
    }
    let documents = match yaml::read_with_aliases(text) {
        Ok(documents) => documents,
        Err(fault) => {
            findings.report(&codes::MALFORMED, fault.at, "", fault.message, fault.help);
            return None;
        }
    };
    let mut documents = documents.into_iter();
    let first = documents.next();
    let format = first.as_ref().and_then(|first| first.get("format"));
    if format.and_then(Yaml::text) != Some("xrdf") {
        let (at, message) = match format {
            Some(format) => (format.at, "the format is not \"xrdf\""),
            None => (
                first.as_ref().map_or(start, |first| first.at),
                "the text does not declare that it is an XRDF",
            ),
        };
        findings.report(
            &codes::NOT_XRDF,
            at,
            "format",
            message,
            "begin an XRDF with format: xrdf",
        );
        return None;
    }
    if let Some(second) = documents.next() {
        let message = "the text has more than one document; the first is used";
        findings.report(
            &codes::REPEATED,
            second.at,
            "",
            message,
            "put each into a separate file",
        );
    }
    first
}

fn sections(
    findings: &mut Findings,
    document: &Yaml,
    robot: &mut Robot,
    references: &mut References,
) -> Modifiers {
    let fields = findings.fields(document, "", SECTIONS);
    let version = version(findings, &fields, document.at);
    // Modifiers come first: all other sections name frames and joints of the modified robot.
    let (modifiers, removed_names) = optional(&fields, "modifiers")
        .map(|section| modify(findings, section, robot, references))
        .unwrap_or_default();
    let mut known = Known::new(robot, removed_names);

    let positions = optional(&fields, "default_joint_positions");
    let pose = positions.map(|section| {
        let place = findings.place(section.at, "default_joint_positions");
        let positions = default_positions(findings, section, &mut known, robot);
        NamedPose {
            name: DEFAULT_POSE.to_owned(),
            group: None,
            chain: None,
            positions,
            fixed: Vec::new(),
            place,
        }
    });
    let coordinates = cspace(findings, &fields, document.at, &mut known);
    // Without this section, the tool frames of another file stay.
    let mut tool_frames = robot.planning().tool_frames.clone();
    if let Some(section) = optional(&fields, "tool_frames") {
        let names = findings.names(section, "tool_frames");
        tool_frames = names
            .into_iter()
            .filter_map(|name| known.frame(findings, name, "tool_frames"))
            .collect();
    }
    let planning = Planning {
        coordinates,
        tool_frames,
        ..collisions(findings, &fields, &mut known, version)
    };

    let bodies = planning
        .ignored
        .iter()
        .filter(|(a, b)| !robot.is_frame(*a) && !robot.is_frame(*b));
    let bodies: Vec<_> = bodies.collect();
    // All of it was read for links and joints of this robot; coordinates are distinct moving joints.
    let mut set = robot
        .disable_collisions(bodies)
        .and_then(|()| robot.set_planning(planning));
    if let Some(pose) = pose {
        // Replace the pose of another file.
        let mut poses = robot.named_poses().to_vec();
        poses.retain(|other| (&other.name, &other.group) != (&pose.name, &pose.group));
        // A pose without joints is dropped.
        poses.extend(Some(pose).filter(|pose| !pose.positions.is_empty()));
        set = set.and_then(|()| robot.set_named_poses(poses));
    }
    if let Err(error) = set {
        findings.refuse(&error, document.at, "");
    }
    if let Some(section) = positions.or(optional(&fields, "self_collision")) {
        report_touches(findings, section.at, robot);
    }
    modifiers
}

/// Applies the section `modifiers`: adds frames, then removes everything that is not below the new
/// root. Returns the changes, and the names of the removed links and joints.
fn modify(
    findings: &mut Findings,
    section: &Yaml,
    robot: &mut Robot,
    references: &mut References,
) -> (Modifiers, Removed) {
    let modifiers = frames::read(findings, section);
    let base = modifiers.base(findings, robot);
    let mut added = modifiers.add_frames(findings, robot);
    let mut removed_names = Removed::default();
    let mut root = None;
    if let Some((at, base)) = base {
        modifiers.report_left_behind(findings, robot, base, &mut added);
        // Before links are removed: afterwards nothing connects the base to the world any more.
        let (had_world, fixing_joint) = (robot.world_root().is_some(), fixing_joint(robot, base));
        let before = robot.links().clone();
        let element = "modifiers / set_base_frame";
        let removed = match robot.keep_below(base) {
            Ok(removed) => removed,
            Err(error) => {
                findings.refuse(&error, at, element);
                return (Modifiers::default(), removed_names);
            }
        };
        root = Some(before[base].name().to_owned());
        references.move_shapes(|link| Some((removed.links[link]?, 0, 0)));
        let links = before
            .iter()
            .filter(|(id, _)| removed.links[*id].is_none())
            .map(|(_, link)| link.name().to_owned());
        removed_names = Removed {
            links: links.collect(),
            joints: removed.joints.iter().cloned().collect(),
            freed: HashSet::new(),
        };
        for joint in removed.freed.iter().map(|&joint| &robot.joints()[joint]) {
            removed_names.freed.insert(joint.name().to_owned());
            let message = format!(
                "the joint \"{}\" mimics a joint that is not below the new root",
                short(joint.name())
            );
            let help = "set a root above the mimicked joint, or remove the mimic from the URDF";
            findings.report(&codes::LEADER_GONE, at, element, message, help);
        }
        if !removed_names.links.is_empty() {
            let base = short(before[base].name());
            let (links, joints) = (removed_names.links.len(), removed_names.joints.len());
            let message = format!(
                "\"{base}\" is the root; {links} links and {joints} joints that are not below it are removed"
            );
            let help = match (&fixing_joint, had_world) {
                (Some(_), _) => "no action is needed: the base stays fixed to the world",
                (None, true) => {
                    "the base moved in the world by joints that are removed: convert with --base fixed if it is fixed"
                }
                (None, false) => "no action is needed",
            };
            findings.report(&codes::BASE_SET, at, element, message, help);
        }
        if let Some(joint) = fixing_joint {
            let place = findings.place(at, element);
            if let Err(error) = frames::fix_to_world(robot, removed.links[base], &joint, place) {
                findings.refuse(&error, at, element);
            }
        }
    }
    frames::report_added(findings, section.at, &added);
    let mut freed: Vec<String> = removed_names.freed.iter().cloned().collect();
    freed.sort();
    let applied = Modifiers {
        frames: modifiers.in_order(&added),
        base: root,
        freed,
    };
    (applied, removed_names)
}

/// Returns the name of the joint above `base` if fixed joints connect the base to the world.
fn fixing_joint(robot: &Robot, base: LinkId) -> Option<String> {
    let world = robot.world_root()?;
    let above = |link: LinkId| {
        let joint = robot.tree().parent_joint(link)?;
        Some(&robot.joints()[joint])
    };
    let mut link = base;
    while link != world {
        link = above(link)
            .filter(|joint| joint.kind() == JointKind::Fixed)?
            .parent();
    }
    above(base).map(|joint| joint.name().to_owned())
}

/// Reports spheres that touch at the default positions although their collisions are not ignored
/// (section 6).
fn report_touches(findings: &mut Findings, at: Mark, robot: &Robot) {
    let spheres = robot.planning().self_collision_spheres();
    let model = Model::of(robot);
    let poses = model.poses(&robot.positions(&model, robot.default_pose()));
    let name = |link: LinkId| short(robot.links()[link].name());
    let found = touches(&spheres, &poses, &robot.planning().ignored);
    for touch in found
        .iter()
        .filter(|touch| touch.depth > TOUCH_TOLERANCE)
        .take(MAX_TOUCHES)
    {
        let (first, second) = (name(touch.first), name(touch.second));
        let depth = touch.depth * 1000.0;
        let message = format!(
            "at the default positions, \"{first}\" and \"{second}\" penetrate by {depth:.1} mm"
        );
        let help = "correct the default positions, the spheres or the buffer distances, or let self_collision ignore the pair";
        findings.report(
            &codes::SELF_COLLISION,
            at,
            "default_joint_positions",
            message,
            help,
        );
    }
}

/// Reads the version; reports a missing or unknown one.
fn version(findings: &mut Findings, fields: &Fields<'_>, at: Mark) -> Version {
    let Some(value) = findings.require(fields, "format_version", at, "") else {
        return Version::Unknown;
    };
    let version = value.text().and_then(|text| text.parse::<f64>().ok());
    let equals = |known: f64| version.is_some_and(|version| (version - known).abs() < 1e-9);
    if equals(1.0) {
        return Version::First;
    }
    if equals(2.0) {
        return Version::Second;
    }
    let message = format!(
        "the XRDF version \"{}\" is unknown",
        short(value.text().unwrap_or_default())
    );
    findings.report(
        &codes::VERSION,
        value.at,
        "format_version",
        message,
        "write format_version: 1.0",
    );
    Version::Unknown
}

/// Returns the default position of every joint with one degree of freedom that is not a mimic: the
/// given one, otherwise zero, clamped to the limits (section 6).
fn default_positions(
    findings: &mut Findings,
    section: &Yaml,
    known: &mut Known<'_>,
    robot: &Robot,
) -> Vec<(JointId, Vec<f64>)> {
    let mut given: HashMap<JointId, f64> = HashMap::new();
    let name = "default_joint_positions";
    for (key, value) in findings.entries(section, name, &codes::REPEATED_JOINT) {
        let element = below("default_joint_positions", &key.text);
        let Some((id, joint)) = known.moving_joint(findings, (key.at, &key.text), &element) else {
            continue;
        };
        let Some(position) = findings.number(value, &element) else {
            continue;
        };
        let bounds = joint.bounds();
        if !bounds.contains(position) {
            let (lower, upper) = (bounds.lower(), bounds.upper());
            let message = format!(
                "\"{}\" is at {position}, outside its limits {lower} … {upper}",
                short(&key.text)
            );
            let help =
                "correct the position, or the limits of the joint; the nearest limit is used";
            findings.report(&codes::OUTSIDE_LIMITS, value.at, &element, message, help);
        }
        given.insert(id, bounds.nearest(position));
    }
    let moving = robot
        .joints()
        .iter()
        .filter(|(_, joint)| known.is_coordinate(joint));
    moving
        .map(|(id, joint)| {
            let position = given
                .get(&id)
                .copied()
                // Adding zero turns -0 into 0.
                .unwrap_or_else(|| joint.bounds().nearest(0.0) + 0.0);
            (id, vec![position])
        })
        .collect()
}

/// Returns whether a joint may be a coordinate: it has one degree of freedom and follows no other.
fn is_coordinate(joint: &Joint) -> bool {
    position_count(joint.kind()) == 1 && joint.mimic().is_none()
}

/// Reads the configuration space (section 7). A joint whose limits are ambiguous becomes a
/// coordinate without limits.
fn cspace(
    findings: &mut Findings,
    fields: &Fields<'_>,
    at: Mark,
    known: &mut Known<'_>,
) -> Vec<Coordinate> {
    const NAME: &str = "cspace";
    let Some(section) = findings.require(fields, NAME, at, "") else {
        return Vec::new();
    };
    let fields = findings.fields(
        section,
        NAME,
        &["joint_names", "acceleration_limits", "jerk_limits"],
    );
    let mut joints: Vec<(usize, JointId)> = Vec::new();
    let mut count = None;
    if let Some(names) = findings.require(&fields, "joint_names", section.at, NAME) {
        let element = below(NAME, "joint_names");
        // Limits belong to items of the list by index, valid or not.
        let items = findings.items(names, &element);
        count = Some(items.len());
        let has_own = || {
            let mut joints = known.robot().joints().values();
            joints.any(|joint| known.is_coordinate(joint))
        };
        if items.is_empty() && has_own() {
            let message = "the configuration space has no joint";
            let help = "list the joints to be planned for";
            findings.report(&codes::NO_COORDINATE, names.at, &element, message, help);
        }
        for (index, name) in findings.numbered_names(items, &element, &codes::REPEATED_JOINT) {
            joints.extend(
                known
                    .moving_joint(findings, name, &element)
                    .map(|(joint, _)| (index, joint)),
            );
        }
    }
    let [acceleration, jerk] = ["acceleration_limits", "jerk_limits"].map(|name| {
        let Some(limits) = findings.require(&fields, name, section.at, NAME) else {
            return Vec::new();
        };
        let element = below(NAME, name);
        let mut values: Vec<Option<f64>> = Vec::new();
        let items = findings.items(limits, &element);
        for item in items {
            let limit = findings.number(item, &element);
            if limit.is_some_and(|limit| limit <= 0.0) {
                let message = format!("{element} has a limit that is not positive");
                findings.report(
                    &codes::BAD_VALUE,
                    item.at,
                    &element,
                    message,
                    "set the maximum magnitude, a positive number",
                );
            }
            values.push(limit.filter(|limit| *limit > 0.0));
        }
        if let Some(count) = count.filter(|count| *count != items.len()) {
            let message = format!("{element} has {} values for {count} joints", items.len());
            let help = "list one limit for each joint, in their order";
            findings.report(&codes::UNEQUAL_LENGTHS, limits.at, &element, message, help);
            values.clear();
        }
        values
    });
    let limit = |limits: &[Option<f64>], index: usize| limits.get(index).copied().flatten();
    let coordinate = |(index, joint)| Coordinate {
        joint,
        acceleration: limit(&acceleration, index),
        jerk: limit(&jerk, index),
    };
    joints.into_iter().map(coordinate).collect()
}

/// Reads the geometry groups and collision sections (sections 3 to 5).
fn collisions(
    findings: &mut Findings,
    fields: &Fields<'_>,
    known: &mut Known<'_>,
    version: Version,
) -> Planning {
    let groups = optional(fields, "geometry")
        .map(|section| spheres::read(findings, section, known, version))
        .unwrap_or_default();
    // Either name is read in every version; only the other version's one is reported.
    let (own, other) = match version {
        Version::Second => ("world_collision", "collision"),
        Version::First | Version::Unknown => ("collision", "world_collision"),
    };
    let mut collision = None;
    if let Some((key, section)) = entry(fields, own).or_else(|| entry(fields, other)) {
        let name = key.text.as_str();
        if name == other && version != Version::Unknown {
            let message =
                format!("{other} is named {own} in this version of XRDF; it is read as {own}");
            findings.report(
                &codes::OTHER_VERSION,
                key.at,
                other,
                message,
                format!("rename it {own}, or change format_version"),
            );
        }
        let fields = findings.fields(section, name, &["geometry", "buffer_distance"]);
        collision = collision_section(findings, section.at, &fields, name, &groups, known);
    }
    if let (Some((first, _)), Some((second, _))) = (entry(fields, own), entry(fields, other)) {
        let message = format!(
            "{other} means {own}, which is already defined on line {}; it is ignored",
            first.at.line
        );
        findings.report(
            &codes::REPEATED,
            second.at,
            other,
            message,
            "remove one of them",
        );
    }
    const SELF: &str = "self_collision";
    let mut planning = Planning::default();
    if let Some(section) = optional(fields, SELF) {
        let fields = findings.fields(section, SELF, &["geometry", "buffer_distance", "ignore"]);
        let own = collision_section(findings, section.at, &fields, SELF, &groups, known);
        let other = collision.as_ref().map(|(_, collision)| collision.group);
        if let Some((at, own)) = &own
            && version == Version::First
            && other.is_some_and(|other| other != own.group)
        {
            let message = "version 1.0 uses one geometry group for self-collision and collision";
            let element = below(SELF, "geometry");
            findings.report(
                &codes::TWO_GEOMETRIES,
                *at,
                &element,
                message,
                "name the same group in both sections",
            );
        }
        planning.self_collision = own.map(|(_, own)| own);
        planning.ignored = optional(&fields, "ignore")
            .map(|ignore| ignored(findings, ignore, known, &groups))
            .unwrap_or_default();
    }
    let collision = collision.map(|(_, collision)| collision);
    groups.report_empty_spheres(
        findings,
        known.robot(),
        [collision.as_ref(), planning.self_collision.as_ref()],
    );
    Planning {
        groups: groups.list,
        collision,
        ..planning
    }
}

/// Reads a collision section, with the position of the geometry group's name; reports and returns
/// `None` if there is no such group.
fn collision_section(
    findings: &mut Findings,
    at: Mark,
    fields: &Fields<'_>,
    name: &str,
    groups: &Groups,
    known: &mut Known<'_>,
) -> Option<(Mark, PlanningCollision)> {
    // Before the group is required, so that errors here are reported in any case.
    let mut buffers = Vec::new();
    if let Some(section) = optional(fields, "buffer_distance") {
        let element = below(name, "buffer_distance");
        for (key, distance) in findings.entries(section, &element, &codes::REPEATED_KEY) {
            let frame = known.frame(findings, (key.at, &key.text), &element);
            let distance = findings.number(distance, &below(&element, &key.text));
            buffers.extend(frame.zip(distance));
        }
    }
    let value = findings.require(fields, "geometry", at, name)?;
    let element = below(name, "geometry");
    let group = findings.name(value, &element)?;
    let Some(group) = groups.list.iter().position(|known| known.name == group) else {
        let message = format!("the geometry group \"{}\" does not exist", short(group));
        findings.report(
            &codes::UNKNOWN_GEOMETRY,
            value.at,
            &element,
            message,
            "add it to the section geometry",
        );
        return None;
    };
    Some((value.at, PlanningCollision { group, buffers }))
}

/// Reads the pairs of `self_collision.ignore`.
fn ignored(
    findings: &mut Findings,
    section: &Yaml,
    known: &mut Known<'_>,
    groups: &Groups,
) -> LinkPairs {
    const NAME: &str = "self_collision / ignore";
    let mut pairs = LinkPairs::default();
    let mut frames = HashSet::new();
    for (key, others) in findings.lists(section, NAME) {
        let first = known.frame(findings, (key.at, &key.text), NAME);
        let element = below(NAME, &key.text);
        for (_, (at, other)) in findings.numbered_names(others, &element, &codes::REPEATED) {
            let (Some(first), Some(second)) = (first, known.frame(findings, (at, other), &element))
            else {
                continue;
            };
            if first == second {
                let message = format!("\"{}\" ignores itself", short(other));
                findings.report(
                    &codes::SAME_FRAME,
                    at,
                    &element,
                    message,
                    "name a different frame",
                );
                continue;
            }
            for (at, name, frame) in [(key.at, key.text.as_str(), first), (at, other, second)] {
                if known.robot().is_frame(frame)
                    && !groups.links.contains(&frame)
                    && frames.insert(frame)
                {
                    let message = format!(
                        "\"{}\" has no mass, geometry or spheres, so it can't collide",
                        short(name)
                    );
                    let help = "name the link with the geometry, or remove the pair";
                    findings.report(&codes::FRAME_IN_PAIR, at, &element, message, help);
                }
            }
            pairs.insert(first, second);
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
