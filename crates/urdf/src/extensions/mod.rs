//! Reads extensions of URDF from a robot's custom data: Gazebo's sensors and contact properties,
//! ros2_control, transmissions.
//!
//! The custom data is not modified. Everything that the sources omit gets a documented default
//! (docs/sensors-and-control.md). This module knows no files; names and types of ROS are plain
//! data.

mod claims;
mod contact;
mod controllers;
mod drives;
mod frames;
mod kinds;
mod model_plugins;
mod ros_names;
mod scope;
mod sensors;
mod topics;

pub use controllers::set_controllers;
use scope::Scope;

use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{Element, Robot};

/// Sets the sensors, interfaces, drives and contact properties of `robot` from its custom data.
/// Returns the controller files that it refers to, with their places, and the findings.
pub(super) fn read(robot: &mut Robot) -> (Vec<(String, Place)>, Vec<Diagnostic>) {
    let mut scope = Scope::new(robot);
    let contact = contact::read(&mut scope);
    let mut sensors = sensors::read(&mut scope);
    let drives = drives::read(&mut scope);
    let files = drives::controller_files(&mut scope);
    let (block_sensors, mut interfaces) = controllers::block_sensors(&mut scope, &drives.blocks);
    sensors.extend(block_sensors);
    let (of_model, of_links) = model_plugins::read(&mut scope);
    interfaces.extend(of_model);
    sensors.extend(of_links);
    let (assumed, notes) = controllers::assumed(&scope, &drives.blocks);
    interfaces.extend(assumed);
    let mut diagnostics = std::mem::take(&mut scope.diagnostics);
    // With controller files, `set_controllers` reports the assumptions once the files are read.
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

/// Returns the link or joint that a gazebo element refers to; `None` if it applies to the whole
/// robot.
fn reference(block: &Element) -> Option<&str> {
    scope::attribute(block, "reference")
}
