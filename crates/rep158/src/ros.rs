//! What the prims of a stage declare for ROS: contexts, interfaces and TF frames (REP-158 §2).

use std::collections::HashSet;

use nalgebra::Matrix4;
use urdf_usd_stage::{Prim, PrimId, Stage, Value};

use super::findings::Findings;
use super::layers::is_ros;
use super::physics::{End, Physics, is_body};

/// A kind of interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `RosTopicAPI`.
    Topic,
    /// `RosServiceAPI`.
    Service,
    /// `RosActionAPI`.
    Action,
}

/// An interface that a prim declares.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// The prim.
    pub id: PrimId,
    /// The same.
    pub prim: &'a Prim,
    /// What it declares.
    pub kind: Kind,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Topic, Self::Service, Self::Action];

    /// The schema that declares it.
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Topic => "RosTopicAPI",
            Self::Service => "RosServiceAPI",
            Self::Action => "RosActionAPI",
        }
    }

    /// What people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Service => "service",
            Self::Action => "action",
        }
    }

    /// The middle of its type's name: `msg` in `std_msgs/msg/String`.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Topic => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    /// The roles that it may have.
    pub const fn roles(self) -> [&'static str; 2] {
        match self {
            Self::Topic => ["publisher", "subscription"],
            Self::Service | Self::Action => ["server", "client"],
        }
    }
}

impl<'a> Interface<'a> {
    /// The name of an attribute of its schema: `ros:topic:name`.
    pub fn attribute(&self, last: &str) -> String {
        format!("ros:{}:{last}", self.kind.word())
    }

    /// The text of an attribute of its schema, if it is not empty.
    pub fn text(&self, last: &str) -> Option<&'a str> {
        self.prim
            .text(&self.attribute(last))
            .filter(|text| !text.is_empty())
    }

    /// Whether it is a topic that the asset publishes.
    pub fn is_publisher(&self) -> bool {
        self.kind == Kind::Topic && self.text("role") == Some("publisher")
    }

    /// Whether it publishes what a sensor measures at its place on the robot.
    pub fn is_sensor(&self) -> bool {
        let is_local = |name: &str| {
            matches!(
                name,
                "CameraInfo"
                    | "CompressedImage"
                    | "FluidPressure"
                    | "Illuminance"
                    | "Image"
                    | "Imu"
                    | "LaserScan"
                    | "MagneticField"
                    | "MultiEchoLaserScan"
                    | "NavSatFix"
                    | "PointCloud"
                    | "PointCloud2"
                    | "Range"
                    | "RelativeHumidity"
                    | "Temperature"
            )
        };
        self.is_publisher()
            && self
                .text("type")
                .and_then(|name| name.strip_prefix("sensor_msgs/msg/"))
                .is_some_and(is_local)
    }

    /// Whether it is about all joints or the whole robot.
    pub fn is_robot_wide(&self) -> bool {
        let name = self.text("type").unwrap_or_default();
        matches!(
            name,
            "sensor_msgs/msg/JointState"
                | "trajectory_msgs/msg/JointTrajectory"
                | "control_msgs/action/FollowJointTrajectory"
                | "control_msgs/msg/DynamicJointState"
                | "control_msgs/msg/JointTrajectoryControllerState"
                | "tf2_msgs/msg/TFMessage"
        ) || self.kind == Kind::Topic
            && self
                .text("name")
                .is_some_and(|topic| last(topic) == "robot_description")
    }
}

/// All interfaces of a stage.
pub fn interfaces(stage: &Stage) -> impl Iterator<Item = Interface<'_>> {
    stage.present().flat_map(|(id, prim)| {
        Kind::ALL
            .into_iter()
            .filter(|kind| prim.has(kind.schema()))
            .map(move |kind| Interface { id, prim, kind })
    })
}

/// All interfaces of a kind.
pub fn of_kind(stage: &Stage, kind: Kind) -> impl Iterator<Item = Interface<'_>> {
    interfaces(stage).filter(move |interface| interface.kind == kind)
}

