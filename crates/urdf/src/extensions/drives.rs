//! Reads drives: which joints ros2_control elements or transmissions command, and how.

use std::collections::BTreeMap;

use super::scope::{Scope, attribute, child, children, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Command, Drive, Element, JointId, JointKind};

/// Maximum number of controller files of a robot.
const MAX_FILES: usize = 100;
/// Maximum number of remappings of controllers.
const MAX_REMAPPINGS: usize = 1000;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 5;

/// A `<ros2_control>` element with the joints that it commands.
pub(super) struct Block<'a> {
    pub element: &'a Element,
    /// Name; empty if the element has none.
    pub name: &'a str,
    /// Commanded joints, each with its strongest command.
    pub joints: Vec<(JointId, Command)>,
}

/// Drives read so far.
pub(super) struct Drives<'a> {
    pub joints: BTreeMap<JointId, Drive>,
    pub blocks: Vec<Block<'a>>,
}

/// Reads all ros2_control and transmission elements. For a joint in both, ros2_control takes
/// precedence.
pub(super) fn read<'a>(scope: &mut Scope<'a>) -> Drives<'a> {
    let mut joints: BTreeMap<JointId, Drive> = BTreeMap::new();
    let mut blocks = Vec::new();
    for element in scope.elements("ros2_control") {
        let block = block(scope, element, &mut joints);
        blocks.push(block);
    }
    transmissions(scope, &mut joints);
    Drives { joints, blocks }
}

fn block<'a>(
    scope: &mut Scope<'a>,
    element: &'a Element,
    drives: &mut BTreeMap<JointId, Drive>,
) -> Block<'a> {
    let mut commanded: BTreeMap<JointId, Command> = BTreeMap::new();
    for node in children(element, "joint") {
        let Some(name) = attribute(node, "name") else {
            continue;
        };
        let Some(id) = scope.joint(name) else {
            scope.report_unknown("joint", name, &node.place);
            continue;
        };
        let interfaces: Vec<&str> = children(node, "command_interface")
            .filter_map(|i| attribute(i, "name"))
            .collect();
        if interfaces.is_empty() {
            continue;
        }
        // `Command` is ordered by precedence: position before velocity before effort.
        let Some(command) = interfaces
            .iter()
            .filter_map(|name| Command::named(name.trim()))
            .max()
        else {
            let message = format!(
                "the joint \"{}\" has only the command interfaces {}, which do not drive it",
                short(name),
                short(&interfaces.join(", "))
            );
            scope.report(
                &codes::NO_COMMAND,
                &node.place,
                message,
                "add a command interface for position, velocity or effort",
            );
            continue;
        };
        if !is_drivable(scope, id, &node.place) {
            continue;
        }
        let initial_position = initial_position(scope, node, id);
        let drive = drives.entry(id).or_insert(Drive {
            command,
            initial_position,
            gains: None,
        });
        drive.command = drive.command.max(command);
        drive.initial_position = drive.initial_position.or(initial_position);
        let strongest = commanded.entry(id).or_insert(command);
        *strongest = command.max(*strongest);
    }
    let name = attribute(element, "name").unwrap_or_default();
    Block {
        element,
        name,
        joints: commanded.into_iter().collect(),
    }
}

/// Returns the initial position of a joint of a ros2_control element, clamped to the joint's
/// limits.
fn initial_position(scope: &mut Scope<'_>, node: &Element, id: JointId) -> Option<f64> {
    let state = children(node, "state_interface")
        .find(|state| attribute(state, "name") == Some("position"))?;
    let param =
        children(state, "param").find(|param| attribute(param, "name") == Some("initial_value"))?;
    if param.text.is_empty() {
        return None;
    }
    let value = scope.parse(&param.text, "initial_value", &param.place, "it is ignored")?;
    let clamped = scope.joint_of(id).bounds().nearest(value);
    if clamped != value {
        let otherwise = format!("{clamped} is used");
        scope.report_setting(
            "initial_value",
            &param.text,
            &param.place,
            "outside the joint's limits",
            &otherwise,
        );
    }
    Some(clamped)
}

fn transmissions(scope: &mut Scope<'_>, drives: &mut BTreeMap<JointId, Drive>) {
    let mut idle: Vec<&Element> = Vec::new();
    // Apart from `drives`: several transmissions of a joint are combined, but none of them
    // changes a drive of ros2_control.
    let mut found: BTreeMap<JointId, Drive> = BTreeMap::new();
    for transmission in scope.elements("transmission") {
        let joints: Vec<&Element> = children(transmission, "joint").collect();
        let in_actuators = children(transmission, "actuator").flat_map(hardware_interfaces);
        let in_actuators = strongest(in_actuators);
        let mut is_known = false;
        for node in joints {
            let own = strongest(hardware_interfaces(node)).or(in_actuators);
            is_known |= own.is_some();
            let Some(name) = attribute(node, "name") else {
                continue;
            };
            let Some(id) = scope.joint(name) else {
                scope.report_unknown("joint", name, &node.place);
                continue;
            };
            let Some(Hardware::Command(command)) = own else {
                continue;
            };
            // ros2_control takes precedence, and has been checked.
            if drives.contains_key(&id) || !is_drivable(scope, id, &node.place) {
                continue;
            }
            let drive = found.entry(id).or_insert(Drive {
                command,
                initial_position: None,
                gains: None,
            });
            drive.command = drive.command.max(command);
        }
        if !is_known {
            idle.push(transmission);
        }
    }
    if let Some(first) = idle.first() {
        let names: Vec<String> = idle
            .iter()
            .take(MAX_NAMES)
            .map(|t| format!("\"{}\"", short(attribute(t, "name").unwrap_or("?"))))
            .collect();
        let more = if idle.len() > MAX_NAMES { ", …" } else { "" };
        let message = format!(
            "{} transmissions name no known hardware interface and drive nothing: {}{more}",
            idle.len(),
            names.join(", ")
        );
        let help = "add one to the joint: <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>";
        scope.report(&codes::NO_COMMAND, &first.place, message, help);
    }
    drives.extend(found);
}

