//! XRDF → changes to a [`Robot`]: frames that it adds, the pose that its default positions are, and which pairs of links need no
//! check for collision. Everything else that the specification defines (versions 1.0 and 2.0) is checked and reported, but no
//! output has a use for it yet; that is said too, so that nobody believes it was applied.
//!
//! This module must not know files, ROS, or what the robot is read for.

pub mod codes;
mod frames;
mod reader;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use reader::{Findings, Known, below, optional};

use crate::xml::short;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{JointId, LinkId, NamedPose, Robot};
use urdf_usd_yaml::{self as yaml, Key, Mark, Yaml};

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 16 << 20;
/// The name of the pose that the default positions are.
const DEFAULT_POSE: &str = "default";
/// The sections. Version 2.0 calls `collision` `world_collision`.
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

/// Reads the XRDF `text` and applies to `robot` what the model has words for: frames are added, the default positions become the
/// named pose `default`, and the pairs of `self_collision.ignore` need no check for collision. `file` is where the text is from,
/// for the places in diagnostics.
pub fn apply(text: &str, file: Option<&Path>, robot: &mut Robot) -> Vec<Diagnostic> {
    let mut findings = Findings::new(file);
    if let Some(document) = document(&mut findings, text) {
        sections(&mut findings, &document, robot);
    }
    findings.into_diagnostics()
}

/// The document of the text. None, reported, if it is no XRDF.
fn document(findings: &mut Findings, text: &str) -> Option<Yaml> {
    let start = Mark { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} MiB; the limit is {} MiB", text.len() >> 20, MAX_TEXT >> 20);
        findings.report(&codes::MALFORMED, start, "", message, "no robot needs that; correct the program that wrote it");
        return None;
    }
    let documents = match yaml::read(text) {
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
            None => (first.as_ref().map_or(start, |first| first.at), "the text does not say that it is an XRDF"),
        };
        findings.report(&codes::NOT_XRDF, at, "format", message, "an XRDF begins with format: xrdf");
        return None;
    }
    if let Some(second) = documents.next() {
        let message = "the text has more than one document; the first counts";
        findings.report(&codes::REPEATED, second.at, "", message, "give each a file of its own");
    }
    first
}

fn sections(findings: &mut Findings, document: &Yaml, robot: &mut Robot) {
    let fields = findings.fields(document, "", SECTIONS);
    let is_first_version = version(findings, &fields, document.at);
    let modifiers = optional(&fields, "modifiers").map(|section| (section.at, frames::read(findings, section)));
    if let Some((at, modifiers)) = &modifiers {
        let added = modifiers.add_frames(findings, robot);
        frames::report_added(findings, *at, &added);
    }
    let mut known = Known::of(robot);
    let bases = modifiers.iter().flat_map(|(_, modifiers)| &modifiers.bases);
    let bases: Vec<LinkId> = bases.filter_map(|&base| known.frame(findings, base, "modifiers / set_base_frame")).collect();
    bases.iter().for_each(|base| known.set_base(*base));

    let pose = optional(&fields, "default_joint_positions").map(|section| {
        let place = findings.place(section.at, "default_joint_positions");
        let positions = default_positions(findings, section, &mut known, robot);
        NamedPose { name: DEFAULT_POSE.to_owned(), group: None, positions, place }
    });
    cspace(findings, &fields, document.at, &mut known);
    if let Some(section) = optional(&fields, "tool_frames") {
        for name in findings.names(section, "tool_frames") {
            known.frame(findings, name, "tool_frames");
        }
    }
    let pairs = collisions(findings, &fields, &mut known, is_first_version);
    report_not_used(findings, &fields, document.at, !bases.is_empty());

    let disabled: BTreeSet<_> = robot.disabled_collisions.drain(..).chain(pairs).collect();
    robot.disabled_collisions = disabled.into_iter().collect();
    // A pose of no joints is none.
    robot.named_poses.extend(pose.filter(|pose| !pose.positions.is_empty()));
}

/// Checks the version; whether it is the first.
fn version(findings: &mut Findings, fields: &Fields<'_>, at: Mark) -> bool {
    let help = "write format_version: 1.0";
    let Some(value) = optional(fields, "format_version") else {
        findings.report(&codes::VERSION, at, "format_version", "the XRDF has no format_version", help);
        return false;
    };
    let version = value.text().and_then(|text| text.parse::<f64>().ok());
    let is = |known: f64| version.is_some_and(|version| (version - known).abs() < 1e-9);
    if !is(1.0) && !is(2.0) {
        let message = format!("the version \"{}\" of XRDF is not known", short(value.text().unwrap_or_default()));
        findings.report(&codes::VERSION, value.at, "format_version", message, help);
    }
    is(1.0)
}

