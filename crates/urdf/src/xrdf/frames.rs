//! Reads and applies `modifiers` (section 2): frames to add, and the new root.

use std::collections::{HashMap, HashSet, VecDeque};

use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};

use super::codes;
use super::reader::{Findings, Known, Removed, below, optional};
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{InvalidRobot, Joint, JointId, JointKind, Link, LinkId, Pose, Robot, WORLD};
use urdf_usd_text::yaml::{Mark, Yaml};

/// Maximum number of added frames.
const MAX_FRAMES: usize = 1000;
/// Deviation of a quaternion from unit length that is not reported: numbers in files are rounded.
const UNIT_TOLERANCE: f64 = 1e-3;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 5;

/// A name and its position.
pub(super) type Name<'a> = (Mark, &'a str);

/// The modifiers of an XRDF.
#[derive(Default)]
pub(super) struct Modifiers<'a> {
    frames: Vec<Frame<'a>>,
    /// Frames to be made the root.
    bases: Vec<Name<'a>>,
}

/// A frame to add.
struct Frame<'a> {
    at: Mark,
    name: Name<'a>,
    parent: Name<'a>,
    joint: Name<'a>,
    kind: JointKind,
    pose: Pose,
}

/// Reads the section.
pub(super) fn read<'a>(findings: &mut Findings, section: &'a Yaml) -> Modifiers<'a> {
    let mut modifiers = Modifiers::default();
    for item in findings.items(section, "modifiers") {
        const KNOWN: &[&str] = &["add_frame", "set_base_frame"];
        let unknown = &codes::UNKNOWN_MODIFIER;
        for (key, value) in findings.known_entries(item, "modifiers", KNOWN, unknown) {
            let element = below("modifiers", &key.text);
            if key.text == "set_base_frame" {
                modifiers
                    .bases
                    .extend(findings.name(value, &element).map(|name| (value.at, name)));
            } else if modifiers.frames.len() == MAX_FRAMES {
                let message = format!(
                    "the limit of {MAX_FRAMES} frames is reached; further ones are left out"
                );
                findings.report(
                    &codes::TOO_MANY_FRAMES,
                    key.at,
                    &element,
                    message,
                    "put the frames into the URDF",
                );
                return modifiers;
            } else {
                modifiers
                    .frames
                    .extend(frame(findings, key.at, value, &element));
            }
        }
    }
    modifiers
}

fn frame<'a>(
    findings: &mut Findings,
    at: Mark,
    value: &'a Yaml,
    element: &str,
) -> Option<Frame<'a>> {
    const FIELDS: &[&str] = &[
        "frame_name",
        "parent_frame_name",
        "joint_name",
        "joint_type",
        "fixed_transform",
    ];
    let fields = findings.fields(value, element, FIELDS);
    let mut name = |field: &str| {
        let value = findings.require(&fields, field, at, element)?;
        Some((value.at, findings.name(value, &below(element, field))?))
    };
    let (name, parent, joint) = (
        name("frame_name"),
        name("parent_frame_name"),
        name("joint_name"),
    );
    let kind = optional(&fields, "joint_type").map_or(Some(JointKind::Fixed), |kind| {
        joint_kind(findings, kind, &below(element, "joint_type"))
    });
    let pose = findings
        .require(&fields, "fixed_transform", at, element)
        .and_then(|value| pose(findings, value, &below(element, "fixed_transform")));
    Some(Frame {
        at,
        name: name?,
        parent: parent?,
        joint: joint?,
        kind: kind?,
        pose: pose?,
    })
}

/// Reads the kind of the joint of a frame. XRDF defines fixed ones only; moving ones are accepted
/// with a report. Reports and returns `None` for any other word.
fn joint_kind(findings: &mut Findings, value: &Yaml, element: &str) -> Option<JointKind> {
    const MOVING: [JointKind; 3] = [
        JointKind::Revolute,
        JointKind::Continuous,
        JointKind::Prismatic,
    ];
    let text = findings.name(value, element)?;
    let matches = |kind: &JointKind| text.eq_ignore_ascii_case(kind.as_str());
    if matches(&JointKind::Fixed) {
        if text != "FIXED" {
            findings.report(
                &codes::JOINT_TYPE_CASE,
                value.at,
                element,
                format!("the joint type is \"{}\" instead of FIXED", short(text)),
                "write FIXED: planners may compare letter by letter",
            );
        }
        return Some(JointKind::Fixed);
    }
    let kind = MOVING.into_iter().find(matches);
    let message = match kind {
        Some(kind) => format!(
            "the joint of an added frame must be FIXED; it is read as {}, with axis x",
            kind.as_str()
        ),
        None => format!(
            "the joint of an added frame must be FIXED, not \"{}\"; the frame is left out",
            short(text)
        ),
    };
    findings.report(
        &codes::BAD_VALUE,
        value.at,
        element,
        message,
        "use FIXED, or define the moving joint in the URDF",
    );
    kind
}