/// The function of a hardware interface of ros_control.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hardware {
    /// Reports the joint's state.
    State,
    Command(Command),
}

fn strongest(interfaces: impl Iterator<Item = Hardware>) -> Option<Hardware> {
    interfaces.max()
}

/// Returns the known hardware interfaces of a joint or actuator of a transmission.
fn hardware_interfaces(element: &Element) -> impl Iterator<Item = Hardware> {
    let words = ["hardwareInterface", "hardware_interface"]
        .into_iter()
        .flat_map(|name| children(element, name));
    words.filter_map(|word| {
        let name = word
            .text
            .rsplit(['/', ':'])
            .next()
            .unwrap_or_default()
            .trim();
        Some(match name {
            "PositionJointInterface" | "PosVelJointInterface" | "PosVelAccJointInterface" => {
                Hardware::Command(Command::Position)
            }
            "VelocityJointInterface" => Hardware::Command(Command::Velocity),
            "EffortJointInterface" => Hardware::Command(Command::Effort),
            "JointStateInterface" | "ActuatorStateInterface" => Hardware::State,
            _ => return None,
        })
    })
}

/// Returns whether a joint can have a drive; reports it if not.
fn is_drivable(scope: &mut Scope<'_>, id: JointId, place: &Place) -> bool {
    let joint = scope.joint_of(id);
    let why = match joint.kind() {
        _ if joint.mimic().is_some() => "mimics another joint".to_owned(),
        kind @ (JointKind::Fixed | JointKind::Floating | JointKind::Planar) => {
            format!("is {}", kind.as_str())
        }
        _ => return true,
    };
    let message = format!(
        "the joint \"{}\" {why} and can't have a drive",
        short(joint.name())
    );
    scope.report(
        &codes::NOT_DRIVABLE,
        place,
        message,
        "drive the joint that it depends on, or remove the command",
    );
    false
}

/// Returns the value of `<param name="…">` in an element.
pub(super) fn param<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    let param = children(element, "param").find(|param| attribute(param, "name") == Some(name))?;
    (!param.text.is_empty()).then_some(param.text.as_str())
}

/// Returns the controller manager's files named in gazebo plugins: the distinct references as
/// written, with their places.
pub(super) fn controller_files(scope: &mut Scope<'_>) -> Vec<(String, Place)> {
    let mut files: Vec<(String, Place)> = Vec::new();
    for plugin in control_plugins(scope) {
        for parameters in children(plugin, "parameters") {
            if parameters.text.is_empty() || files.iter().any(|(file, _)| *file == parameters.text)
            {
                continue;
            }
            if files.len() == MAX_FILES {
                let message = format!(
                    "the limit of {MAX_FILES} controller files is reached; further ones are left out"
                );
                scope.report(
                    &codes::TOO_MANY_CONTROLLERS,
                    &parameters.place,
                    message,
                    "combine the parameters in fewer files",
                );
                return files;
            }
            files.push((parameters.text.clone(), parameters.place.clone()));
        }
    }
    files
}

/// Returns the gazebo plugins that run ros2_control.
pub(super) fn control_plugins<'a>(
    scope: &Scope<'a>,
) -> impl Iterator<Item = &'a Element> + use<'a> {
    let plugins = scope
        .elements("gazebo")
        .flat_map(|block| children(block, "plugin"));
    plugins.filter(|plugin| is_control_plugin(plugin))
}

/// Returns whether a plugin runs ros2_control.
pub(super) fn is_control_plugin(plugin: &Element) -> bool {
    attribute(plugin, "filename").is_some_and(|file| file.contains("ros2_control"))
}

/// Returns the remappings that such plugins pass to all controllers.
pub(super) fn control_remappings(scope: &Scope<'_>) -> Vec<(String, String)> {
    control_plugins(scope)
        .filter_map(|plugin| child(plugin, "ros"))
        .flat_map(super::ros_names::remappings)
        .take(MAX_REMAPPINGS)
        .collect()
}

/// Returns the namespace of the controller manager in such a plugin; empty if none is specified.
pub(super) fn control_namespace<'a>(scope: &Scope<'a>) -> &'a str {
    let namespace = |plugin| text_of(child(plugin, "ros")?, &["namespace"]);
    control_plugins(scope)
        .find_map(namespace)
        .unwrap_or_default()
}