/// The default position of every joint that has one position and moves by itself: what is given, or else zero, or the limit that
/// is nearest to it (section 6).
fn default_positions(
    findings: &mut Findings,
    section: &Yaml,
    known: &mut Known<'_>,
    robot: &Robot,
) -> Vec<(JointId, Vec<f64>)> {
    let mut given: HashMap<JointId, f64> = HashMap::new();
    for (key, value) in findings.entries(section, "default_joint_positions") {
        let element = below("default_joint_positions", &key.text);
        let Some((id, joint)) = known.moving_joint(findings, (key.at, &key.text), &element) else { continue };
        let Some(position) = findings.number(value, &element) else { continue };
        let bounds = joint.bounds();
        if !bounds.contains(position) {
            let (lower, upper) = (bounds.lower(), bounds.upper());
            let message = format!("\"{}\" is at {position}, outside its limits {lower} … {upper}", short(&key.text));
            let help = "correct the position, or the limits of the joint";
            findings.report(&codes::OUTSIDE_LIMITS, value.at, &element, message, help);
        }
        given.insert(id, position);
    }
    let moving = robot.joints.iter().enumerate().filter(|(_, joint)| position_count(joint.kind) == 1 && joint.mimic.is_none());
    moving
        .map(|(id, joint)| {
            let position = given.get(&JointId(id)).copied().unwrap_or_else(|| joint.bounds().nearest(0.0) + 0.0);
            (JointId(id), vec![position])
        })
        .collect()
}

/// Checks section 7.
fn cspace(findings: &mut Findings, fields: &Fields<'_>, at: Mark, known: &mut Known<'_>) {
    const NAME: &str = "cspace";
    let Some(section) = findings.required(fields, NAME, at, "") else { return };
    let fields = findings.fields(section, NAME, &["joint_names", "acceleration_limits", "jerk_limits"]);
    let mut count = None;
    if let Some(names) = findings.required(&fields, "joint_names", section.at, NAME) {
        let element = below(NAME, "joint_names");
        // Each limit belongs to an item of the list, whatever the item is.
        let items = findings.items(names, &element).len();
        count = Some(items);
        for name in findings.names(names, &element) {
            known.moving_joint(findings, name, &element);
        }
    }
    for name in ["acceleration_limits", "jerk_limits"] {
        let Some(limits) = findings.required(&fields, name, section.at, NAME) else { continue };
        let element = below(NAME, name);
        let items = findings.items(limits, &element);
        for item in items {
            if findings.number(item, &element).is_some_and(|limit| limit <= 0.0) {
                let message = format!("{element} has a limit that is not positive");
                findings.report(&codes::BAD_VALUE, item.at, &element, message, "give the largest magnitude that is allowed");
            }
        }
        if let Some(count) = count.filter(|count| *count != items.len()) {
            let message = format!("{element} has {} values for {count} joints", items.len());
            findings.report(
                &codes::UNEQUAL_LENGTHS,
                limits.at,
                &element,
                message,
                "give one limit for each joint, in their order",
            );
        }
    }
}

/// Checks sections 3 to 5; gives the pairs of links that need no check for collision.
fn collisions(
    findings: &mut Findings,
    fields: &Fields<'_>,
    known: &mut Known<'_>,
    is_first_version: bool,
) -> Vec<(LinkId, LinkId)> {
    let mut groups = HashSet::new();
    if let Some(section) = optional(fields, "geometry") {
        for (key, group) in findings.entries(section, "geometry") {
            groups.insert(key.text.as_str());
            spheres(findings, group, &below("geometry", &key.text), known);
        }
    }
    let mut used: Option<&str> = None;
    for name in ["collision", "world_collision"] {
        let Some(section) = optional(fields, name) else { continue };
        let fields = findings.fields(section, name, &["geometry", "buffer_distance"]);
        used = used.or(collision(findings, section.at, &fields, name, &groups, known).map(|(_, group)| group));
    }
    const SELF: &str = "self_collision";
    let Some(section) = optional(fields, SELF) else { return Vec::new() };
    let fields = findings.fields(section, SELF, &["geometry", "buffer_distance", "ignore"]);
    if let Some((at, group)) = collision(findings, section.at, &fields, SELF, &groups, known)
        && is_first_version
        && used.is_some_and(|used| used != group)
    {
        let message = "version 1.0 uses one geometry group for self-collision and collision";
        let element = below(SELF, "geometry");
        findings.report(&codes::TWO_GEOMETRIES, at, &element, message, "name the same group in both sections");
    }
    optional(&fields, "ignore").map(|ignore| ignored(findings, ignore, known)).unwrap_or_default()
}

