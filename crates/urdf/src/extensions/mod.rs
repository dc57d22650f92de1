//! What URDF leaves to others, read from the custom data of a robot: Gazebo's sensors and contact,
//! ros2_control, transmissions.
//!
//! The custom data stays as it is. Everything that the sources leave out gets a documented default
//! (docs/sensors-and-control.md). This module must not know files; names and types of ROS are data.

mod claims;
mod contact;
mod controllers;
mod drives;
mod frames;
mod kinds;
mod ros_names;
mod scope;
mod sensors;
mod topics;

pub use controllers::set_controllers;
use scope::Scope;

use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{Element, Robot};

/// Fills the sensors, interfaces, drives and contact of `robot` from its custom data. Returns the
/// controller files that it refers to, each with its place, and what was found.
pub(super) fn read(robot: &mut Robot) -> (Vec<(String, Place)>, Vec<Diagnostic>) {
    let mut scope = Scope::new(robot);
    let contact = contact::read(&mut scope);
    let mut sensors = sensors::read(&mut scope);
    let drives = drives::read(&mut scope);
    let files = drives::controller_files(&mut scope);
    let (of_blocks, mut interfaces) = controllers::block_sensors(&mut scope, &drives.blocks);
    sensors.extend(of_blocks);
    let (assumed, notes) = controllers::assumed(&scope, &drives.blocks);
    interfaces.extend(assumed);
    let mut diagnostics = std::mem::take(&mut scope.diagnostics);
    // Where files say which controllers there are, whether they can be had is known later.
    if files.is_empty() {
        diagnostics.extend(notes);
    }
    let joints = drives.joints;
    for (id, contact) in contact {
        robot.link_mut(id).contact = Some(contact);
    }
    for (id, drive) in joints {
        robot.joint_mut(id).commanded = Some(drive);
    }
    if let Err(error) = robot.set_sensors(sensors) {
        diagnostics.push(error.to_diagnostic(robot.place.clone()));
    }
    robot.interfaces = interfaces;
    (files, diagnostics)
}

/// What a gazebo element is about: a link or joint, or the whole robot (`None`).
fn reference(block: &Element) -> Option<&str> {
    scope::attribute(block, "reference")
}
