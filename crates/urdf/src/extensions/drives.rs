//! Drives: which joints ros2_control or a transmission moves, and how.

use std::collections::BTreeMap;

use super::scope::{Scope, attribute, child, children, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Command, Drive, Element, JointId, JointKind};

/// The most controller files that a robot may have.
const MAX_FILES: usize = 100;
/// The most remappings that controllers may have.
const MAX_REMAPPINGS: usize = 1000;
/// How many names a message lists.
const MAX_NAMES: usize = 5;

/// A `<ros2_control>` element with the joints that take commands through it.
pub(super) struct Block<'a> {
    pub element: &'a Element,
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// Each joint once, with its strongest command.
    pub joints: Vec<(JointId, Command)>,
}

/// What was read about drives.
pub(super) struct Drives<'a> {
    pub joints: BTreeMap<JointId, Drive>,
    pub blocks: Vec<Block<'a>>,
}

/// Reads every ros2_control and transmission element. Where both speak of a joint, ros2_control
/// counts.
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
        let Some(command) = interfaces
            .iter()
            .filter_map(|name| command_of_interface(name))
            .max()
        else {
            let message = format!(
                "the joint \"{}\" takes only {}, which is no drive",
                short(name),
                short(&interfaces.join(", "))
            );
            scope.report(
                &codes::NO_COMMAND,
                &node.place,
                message,
                "a drive needs position, velocity or effort",
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

fn command_of_interface(name: &str) -> Option<Command> {
    match name.trim() {
        "position" => Some(Command::Position),
        "velocity" => Some(Command::Velocity),
        "effort" => Some(Command::Effort),
        _ => None,
    }
}

/// The position that a joint of a ros2_control element starts at, held to the joint's limits.
fn initial_position(scope: &mut Scope<'_>, node: &Element, id: JointId) -> Option<f64> {
    let state = children(node, "state_interface")
        .find(|state| attribute(state, "name") == Some("position"))?;
    let param =
        children(state, "param").find(|param| attribute(param, "name") == Some("initial_value"))?;
    if param.text.is_empty() {
        return None;
    }
    let value = scope.parse(
        &param.text,
        "initial_value",
        &param.place,
        "it counts as not given",
    )?;
    let held = scope.joint_of(id).bounds().nearest(value);
    if held != value {
        let otherwise = format!("{held} is used");
        scope.report_setting(
            "initial_value",
            &param.text,
            &param.place,
            "beyond the joint's limits",
            &otherwise,
        );
    }
    Some(held)
}

fn transmissions(scope: &mut Scope<'_>, drives: &mut BTreeMap<JointId, Drive>) {
    let mut idle: Vec<&Element> = Vec::new();
    let mut found: BTreeMap<JointId, Drive> = BTreeMap::new();
    for transmission in scope.elements("transmission") {
        let joints: Vec<&Element> = children(transmission, "joint").collect();
        let of_actuators = children(transmission, "actuator").flat_map(hardware_interfaces);
        let of_actuators = strongest(of_actuators);
        let mut is_known = false;
        for node in joints {
            let own = strongest(hardware_interfaces(node)).or(of_actuators);
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
            // What ros2_control says of a joint counts, and has been looked at.
            if drives.contains_key(&id) || !is_drivable(scope, id, &node.place) {
                continue;
            }
            let drive = found.entry(id).or_insert(Drive {
                command,
                initial_position: None,
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
            "no hardware interface that is known is named for {} of the transmissions, so they drive nothing: {}{more}",
            idle.len(),
            names.join(", ")
        );
        let help = "name one for the joint: <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>";
        scope.report(&codes::NO_COMMAND, &first.place, message, help);
    }
    drives.extend(found);
}

/// What a hardware interface of ros_control does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hardware {
    /// It only tells the joint's state.
    State,
    Command(Command),
}

fn strongest(interfaces: impl Iterator<Item = Hardware>) -> Option<Hardware> {
    interfaces.max()
}

/// The known hardware interfaces of a joint or actuator of a transmission.
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

/// Whether a joint can have a drive; if not, that is reported.
fn is_drivable(scope: &mut Scope<'_>, id: JointId, place: &Place) -> bool {
    let joint = scope.joint_of(id);
    let why = match joint.kind() {
        _ if joint.mimic().is_some() => "follows another joint".to_owned(),
        kind @ (JointKind::Fixed | JointKind::Floating | JointKind::Planar) => {
            format!("is {}", kind.as_str())
        }
        _ => return true,
    };
    let message = format!(
        "the joint \"{}\" {why}, so it has no drive",
        short(joint.name())
    );
    scope.report(
        &codes::NOT_DRIVABLE,
        place,
        message,
        "drive the joint that moves it, or remove the command",
    );
    false
}

/// The value of `<param name="…">` in an element.
pub(super) fn param<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    let param = children(element, "param").find(|param| attribute(param, "name") == Some(name))?;
    (!param.text.is_empty()).then_some(param.text.as_str())
}

/// The files that gazebo plugins hand to the controller manager: the reference as written, where it
/// stands; each once.
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
                    "there are more than {MAX_FILES} controller files; from here on none is read"
                );
                scope.report(
                    &codes::TOO_MANY_CONTROLLERS,
                    &parameters.place,
                    message,
                    "put the parameters into fewer files",
                );
                return files;
            }
            files.push((parameters.text.clone(), parameters.place.clone()));
        }
    }
    files
}

/// The gazebo plugins that run ros2_control.
pub(super) fn control_plugins<'a>(
    scope: &Scope<'a>,
) -> impl Iterator<Item = &'a Element> + use<'a> {
    let plugins = scope
        .elements("gazebo")
        .flat_map(|block| children(block, "plugin"));
    plugins.filter(|plugin| {
        attribute(plugin, "filename").is_some_and(|file| file.contains("ros2_control"))
    })
}

/// The remappings that such a plugin hands to every controller.
pub(super) fn control_remappings(scope: &Scope<'_>) -> Vec<(String, String)> {
    control_plugins(scope)
        .filter_map(|plugin| child(plugin, "ros"))
        .flat_map(super::ros_names::remappings)
        .take(MAX_REMAPPINGS)
        .collect()
}

/// The namespace in which such a plugin runs the controller manager; empty if none is given.
pub(super) fn control_namespace<'a>(scope: &Scope<'a>) -> &'a str {
    let namespace = |plugin| text_of(child(plugin, "ros")?, &["namespace"]);
    control_plugins(scope)
        .find_map(namespace)
        .unwrap_or_default()
}