/// Reports an attribute of the prim `id`, a `what`, whose value is not a Boolean.
pub fn check_bool(findings: &mut Findings<'_>, stage: &Stage, id: PrimId, what: &str, name: &str) {
    let prim = &stage[id];
    if prim.value(name).is_some() && prim.flag(name).is_none() {
        let message = format!(
            "the {what} {} has a value for {name} that is no bool",
            prim.path
        );
        findings.prim(
            id,
            Some(name),
            message,
            format!("author `bool {name}`, true or false"),
        );
    }
}

/// Reports interfaces of a kind whose `starts_enabled` is not a Boolean.
pub fn check_starts_enabled(stage: &Stage, kind: Kind, findings: &mut Findings<'_>) {
    for interface in of_kind(stage, kind) {
        let name = interface.attribute("starts_enabled");
        check_bool(findings, stage, interface.id, kind.word(), &name);
    }
}

/// Reports services or actions without role, name or type, of which `example` is one.
pub fn check_required(stage: &Stage, kind: Kind, example: &str, findings: &mut Findings<'_>) {
    let word = kind.word();
    for interface in of_kind(stage, kind) {
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the {word} {path} has no {last}"),
                Some(role) if last == "role" && !kind.roles().contains(&role) => {
                    format!("the {word} {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => {
                    let [one, other] = kind.roles();
                    format!("author `token ros:{word}:role`, \"{one}\" or \"{other}\"")
                }
                "name" => format!("author `string ros:{word}:name`, relative to the namespace"),
                _ => format!("author `string ros:{word}:type`, such as \"{example}\""),
            };
            findings.prim(
                interface.id,
                Some(&interface.attribute(last)),
                message,
                help,
            );
        }
    }
}

/// The schemas for ROS that a prim bears.
pub fn schemas(prim: &Prim) -> impl Iterator<Item = &str> {
    const ALL: [&str; 5] = [
        "RosContextAPI",
        "RosTopicAPI",
        "RosServiceAPI",
        "RosActionAPI",
        "RosFrameAPI",
    ];
    prim.schemas
        .iter()
        .map(String::as_str)
        .filter(|schema| ALL.contains(schema))
}

/// The schemas for ROS that a prim has only when a payload above it is loaded. A prim that bears
/// the payload itself has none here: REP158-1.2.10 tells of it.
pub fn in_payload(prim: &Prim) -> impl Iterator<Item = &str> {
    let schemas = if prim.bears_payload() {
        &[]
    } else {
        prim.payload_schemas.as_slice()
    };
    schemas
        .iter()
        .map(String::as_str)
        .filter(|schema| is_ros(schema))
}

/// Whether a prim is a context.
pub fn is_context(prim: &Prim) -> bool {
    prim.has("RosContextAPI")
}

/// All contexts of a stage.
pub fn contexts(stage: &Stage) -> impl Iterator<Item = (PrimId, &Prim)> {
    stage.present().filter(|(_, prim)| is_context(prim))
}

/// The contexts at and above a prim, the nearest first.
pub fn contexts_of(stage: &Stage, id: PrimId) -> impl Iterator<Item = PrimId> {
    stage
        .self_and_ancestors(id)
        .filter(|&id| is_context(&stage[id]))
}

/// The topmost context at or above a prim: the robot that it belongs to.
pub fn robot_of(stage: &Stage, id: PrimId) -> Option<PrimId> {
    contexts_of(stage, id).last()
}

/// The namespace at a prim, from the root: `/robot_1/camera`; empty if no context says one
/// (§2.1.1).
pub fn namespace(stage: &Stage, id: PrimId) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for context in contexts_of(stage, id) {
        let Some(segment) = stage[context]
            .text("ros:context:namespace")
            .filter(|text| !text.is_empty())
        else {
            continue;
        };
        segments.push(segment.trim_matches('/'));
        if segment.starts_with('/') {
            break;
        }
    }
    segments
        .iter()
        .rev()
        .filter(|segment| !segment.is_empty())
        .fold(String::new(), |all, segment| format!("{all}/{segment}"))
}

/// What a name means at a prim: `/robot_1/camera/image_raw`.
pub fn resolved(stage: &Stage, id: PrimId, name: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("{}/{name}", namespace(stage, id))
    }
}

