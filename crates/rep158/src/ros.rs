//! ROS declarations of a stage: contexts, interfaces and TF frames (REP-158 §2).

use std::collections::HashSet;

use nalgebra::Matrix4;
use urdf_usd_stage::{Prim, PrimId, Stage, Value};

use super::findings::Findings;
use super::layers::is_ros;
use super::physics::{End, Physics, is_body};

/// A kind of ROS interface.
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
    /// The id of the prim.
    pub id: PrimId,
    /// The prim.
    pub prim: &'a Prim,
    /// The kind of interface.
    pub kind: Kind,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Topic, Self::Service, Self::Action];

    /// Returns the schema that declares the interface.
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Topic => "RosTopicAPI",
            Self::Service => "RosServiceAPI",
            Self::Action => "RosActionAPI",
        }
    }

    /// Returns the name for messages, which is also the namespace of the attributes.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Service => "service",
            Self::Action => "action",
        }
    }

    /// Returns the middle part of a type name: `msg` in `std_msgs/msg/String`.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Topic => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    /// Returns the valid roles.
    pub const fn roles(self) -> [&'static str; 2] {
        match self {
            Self::Topic => ["publisher", "subscription"],
            Self::Service | Self::Action => ["server", "client"],
        }
    }
}

impl<'a> Interface<'a> {
    /// Returns the name of an attribute of the schema: `ros:topic:name`.
    pub fn attribute(&self, last: &str) -> String {
        format!("ros:{}:{last}", self.kind.label())
    }

    /// Returns the text of an attribute of the schema, if it is not empty.
    pub fn text(&self, last: &str) -> Option<&'a str> {
        self.prim
            .text(&self.attribute(last))
            .filter(|text| !text.is_empty())
    }

    /// Whether the interface is a topic that the asset publishes.
    pub fn is_publisher(&self) -> bool {
        self.kind == Kind::Topic && self.text("role") == Some("publisher")
    }

    /// Whether the interface publishes measurements of a sensor with a place on the robot.
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

    /// Whether the interface concerns all joints or the whole robot.
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
                .is_some_and(|topic| last_segment(topic) == "robot_description")
    }
}

/// Iterates over all interfaces of a stage.
pub fn interfaces(stage: &Stage) -> impl Iterator<Item = Interface<'_>> {
    stage.present().flat_map(|(id, prim)| {
        Kind::ALL
            .into_iter()
            .filter(|kind| prim.has(kind.schema()))
            .map(move |kind| Interface { id, prim, kind })
    })
}

/// Iterates over all interfaces of a kind.
pub fn interfaces_of_kind(stage: &Stage, kind: Kind) -> impl Iterator<Item = Interface<'_>> {
    interfaces(stage).filter(move |interface| interface.kind == kind)
}