/// Checks what collision sections have in common; gives the geometry group and where it is named.
fn collision<'a>(
    findings: &mut Findings,
    at: Mark,
    fields: &Fields<'a>,
    name: &str,
    groups: &HashSet<&str>,
    known: &mut Known<'_>,
) -> Option<(Mark, &'a str)> {
    if let Some(buffers) = optional(fields, "buffer_distance") {
        let element = below(name, "buffer_distance");
        for (key, distance) in findings.entries(buffers, &element) {
            known.frame(findings, (key.at, &key.text), &element);
            findings.number(distance, &below(&element, &key.text));
        }
    }
    let value = findings.required(fields, "geometry", at, name)?;
    let element = below(name, "geometry");
    let group = findings.name(value, &element)?;
    if !groups.contains(group) {
        let message = format!("there is no geometry group \"{}\"", short(group));
        findings.report(&codes::UNKNOWN_GEOMETRY, value.at, &element, message, "add it to the section geometry");
        return None;
    }
    Some((value.at, group))
}

/// Checks the spheres of a geometry group.
fn spheres(findings: &mut Findings, group: &Yaml, element: &str, known: &mut Known<'_>) {
    let fields = findings.fields(group, element, &["spheres"]);
    let Some(frames) = findings.required(&fields, "spheres", group.at, element) else { return };
    let element = below(element, "spheres");
    for (key, spheres) in findings.entries(frames, &element) {
        known.frame(findings, (key.at, &key.text), &element);
        let element = below(&element, &key.text);
        for sphere in findings.items(spheres, &element) {
            let fields = findings.fields(sphere, &element, &["center", "radius"]);
            if let Some(center) = findings.required(&fields, "center", sphere.at, &element) {
                findings.three_numbers(center, &below(&element, "center"));
            }
            // Real files have negative ones, which only a buffer distance makes a sphere of.
            if let Some(radius) = findings.required(&fields, "radius", sphere.at, &element) {
                findings.number(radius, &below(&element, "radius"));
            }
        }
    }
}

/// The pairs of `self_collision.ignore`.
fn ignored(findings: &mut Findings, section: &Yaml, known: &mut Known<'_>) -> Vec<(LinkId, LinkId)> {
    const NAME: &str = "self_collision / ignore";
    let mut pairs = Vec::new();
    let mut frames = HashSet::new();
    for (key, others) in findings.entries(section, NAME) {
        let first = known.frame(findings, (key.at, &key.text), NAME);
        let element = below(NAME, &key.text);
        for (at, other) in findings.names(others, &element) {
            let (Some(first), Some(second)) = (first, known.frame(findings, (at, other), &element)) else { continue };
            if first == second {
                let message = format!("\"{}\" is told to ignore itself", short(other));
                findings.report(&codes::SAME_FRAME, at, &element, message, "name another frame");
            } else if let Some((at, name, frame)) = [(key.at, key.text.as_str(), first), (at, other, second)]
                .into_iter()
                .find(|&(.., link)| known.robot().is_frame(link))
            {
                if frames.insert(frame) {
                    let message = format!("\"{}\" is a frame, not a body: it collides with nothing", short(name));
                    let help = "name the link that the geometry is on, or remove the pair";
                    findings.report(&codes::FRAME_IN_PAIR, at, &element, message, help);
                }
            } else {
                pairs.push((first.min(second), first.max(second)));
            }
        }
    }
    pairs
}

/// Says which parts were only checked.
fn report_not_used(findings: &mut Findings, fields: &Fields<'_>, at: Mark, has_base: bool) {
    let mut unused: Vec<String> = has_base.then(|| "modifiers.set_base_frame".to_owned()).into_iter().collect();
    for (key, section) in fields {
        match key.text.as_str() {
            name @ ("cspace" | "tool_frames" | "geometry" | "collision" | "world_collision") => unused.push(name.to_owned()),
            name @ "self_collision" => unused.extend(
                ["geometry", "buffer_distance"]
                    .iter()
                    .filter(|field| section.get(field).is_some())
                    .map(|field| format!("{name}.{field}")),
            ),
            _ => {}
        }
    }
    if !unused.is_empty() {
        let message = format!("these parts were checked, but no output has them: {}", unused.join(", "));
        let help = "the added frames, the default joint positions and the pairs that self-collision ignores are applied";
        findings.report(&codes::NOT_USED, at, "", message, help);
    }
}

#[cfg(test)]
mod tests;