fn pose(findings: &mut Findings, value: &Yaml, element: &str) -> Option<Pose> {
    let fields = findings.fields(value, element, &["position", "orientation"]);
    let position = findings
        .require(&fields, "position", value.at, element)
        .and_then(|value| findings.three_numbers(value, &below(element, "position")));
    let orientation = findings
        .require(&fields, "orientation", value.at, element)
        .and_then(|value| rotation(findings, value, &below(element, "orientation")));
    Some(Pose::from_parts(
        Translation3::from(Vector3::from(position?)),
        orientation?,
    ))
}

fn rotation(findings: &mut Findings, value: &Yaml, element: &str) -> Option<UnitQuaternion<f64>> {
    let fields = findings.fields(value, element, &["w", "xyz"]);
    let w = findings
        .require(&fields, "w", value.at, element)
        .and_then(|w| findings.number(w, &below(element, "w")));
    let xyz = findings
        .require(&fields, "xyz", value.at, element)
        .and_then(|xyz| findings.three_numbers(xyz, &below(element, "xyz")));
    let [x, y, z] = xyz?;
    let quaternion = Quaternion::new(w?, x, y, z);
    let length = quaternion.norm();
    // Only length zero has no direction.
    let rotation = UnitQuaternion::try_new(quaternion, f64::MIN_POSITIVE);
    if (length - 1.0).abs() > UNIT_TOLERANCE {
        let message = format!("the quaternion has length {length:.4} instead of 1");
        let code = match rotation {
            Some(_) => &codes::NOT_UNIT,
            None => &codes::BAD_VALUE,
        };
        findings.report(code, value.at, element, message, "use a unit quaternion");
    }
    rotation
}

impl Modifiers<'_> {
    /// Returns the link to be made the root, which is one of the robot's own; reports invalid and
    /// further ones.
    pub fn base(&self, findings: &mut Findings, robot: &Robot) -> Option<(Mark, LinkId)> {
        const ELEMENT: &str = "modifiers / set_base_frame";
        let mut known = Known::new(robot, Removed::default());
        let mut base: Option<(Mark, LinkId)> = None;
        for &(at, name) in &self.bases {
            let is_link = robot.links().values().any(|link| link.name() == name);
            if !is_link && self.frames.iter().any(|frame| frame.name.1 == name) {
                let message = format!(
                    "\"{}\" is an added frame, which can't be the root",
                    short(name)
                );
                findings.report(
                    &codes::BASE_ADDED,
                    at,
                    ELEMENT,
                    message,
                    "name a link of the robot",
                );
                continue;
            }
            let Some(link) = known.frame(findings, (at, name), ELEMENT) else {
                continue;
            };
            match base {
                None => base = Some((at, link)),
                Some((first, known)) => {
                    let (code, what) = match known == link {
                        true => (&codes::REPEATED, "already the root"),
                        false => (&codes::TWO_BASES, "ignored: another root is set"),
                    };
                    let message = format!("\"{}\" is {what}, on line {}", short(name), first.line);
                    findings.report(code, at, ELEMENT, message, "remove one of them");
                }
            }
        }
        base
    }

    /// Removes frames from `added` that are not below the new root, and reports them.
    pub fn report_left_behind(
        &self,
        findings: &mut Findings,
        robot: &Robot,
        base: LinkId,
        added: &mut Vec<String>,
    ) {
        for frame in &self.frames {
            let link = robot.link_named(frame.name.1);
            let is_left = link.is_some_and(|link| !robot.tree().is_below(link, base));
            if is_left && let Some(index) = added.iter().position(|name| name == frame.name.1) {
                added.remove(index);
                let message = format!(
                    "\"{}\" is not below the root that set_base_frame sets",
                    short(frame.parent.1)
                );
                let element = "modifiers / add_frame / parent_frame_name";
                findings.report(
                    &codes::ABOVE_BASE,
                    frame.parent.0,
                    element,
                    message,
                    "name a frame below the root",
                );
            }
        }
    }

    /// Adds the frames to the robot, in any order, and reports those that can't be added. Returns
    /// the names of the added ones.
    pub fn add_frames(&self, findings: &mut Findings, robot: &mut Robot) -> Vec<String> {
        // Frames without and with an existing parent.
        let mut waiting: HashMap<&str, Vec<&Frame<'_>>> = HashMap::new();
        let mut ready: VecDeque<&Frame<'_>> = VecDeque::new();
        for frame in &self.frames {
            match robot.link_named(frame.parent.1) {
                Some(_) => ready.push_back(frame),
                None => waiting.entry(frame.parent.1).or_default().push(frame),
            }
        }
        let mut added = Vec::new();
        // Each frame is visited once, after its parent: passes over the list until nothing changes
        // would be quadratic.
        while let Some(frame) = ready.pop_front() {
            let taken = [
                (
                    "frame",
                    frame.name,
                    robot.link_named(frame.name.1).is_some(),
                ),
                (
                    "joint",
                    frame.joint,
                    robot.joint_named(frame.joint.1).is_some(),
                ),
            ];
            if let Some((what, (at, name), _)) = taken.into_iter().find(|(.., is_taken)| *is_taken)
            {
                let message = format!(
                    "a {} named \"{}\" already exists",
                    if what == "frame" { "link" } else { what },
                    short(name)
                );
                let element = format!("modifiers / add_frame / {what}_name");
                findings.report(
                    &codes::NAME_TAKEN,
                    at,
                    &element,
                    message,
                    "use a unique name",
                );
                continue;
            }
            let place = findings.place(frame.at, "modifiers / add_frame");
            if let Err(error) = add_frame(robot, frame, place) {
                findings.refuse(&error, frame.at, "modifiers / add_frame");
                continue;
            }
            added.push(frame.name.1.to_owned());
            ready.extend(waiting.remove(frame.name.1).into_iter().flatten());
        }
        // In the order of the text, for deterministic findings.
        let orphans: Vec<&Frame<'_>> = self
            .frames
            .iter()
            .filter(|frame| waiting.contains_key(frame.parent.1))
            .collect();
        report_orphans(findings, &orphans);
        added
    }

    /// Returns the names in `added` in the order of the text.
    pub fn in_order(&self, added: &[String]) -> Vec<String> {
        let names = self.frames.iter().map(|frame| frame.name.1);
        let is_added = |name: &&str| added.iter().any(|added| added == name);
        names.filter(is_added).map(str::to_owned).collect()
    }
}

