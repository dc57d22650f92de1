//! Which frame a sensor's messages are in.

use std::collections::VecDeque;

use nalgebra::{Matrix3, Rotation3, UnitQuaternion};

use super::ros_names::valid_name;
use super::scope::{Scope, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Element, GLOBAL_FRAMES, JointKind, LinkId, Pose};

/// How far (metres, radians) a link may be from a camera's optical pose and still be its optical
/// frame.
const TOLERANCE: f64 = 1e-3;
/// How far (radians) a link that is named as a camera's frame may be turned from the optical frame:
/// calibrated ones are a little.
const NAMED_TOLERANCE: f64 = 0.1;
/// How many links are looked at for a camera.
const MAX_LINKS: usize = 200;

/// The optical frame (z forward, x right, y down) in a camera's (x forward, z up).
pub(super) fn optical() -> Pose {
    let axes = Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0);
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes));
    Pose::from_parts(nalgebra::Translation3::identity(), rotation)
}

/// The frame that is named for the messages of a sensor: in a plugin, in the sensor, or in its
/// camera.
pub(super) fn named<'e>(sensor: &'e Element, camera: Option<&'e Element>) -> Option<&'e str> {
    let optical = camera.and_then(|camera| text_of(camera, &["optical_frame_id"]));
    let of_plugin = |plugin| text_of(plugin, &["frameName", "frame_name", "frame_id", "frameId"]);
    let plugins = || super::scope::children(sensor, "plugin").find_map(of_plugin);
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
        .map(|name| name.trim_start_matches('/'))
}

/// What the name of a frame of a sensor in a gazebo element means: a link; or a frame that is none,
/// by its name, if ROS allows that. The name is that of one sensor only, since a frame is in one
/// place. What is no link is reported.
pub(super) fn meant(
    scope: &mut Scope<'_>,
    name: Option<&str>,
    place: &Place,
) -> (Option<LinkId>, Option<String>) {
    let Some(name) = name else {
        return (None, None);
    };
    let is_global = GLOBAL_FRAMES.contains(&name);
    if let Some(link) = scope.link(name).filter(|_| !is_global) {
        return (Some(link), None);
    }
    if is_global {
        return (None, Some(name.to_owned()));
    }
    if valid_name(name).as_deref() != Some(name) || !scope.sensor_frames.insert(name.to_owned()) {
        return (link(scope, name, place), None);
    }
    let message = format!(
        "the frame \"{}\" is no link of the robot; it is in the asset, where the sensor is",
        short(name)
    );
    let help = "add a link of that name for robot_state_publisher to publish, or name a link";
    scope.report(&codes::SENSOR_FRAME, place, message, help);
    (None, Some(name.to_owned()))
}

/// The link that a name of a frame means. None if it means none, which is reported.
pub(super) fn link(scope: &mut Scope<'_>, name: &str, place: &Place) -> Option<LinkId> {
    let link = if GLOBAL_FRAMES.contains(&name) {
        None
    } else {
        scope.link(name)
    };
    if link.is_none() {
        let message = format!("the frame \"{}\" is no link of the robot", short(name));
        scope.report(
            &codes::SENSOR_FRAME,
            place,
            message,
            "the messages are in the sensor's own frame; name a link for another",
        );
    }
    link
}

/// The optical frame of a camera at `origin` in `link`: the link `named`, if that is turned like
/// one; else the nearest link below that is where the camera is.
pub(super) fn of_camera(
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
            "the link \"{}\", which is named as the camera's frame, is no optical frame of it (z forward, x right, y down)",
            short(scope.link_name(named))
        );
        scope.report(
            &codes::SENSOR_FRAME,
            place,
            message,
            "the messages are in an optical frame of the camera; name that one",
        );
    }
    below(scope, link, optical)
}

/// The nearest link that is rigidly below `link` (or is it) and is at `pose` in it.
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

/// Says what Gazebo does with a camera whose link is meant as an optical frame: it looks along that
/// link's x all the same.
pub(super) fn note_optical_parent(
    scope: &mut Scope<'_>,
    link: LinkId,
    origin: Pose,
    place: &Place,
) {
    let name = scope.link_name(link);
    if name.to_ascii_lowercase().contains("optical") && origin.rotation.angle() <= TOLERANCE {
        let message = format!(
            "the camera sits on the optical frame \"{}\", but looks along its x axis, not z",
            short(name)
        );
        let help = "Gazebo does so too; attach the sensor to the camera's body link, and name the optical frame in frame_name";
        scope.report(&codes::OPTICAL_PARENT, place, message, help);
    }
}
