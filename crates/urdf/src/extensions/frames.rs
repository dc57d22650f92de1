//! Finds the frames of sensors' messages.

use std::collections::VecDeque;

use nalgebra::{Matrix3, Rotation3, UnitQuaternion};

use super::ros_names::valid_name;
use super::scope::{Scope, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Element, GLOBAL_FRAMES, JointKind, LinkId, Pose};

/// Maximum distance (in metres and in radians) between a link and a camera's optical pose for the
/// link to be its optical frame.
const TOLERANCE: f64 = 1e-3;
/// Maximum rotation, in radians, between a link that is named as a camera's frame and the optical
/// frame. Calibrated ones differ a little.
const NAMED_TOLERANCE: f64 = 0.1;
/// Maximum number of links that are examined for a camera.
const MAX_LINKS: usize = 200;

/// Returns the pose of the optical frame (z forward, x right, y down) in a camera's frame (x
/// forward, z up); see REP-103.
pub(super) fn optical() -> Pose {
    let axes = Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0);
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes));
    Pose::from_parts(nalgebra::Translation3::identity(), rotation)
}

/// Returns the frame that a plugin, the sensor, or its camera names for the messages.
pub(super) fn named<'e>(sensor: &'e Element, camera: Option<&'e Element>) -> Option<&'e str> {
    let optical = camera.and_then(|camera| text_of(camera, &["optical_frame_id"]));
    let in_plugin = |plugin| text_of(plugin, &["frameName", "frame_name", "frame_id", "frameId"]);
    let plugins = || super::scope::children(sensor, "plugin").find_map(in_plugin);
    let own = || {
        text_of(
            sensor,
            &[
                "optical_frame_id",
                "gz_frame_id",
                "ignition_frame_id",
                "frame_id",
                "frame_name",
            ],
        )
    };
    optical
        .or_else(plugins)
        .or_else(own)
        // Frames of ROS 1's tf may begin with a slash, which tf2 does not allow.
        .map(|name| name.trim_start_matches('/'))
}

/// Resolves the name of a sensor's frame to a link, or to a new frame of that name.
///
/// A new frame, which is reported, needs a valid ROS name, and belongs to a single sensor since a
/// frame has a single pose.
pub(super) fn resolve(
    scope: &mut Scope<'_>,
    name: Option<&str>,
    place: &Place,
) -> (Option<LinkId>, Option<String>) {
    let Some(name) = name else {
        return (None, None);
    };
    if let Some(link) = scope.frame(name) {
        return (Some(link), None);
    }
    if GLOBAL_FRAMES.contains(&name) {
        return (None, Some(name.to_owned()));
    }
    if valid_name(name).as_deref() != Some(name) || !scope.sensor_frames.insert(name.to_owned()) {
        return (link(scope, name, place), None);
    }
    let message = format!(
        "the frame \"{}\" is not a link of the robot; it is added to the asset at the sensor",
        short(name)
    );
    let help = "add a link of that name, so that robot_state_publisher publishes it, or name an existing link";
    scope.report(&codes::SENSOR_FRAME, place, message, help);
    (None, Some(name.to_owned()))
}

/// Returns the link with the name of a frame; reports and returns `None` if there is none.
pub(super) fn link(scope: &mut Scope<'_>, name: &str, place: &Place) -> Option<LinkId> {
    let link = scope.frame(name);
    if link.is_none() {
        let message = format!("the frame \"{}\" is not a link of the robot", short(name));
        scope.report(
            &codes::SENSOR_FRAME,
            place,
            message,
            "the sensor's own frame is used; name a link to use another",
        );
    }
    link
}

/// Returns the optical frame of a camera at `origin` in `link`: the link `named`, if it has an
/// optical orientation; otherwise the nearest descendant of `link` at the camera.
pub(super) fn camera_frame(
    scope: &mut Scope<'_>,
    link: LinkId,
    origin: Pose,
    named: Option<LinkId>,
    place: &Place,
) -> Option<LinkId> {
    let optical = origin * optical();
    if let Some(named) = named.filter(|&named| named != link) {
        let pose = scope.rest_pose(named, link);
        if pose.is_some_and(|pose| pose.rotation.angle_to(&optical.rotation) <= NAMED_TOLERANCE) {
            return Some(named);
        }
        let message = format!(
            "the link \"{}\", named as the camera's frame, is not an optical frame of it (z forward, x right, y down)",
            short(scope.link_name(named))
        );
        scope.report(
            &codes::SENSOR_FRAME,
            place,
            message,
            "an optical frame of the camera is used; name that frame",
        );
    }
    below(scope, link, optical)
}

/// Returns the nearest link at `pose` in `link` that is `link` or rigidly connected below it.
///
/// The search is breadth-first and examines [`MAX_LINKS`] links.
fn below(scope: &Scope<'_>, link: LinkId, pose: Pose) -> Option<LinkId> {
    let mut queue = VecDeque::from([(link, Pose::identity())]);
    for _ in 0..MAX_LINKS {
        let (link, at) = queue.pop_front()?;
        let off = at.inverse() * pose;
        if off.translation.vector.norm() <= TOLERANCE && off.rotation.angle() <= TOLERANCE {
            return Some(link);
        }
        let joints = scope.robot.tree().child_joints(link).iter();
        let fixed = joints
            .map(|&joint| scope.joint_of(joint))
            .filter(|joint| joint.kind() == JointKind::Fixed);
        queue.extend(fixed.map(|joint| (joint.child(), at * joint.origin)));
    }
    None
}

/// Reports a camera attached to a link that looks like an optical frame by its name: as in Gazebo,
/// the camera looks along that link's x axis.
pub(super) fn report_optical_parent(
    scope: &mut Scope<'_>,
    link: LinkId,
    origin: Pose,
    place: &Place,
) {
    let name = scope.link_name(link);
    if name.to_ascii_lowercase().contains("optical") && origin.rotation.angle() <= TOLERANCE {
        let message = format!(
            "the camera is attached to the optical frame \"{}\", but looks along its x axis instead of z",
            short(name)
        );
        let help = "this is Gazebo's behaviour; attach the sensor to the camera's body link, and name the optical frame in frame_name";
        scope.report(&codes::OPTICAL_PARENT, place, message, help);
    }
}