/// Reports frames that nothing connects to the robot: those of a cycle once for each cycle.
fn report_orphans(findings: &mut Findings, orphans: &[&Frame<'_>]) {
    const ELEMENT: &str = "modifiers / add_frame / parent_frame_name";
    let parents: HashMap<&str, &str> = orphans
        .iter()
        .map(|frame| (frame.name.1, frame.parent.1))
        .collect();
    let mut in_cycle: HashSet<&str> = HashSet::new();
    for frame in orphans {
        let ((at, parent), (_, name)) = (frame.parent, frame.name);
        if in_cycle.contains(name) {
            continue;
        }
        let mut path = vec![name];
        let mut next = parent;
        // At most each frame once, then the path leaves the orphans, or comes back to its start, or
        // stays in a cycle above it.
        while next != name && path.len() <= orphans.len() {
            path.push(next);
            let Some(above) = parents.get(next) else {
                break;
            };
            next = above;
        }
        let (name, parent) = (short(name), short(parent));
        if next == frame.name.1 {
            let mut names: Vec<String> = path.iter().take(MAX_NAMES).map(|at| short(at)).collect();
            if path.len() > MAX_NAMES {
                names.push("…".to_owned());
            }
            let message = format!(
                "\"{name}\" is its own parent in a cycle of frames: {} → {name}",
                names.join(" → ")
            );
            let help = "attach one of the frames to a link of the robot";
            findings.report(&codes::CIRCULAR_FRAMES, at, ELEMENT, message, help);
            in_cycle.extend(path);
            continue;
        }
        let what = if parents.contains_key(frame.parent.1) {
            "is not connected to the robot"
        } else {
            "does not exist"
        };
        let message = format!("the frame \"{parent}\", the parent of \"{name}\", {what}");
        let help = "name a link of the robot, or a frame that is added to it";
        findings.report(&codes::UNKNOWN_FRAME, at, ELEMENT, message, help);
    }
}

/// Connects `base`, the root, to a new link `world` with the same frame by a fixed joint `joint`.
/// Without a base, or with a link `world` already, nothing changes.
///
/// # Errors
/// Returns an error if the robot has another joint of this name.
pub(super) fn fix_to_world(
    robot: &mut Robot,
    base: Option<LinkId>,
    joint: &str,
    place: Place,
) -> Result<(), InvalidRobot> {
    let Some(base) = base.filter(|_| robot.link_named(WORLD).is_none()) else {
        return Ok(());
    };
    let world = robot.add_link(empty_link(WORLD, place.clone()))?;
    let mut joint = Joint::new(joint, JointKind::Fixed, world, base);
    joint.place = place;
    robot.add_joint(joint).map(|_| ())
}

/// Reports the added frames.
pub(super) fn report_added(findings: &mut Findings, at: Mark, added: &[String]) {
    if added.is_empty() {
        return;
    }
    let names: Vec<String> = added
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("\"{}\"", short(name)))
        .collect();
    let more = if added.len() > MAX_NAMES { ", …" } else { "" };
    let message = format!(
        "{} frames are added to the robot: {}{more}",
        added.len(),
        names.join(", ")
    );
    let help = "publish their transforms, or add them to the URDF, to use them in ROS";
    findings.report(&codes::FRAMES_ADDED, at, "modifiers", message, help);
}

fn empty_link(name: &str, place: Place) -> Link {
    let mut link = Link::new(name);
    link.place = place;
    link
}

/// Adds a frame, whose names are free, to a robot that has its parent.
fn add_frame(robot: &mut Robot, frame: &Frame<'_>, place: Place) -> Result<JointId, InvalidRobot> {
    let parent = robot.link_named(frame.parent.1);
    let parent = parent.ok_or_else(|| InvalidRobot::Dangling(frame.name.1.to_owned()))?;
    let child = robot.add_link(empty_link(frame.name.1, place.clone()))?;
    let mut joint = Joint::new(frame.joint.1, frame.kind, parent, child);
    (joint.origin, joint.place) = (frame.pose, place);
    robot.add_joint(joint)
}