/// Reports an attribute of the prim `id` whose value is not a Boolean; `what` names the prim.
pub fn check_bool(findings: &mut Findings<'_>, stage: &Stage, id: PrimId, what: &str, name: &str) {
    let prim = &stage[id];
    if prim.value(name).is_some() && prim.flag(name).is_none() {
        let message = format!(
            "the {what} {} has a {name} that is not a Boolean",
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
    for interface in interfaces_of_kind(stage, kind) {
        let name = interface.attribute("starts_enabled");
        check_bool(findings, stage, interface.id, kind.label(), &name);
    }
}

/// Reports services or actions without role, name or type; `example` is a type for the remedy.
pub fn check_required(stage: &Stage, kind: Kind, example: &str, findings: &mut Findings<'_>) {
    let label = kind.label();
    for interface in interfaces_of_kind(stage, kind) {
        let path = &interface.prim.path;
        for last in ["role", "name", "type"] {
            let message = match interface.text(last) {
                None => format!("the {label} {path} has no {last}"),
                Some(role) if last == "role" && !kind.roles().contains(&role) => {
                    format!("the {label} {path} has the role \"{role}\"")
                }
                Some(_) => continue,
            };
            let help = match last {
                "role" => {
                    let [one, other] = kind.roles();
                    format!("author `token ros:{label}:role`, \"{one}\" or \"{other}\"")
                }
                "name" => format!("author `string ros:{label}:name`, relative to the namespace"),
                _ => format!("author `string ros:{label}:type`, such as \"{example}\""),
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

/// Iterates over the ROS schemas of a prim.
pub fn schemas(prim: &Prim) -> impl Iterator<Item = &str> {
    prim.schemas
        .iter()
        .map(String::as_str)
        .filter(|schema| is_ros(schema))
}

/// Iterates over the ROS schemas that a prim has only when a payload above it is loaded.
///
/// There are none for the prim with the payload itself, which REP158-1.2.10 reports.
pub fn in_payload(prim: &Prim) -> impl Iterator<Item = &str> {
    let schemas = if prim.has_payload() {
        &[]
    } else {
        prim.payload_schemas.as_slice()
    };
    schemas
        .iter()
        .map(String::as_str)
        .filter(|schema| is_ros(schema))
}

/// Whether a prim is a ROS context.
pub fn is_context(prim: &Prim) -> bool {
    prim.has("RosContextAPI")
}

/// Iterates over all contexts of a stage.
pub fn contexts(stage: &Stage) -> impl Iterator<Item = (PrimId, &Prim)> {
    stage.present().filter(|(_, prim)| is_context(prim))
}

/// Iterates over the contexts at and above a prim, the nearest first.
pub fn contexts_of(stage: &Stage, id: PrimId) -> impl Iterator<Item = PrimId> {
    stage
        .self_and_ancestors(id)
        .filter(|&id| is_context(&stage[id]))
}

/// Returns the topmost context at or above a prim: the robot that it belongs to.
pub fn robot_of(stage: &Stage, id: PrimId) -> Option<PrimId> {
    contexts_of(stage, id).last()
}

/// Returns the absolute namespace at a prim, such as `/robot_1/camera`; empty without one (§2.1.1).
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

/// Resolves a name at a prim to an absolute one: `/robot_1/camera/image_raw`.
pub fn resolve_name(stage: &Stage, id: PrimId, name: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("{}/{name}", namespace(stage, id))
    }
}

/// Returns the last segment of a name.
pub fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// Returns the fault of the name of a topic, service or action: "has an empty part".
pub fn name_fault(name: &str) -> Option<String> {
    /// Maximum length of a topic name in bytes, `RMW_TOPIC_MAX_NAME_LENGTH` of rmw: 255 for DDS, less
    /// eight for prefixes.
    const MAX_NAME_BYTES: usize = 247;
    if name.starts_with('~') {
        return Some("begins with ~, which stands for the name of a node".to_owned());
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(format!("is longer than {MAX_NAME_BYTES} bytes"));
    }
    name.strip_prefix('/')
        .unwrap_or(name)
        .split('/')
        .find_map(segment_fault)
}

/// Returns the fault of a part of a name between slashes.
pub fn segment_fault(segment: &str) -> Option<String> {
    let Some(first) = segment.chars().next() else {
        return Some("has an empty part: a / at its end, or two in a row".to_owned());
    };
    if first.is_ascii_digit() {
        return Some(format!("has a part that begins with the digit {first}"));
    }
    let invalid = segment
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && *c != '_')?;
    Some(format!(
        "contains {}",
        if invalid == ' ' {
            "a space".to_owned()
        } else {
            format!("`{}`", invalid.escape_debug())
        }
    ))
}

/// Returns the fault of the name of a TF frame; tf2 rejects names that begin with a slash.
pub fn frame_fault(name: &str) -> Option<String> {
    if name.starts_with('/') {
        Some("begins with a /, which tf2 rejects".to_owned())
    } else {
        name_fault(name)
    }
}

/// Returns the fault of an attribute for a frame name: `"a b", which contains a space`.
///
/// An empty name is valid: it counts as not authored.
pub fn frame_value_fault(value: &Value) -> Option<String> {
    match value {
        Value::String(name) if name.is_empty() => None,
        Value::String(name) => frame_fault(name).map(|fault| format!("\"{name}\", which {fault}")),
        _ => Some("not a string".to_owned()),
    }
}

/// A TF frame.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// The prim.
    pub id: PrimId,
    /// The name in TF.
    pub name: &'a str,
    /// Whether the name is from `ros:frame:id`.
    pub is_named: bool,
}

/// Returns all frames that a simulator publishes (§2.7): contexts, bodies on joints, and prims with
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

/// Whether a transform is that of an optical frame in its camera: a rotation by 180° about x, and
/// nothing else (§2.8).
pub fn is_optical(matrix: &Matrix4<f64>) -> bool {
    /// Tolerance for rounding to single precision.
    const SLACK: f64 = 1e-5;
    let half_turn = Matrix4::from_diagonal(&[1.0, -1.0, -1.0, 1.0].into());
    (matrix - half_turn).abs().max() < SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_and_invalid_names() {
        for good in ["joint_states", "/robot_1/cmd_vel", "_hidden", "a/b2"] {
            assert_eq!(name_fault(good), None, "{good}");
        }
        for bad in [
            "", "/", "a/", "a//b", "2d", "a/2d", "a b", "a-b", "~/x", "{node}/x", "größe",
        ] {
            assert!(name_fault(bad).is_some(), "{bad}");
        }
        assert!(name_fault(&"a".repeat(248)).is_some());
    }
}