/// The last segment of a name.
pub fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// What is wrong with the name of a topic, service or action, if anything is: "has an empty part".
pub fn fault_of_name(name: &str) -> Option<String> {
    /// The longest name that all of ROS's middleware takes.
    const LONGEST: usize = 247;
    if name.starts_with('~') {
        return Some("begins with ~, the name of a node, which an asset does not have".to_owned());
    }
    if name.len() > LONGEST {
        return Some(format!("is longer than {LONGEST} characters"));
    }
    name.strip_prefix('/')
        .unwrap_or(name)
        .split('/')
        .find_map(fault_of_segment)
}

/// What is wrong with a part of a name between slashes, if anything is.
pub fn fault_of_segment(segment: &str) -> Option<String> {
    let Some(first) = segment.chars().next() else {
        return Some("has an empty part: a / is too many, or nothing stands beside it".to_owned());
    };
    if first.is_ascii_digit() {
        return Some(format!("has a part that begins with the digit {first}"));
    }
    let strange = segment
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && *c != '_')?;
    Some(format!(
        "contains {}",
        if strange == ' ' {
            "a space".to_owned()
        } else {
            format!("`{}`", strange.escape_debug())
        }
    ))
}

/// What is wrong with the name of a TF frame, if anything is; tf2 takes none that begins with a
/// slash.
pub fn fault_of_frame(name: &str) -> Option<String> {
    if name.starts_with('/') {
        Some("begins with a /, which tf2 refuses".to_owned())
    } else {
        fault_of_name(name)
    }
}

/// What is wrong with the value of an attribute for a frame name, if anything is: `"a b", which
/// contains a space`. An empty one says nothing.
pub fn fault_of_frame_value(value: &Value) -> Option<String> {
    match value {
        Value::String(name) if name.is_empty() => None,
        Value::String(name) => {
            fault_of_frame(name).map(|fault| format!("\"{name}\", which {fault}"))
        }
        _ => Some("not a string".to_owned()),
    }
}

/// A TF frame.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// The prim.
    pub id: PrimId,
    /// Its name in TF.
    pub name: &'a str,
    /// Whether `ros:frame:id` says the name.
    pub is_named: bool,
}

/// All frames that a simulator announces (§2.7): contexts, bodies on joints, and prims with
/// RosFrameAPI.
pub fn frames<'a>(stage: &'a Stage, physics: &Physics) -> Vec<Frame<'a>> {
    let on_joints: HashSet<PrimId> = physics
        .joints
        .iter()
        .flat_map(|joint| &joint.ends)
        .filter_map(|end| {
            if let End::Body(id) = end {
                Some(*id)
            } else {
                None
            }
        })
        .collect();
    let mut frames = Vec::new();
    for (id, prim) in stage.present() {
        let is_explicit = prim.has("RosFrameAPI");
        if is_explicit || is_context(prim) || on_joints.contains(&id) && is_body(prim) {
            let named = prim
                .text("ros:frame:id")
                .filter(|name| is_explicit && !name.is_empty());
            frames.push(Frame {
                id,
                name: named.unwrap_or_else(|| prim.name()),
                is_named: named.is_some(),
            });
        }
    }
    frames
}

/// Whether a transform leads from a camera to its optical frame: a turn by 180° about x, and
/// nothing else (§2.8).
pub fn is_optical(matrix: &Matrix4<f64>) -> bool {
    /// What rounding to single precision leaves.
    const SLACK: f64 = 1e-5;
    let turn = Matrix4::from_diagonal(&[1.0, -1.0, -1.0, 1.0].into());
    (matrix - turn).abs().max() < SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for good in ["joint_states", "/robot_1/cmd_vel", "_hidden", "a/b2"] {
            assert_eq!(fault_of_name(good), None, "{good}");
        }
        for bad in [
            "", "/", "a/", "a//b", "2d", "a/2d", "a b", "a-b", "~/x", "{node}/x", "größe",
        ] {
            assert!(fault_of_name(bad).is_some(), "{bad}");
        }
        assert!(fault_of_name(&"a".repeat(248)).is_some());
    }
}
