//! Interfaces of a robot's controllers: as configured in a controller file, otherwise by a
//! convention based on its ros2_control elements; and the sensors of those elements.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::claims::Claims;
use super::drives::{self, Block, param};
use super::frames;
use super::kinds::Kind;
use super::ros_names::{Node, join, valid_name};
use super::scope::{Scope, attribute, children};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{
    Command, Interface, InterfaceKind, JointKind, LinkId, Pose, Qos, Robot, Sensor, SensorKind,
};
use urdf_usd_text::yaml::{self as yaml, Content, Mark, Yaml};

const FOLLOW: (&str, &str) = (
    "~/follow_joint_trajectory",
    "control_msgs/action/FollowJointTrajectory",
);
const TRAJECTORY: (&str, &str) = ("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory");
/// Parameters in which controllers of ros2_controllers name the joints that they command, as lists
/// or single names.
const JOINTS: [&str; 18] = [
    "joints",
    "joint",
    "dof_names",
    "wheel_names",
    "left_wheel_names",
    "right_wheel_names",
    "left_wheel",
    "right_wheel",
    "traction_joint_name",
    "steering_joint_name",
    "traction_joints_names",
    "steering_joints_names",
    "front_wheels_names",
    "rear_wheels_names",
    "front_left_wheel_command_joint_name",
    "front_right_wheel_command_joint_name",
    "rear_left_wheel_command_joint_name",
    "rear_right_wheel_command_joint_name",
];
/// Parameter that replaces `joints` if the commanded joints differ from those whose states are
/// read.
const COMMAND_JOINTS: &str = "command_joints";
const COMMANDS: (&str, &str) = ("~/commands", "std_msgs/msg/Float64MultiArray");
const ODOMETRY: &str = "nav_msgs/msg/Odometry";
/// Default name of a ros2_control element.
const NAMELESS_BLOCK: &str = "ros2_control";
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 6;
/// Maximum number of controllers of a robot.
const MAX_CONTROLLERS: usize = 1000;
/// Default publishing rate of a controller, in Hz.
const DEFAULT_RATE: f64 = 50.0;

/// Sets the interfaces of `robot` to those of the controllers in `files`, each given with its path.
///
/// The files are parameter files of ros2_control's controller manager, or those of ROS 1. If they
/// name controllers, these replace the ones assumed from the robot's ros2_control elements;
/// otherwise the assumptions are reported. Call it for robots that refer to such files
/// ([`References::controller_files`](crate::References)): for others, reading has reported the
/// assumptions already.
pub fn set_controllers(robot: &mut Robot, files: &[(Arc<Path>, String)]) -> Vec<Diagnostic> {
    let mut scope = Scope::new(robot);
    let documents = documents(&mut scope, files);
    let settings = Settings::new(&documents);
    // Findings about these elements were reported when they were read.
    let reported = std::mem::take(&mut scope.diagnostics);
    let blocks = drives::read(&mut scope).blocks;
    scope.diagnostics = reported;
    let (assumed, notes) = assumed(&scope, &blocks);
    if settings.controllers.is_empty() {
        scope.diagnostics.extend(notes);
        return scope.diagnostics;
    }
    let assumed: HashSet<&str> = assumed
        .iter()
        .map(|interface| interface.name.as_str())
        .collect();
    let kept = robot
        .interfaces
        .iter()
        .filter(|interface| !assumed.contains(interface.name.as_str()));
    let mut interfaces: Vec<Interface> = kept.cloned().collect();
    let mut sensors = robot.sensors().to_vec();
    let remappings = drives::control_remappings(&scope);
    let namespace = drives::control_namespace(&scope);
    let mut named = HashSet::new();
    let mut claims = Claims::default();
    // Names of odometry topics whose messages are in the frame of a link.
    let mut of_links = Vec::new();
    if let Some(controller) = settings.controllers.get(MAX_CONTROLLERS) {
        let message = format!(
            "the limit of {MAX_CONTROLLERS} controllers is reached; further ones are left out"
        );
        scope.report(
            &codes::TOO_MANY_CONTROLLERS,
            &controller.place,
            message,
            "remove controllers that the robot does not have",
        );
    }
    for controller in settings.controllers.iter().take(MAX_CONTROLLERS) {
        if !named.insert((&controller.namespace, controller.name)) {
            continue;
        }
        let namespace = if controller.namespace.is_empty() {
            namespace
        } else {
            &controller.namespace
        };
        let node =
            Node::new(scope.robot.name(), namespace, controller.name).with_remappings(&remappings);
        match controller.offers(&settings) {
            Some(Offers::Interfaces(offers)) => {
                // A controller that only publishes claims no joints.
                let commands = offers
                    .iter()
                    .any(|(.., kind)| !matches!(kind, InterfaceKind::Publisher { .. }));
                let joints = if commands {
                    controller.joints(&settings)
                } else {
                    Vec::new()
                };
                let name = join(&[&controller.namespace, controller.name]);
                let claim =
                    claims.add(&name, joints, controller.is_trajectory(), &controller.place);
                for (topic, type_name, kind) in offers {
                    if let Some(mut interface) =
                        scope.interface(&node.resolve(topic), type_name, kind, &controller.place)
                    {
                        if type_name == ODOMETRY {
                            let frame = controller.setting(&settings, "odom_frame_id");
                            let (link, name) = scope.message_frame(
                                frame.unwrap_or_default(),
                                "odom",
                                &controller.place,
                            );
                            interface.override_frame_id = name;
                            of_links.extend(
                                link.map(|link| (interface.name.clone(), link, controller)),
                            );
                        }
                        claims.offer(claim, interface, &mut interfaces);
                    }
                }
            }
            Some(Offers::Sensor(kind, topic)) => {
                let publisher = InterfaceKind::Publisher {
                    rate: settings.rate(kind.default_rate()),
                    qos: Qos::SENSOR,
                };
                let interface = scope.interface(
                    &node.resolve(topic),
                    kind.message(),
                    publisher,
                    &controller.place,
                );
                if let Some(interface) = interface {
                    broadcast(
                        &mut scope,
                        controller,
                        &settings,
                        kind,
                        interface,
                        &mut sensors,
                        &mut interfaces,
                    );
                }
            }
            None => {
                let message = format!(
                    "the topics and actions of controllers of type \"{}\" are unknown",
                    short(controller.type_name)
                );
                let help = "they are missing from the asset";
                scope.report(&codes::UNKNOWN_CONTROLLER, &controller.place, message, help);
            }
        }
    }
    let mut diagnostics = scope.diagnostics;
    diagnostics.extend(claims.disable_excluded(&mut interfaces));
    // Claims go by the indices of interfaces, so none is moved before.
    for (topic, link, controller) in of_links {
        let is_it = |other: &Interface| other.name == topic && other.type_name == ODOMETRY;
        if let Some(index) = interfaces.iter().position(is_it) {
            let (name, kind) = (controller.name, SensorKind::Other);
            let interface = interfaces.remove(index);
            sensors.push(sensor(name, kind, link, interface, &controller.place));
        }
    }
    robot.interfaces = interfaces;
    if let Err(error) = robot.set_sensors(sensors) {
        diagnostics.push(error.to_diagnostic(robot.place.clone()));
    }
    diagnostics
}

/// Assigns the interface of a broadcaster to its sensor.
fn broadcast(
    scope: &mut Scope<'_>,
    controller: &Controller<'_>,
    settings: &Settings<'_>,
    kind: Kind,
    interface: Interface,
    sensors: &mut Vec<Sensor>,
    interfaces: &mut Vec<Interface>,
) {
    let name = controller
        .setting(settings, "sensor_name")
        .unwrap_or(controller.name);
    let assumed = assumed_broadcaster(name, kind);
    let is_assumed =
        |i: &Interface| assumed.as_deref() == Some(&i.name) && i.type_name == interface.type_name;
    let owned = sensors.iter_mut().flat_map(|sensor| &mut sensor.interfaces);
    if let Some(known) = owned
        .chain(interfaces.iter_mut())
        .find(|known| is_assumed(known))
    {
        *known = interface;
        return;
    }
    let frame = controller
        .setting(settings, "frame_id")
        .map(|frame| frame.trim_start_matches('/'));
    match frame.and_then(|frame| frames::link(scope, frame, &controller.place)) {
        Some(link) => {
            let kind = kind.model_kind();
            sensors.push(sensor(name, kind, link, interface, &controller.place));
        }
        None if interfaces.contains(&interface) => {}
        None => interfaces.push(interface),
    }
}

fn sensor(
    name: &str,
    kind: SensorKind,
    link: LinkId,
    interface: Interface,
    place: &Place,
) -> Sensor {
    Sensor {
        name: name.to_owned(),
        kind,
        link,
        origin: Pose::identity(),
        frame: None,
        frame_name: None,
        interfaces: vec![interface],
        place: place.clone(),
    }
}

/// Returns the sensors of ros2_control elements, and the interfaces of those without a link. The
/// names of their broadcasters are assumed.
pub(super) fn block_sensors(
    scope: &mut Scope<'_>,
    blocks: &[Block<'_>],
) -> (Vec<Sensor>, Vec<Interface>) {
    let (mut sensors, mut interfaces) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for element in blocks
        .iter()
        .flat_map(|block| children(block.element, "sensor"))
    {
        let name = attribute(element, "name").unwrap_or_default();
        let states: Vec<&str> = children(element, "state_interface")
            .filter_map(|state| attribute(state, "name"))
            .collect();
        let has = |groups: &[&str]| {
            states.iter().any(|state| {
                groups
                    .iter()
                    .any(|group| state.split('.').next() == Some(*group))
            })
        };
        let kinds = [
            (Kind::ForceTorque, has(&["force", "torque"])),
            (
                Kind::Imu,
                has(&["orientation", "angular_velocity", "linear_acceleration"]),
            ),
        ];
        if kinds.iter().all(|(_, has)| !has) {
            let message = format!(
                "the quantity that the sensor \"{}\" measures ({}) is unknown",
                short(name),
                short(&states.join(", "))
            );
            scope.report(
                &codes::UNKNOWN_SENSOR,
                &element.place,
                message,
                "it gets no topics",
            );
        }
        let frame = param(element, "frame_id").map(|frame| frame.trim_start_matches('/'));
        let link = frame.and_then(|frame| frames::link(scope, frame, &element.place));
        for (kind, _) in kinds.into_iter().filter(|(_, has)| *has) {
            let Some(topic) = assumed_broadcaster(name, kind) else {
                continue;
            };
            let publisher = InterfaceKind::Publisher {
                rate: kind.default_rate(),
                qos: Qos::SENSOR,
            };
            let Some(interface) =
                scope.interface(&topic, kind.message(), publisher, &element.place)
            else {
                continue;
            };
            match link {
                Some(link) => {
                    let kind = kind.model_kind();
                    sensors.push(sensor(name, kind, link, interface, &element.place));
                }
                None if seen.insert(interface.name.clone()) => interfaces.push(interface),
                None => {}
            }
        }
    }
    (sensors, interfaces)
}

/// Returns the topic that the broadcaster of a ros2_control sensor is assumed to have.
fn assumed_broadcaster(sensor: &str, kind: Kind) -> Option<String> {
    valid_name(&format!(
        "{}_broadcaster/{}",
        sensor.replace('/', "_"),
        kind.default_topic()
    ))
}

/// Returns the interfaces of the controllers that ros2_control elements are assumed to have, and
/// findings that report the assumption.
///
/// By convention, joints that take positions or have limits get a trajectory controller, wheels a
/// group command controller.
pub(super) fn assumed(
    scope: &Scope<'_>,
    blocks: &[Block<'_>],
) -> (Vec<Interface>, Vec<Diagnostic>) {
    let is_wheel = |&(id, command): &(_, Command)| {
        command != Command::Position && scope.joint_of(id).kind() == JointKind::Continuous
    };
    let has_arm = |block: &Block<'_>| block.joints.iter().any(|joint| !is_wheel(joint));
    // A single trajectory controller has the conventional name alone; several need their
    // elements' names to differ.
    let is_only_arm = blocks.iter().filter(|block| has_arm(block)).count() == 1;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut claims = Claims::default();
    let mut offer = |block: &Block<'_>,
                     controller: &str,
                     takes_wheels: bool,
                     topics: &[(&str, &str, InterfaceKind)]| {
        let joints = block
            .joints
            .iter()
            .filter(|joint| is_wheel(joint) == takes_wheels);
        let joints = joints.map(|(id, _)| scope.joint_of(*id).name()).collect();
        let claim = claims.add(controller, joints, !takes_wheels, &block.element.place);
        for &(topic, type_name, kind) in topics {
            if let Some(name) =
                valid_name(&Node::new(scope.robot.name(), "", controller).resolve(topic))
            {
                let interface = Interface::new(name, type_name, kind);
                claims.offer(claim, interface, &mut interfaces);
            }
        }
    };
    for block in blocks {
        let name = if block.name.trim().is_empty() {
            NAMELESS_BLOCK.to_owned()
        } else {
            block.name.replace('/', "_")
        };
        if has_arm(block) {
            let suffix = "joint_trajectory_controller";
            let controller = if is_only_arm {
                suffix.to_owned()
            } else {
                format!("{name}_{suffix}")
            };
            let topics = [
                (FOLLOW.0, FOLLOW.1, InterfaceKind::ActionServer),
                (TRAJECTORY.0, TRAJECTORY.1, InterfaceKind::SUBSCRIPTION),
            ];
            offer(block, &controller, false, &topics);
        }
        if block.joints.iter().any(is_wheel) {
            offer(
                block,
                &name,
                true,
                &[(COMMANDS.0, COMMANDS.1, InterfaceKind::SUBSCRIPTION)],
            );
        }
    }
    let exclusions = claims.disable_excluded(&mut interfaces);
    let place = blocks
        .iter()
        .find(|block| !block.joints.is_empty())
        .map(|block| block.element.place.clone());
    let note = place.filter(|_| !interfaces.is_empty()).map(|place| {
        let names: Vec<String> = interfaces.iter().take(MAX_NAMES).map(|interface| short(&interface.name)).collect();
        let more = if interfaces.len() > MAX_NAMES { ", …" } else { "" };
        let message = format!("the controllers of the robot are not configured; assumed: {}{more}", names.join(", "));
        let help =
            "name the controller manager's parameter file in the gazebo plugin of ros2_control: <parameters>FILE</parameters>";
        Diagnostic::new(&codes::ASSUMED_CONTROLLERS, place, message).help(help)
    });
    (interfaces, note.into_iter().chain(exclusions).collect())
}

/// A document of a controller file.
struct Document {
    file: Arc<Path>,
    root: Yaml,
}

fn documents(scope: &mut Scope<'_>, files: &[(Arc<Path>, String)]) -> Vec<Document> {
    let mut documents = Vec::new();
    for (file, text) in files {
        match yaml::read(text) {
            Ok(roots) => documents.extend(roots.into_iter().map(|root| Document {
                file: file.clone(),
                root,
            })),
            Err(fault) => {
                let place = place(file, fault.at, String::new());
                let message = format!("the controller file can't be read: {}", fault.message);
                scope.report(&codes::CONTROLLER_FILE, &place, message, fault.help);
            }
        }
    }
    documents
}

fn place(file: &Arc<Path>, at: Mark, element: String) -> Place {
    Place {
        file: Some(file.clone()),
        line: at.line,
        column: at.column,
        element,
        ..Place::default()
    }
}

/// A controller in a file.
struct Controller<'a> {
    name: &'a str,
    /// Namespace without leading and trailing slashes; empty if the file specifies none.
    namespace: String,
    type_name: &'a str,
    /// Entries next to its type.
    siblings: &'a Yaml,
    place: Place,
}

/// The contents of controller files.
#[derive(Default)]
struct Settings<'a> {
    controllers: Vec<Controller<'a>>,
    /// Parameters of nodes, by the last component of the node's name.
    parameters: BTreeMap<&'a str, Vec<&'a Yaml>>,
}

/// The interfaces of a controller.
enum Offers {
    /// Topics or actions (private to the controller's node), types and kinds.
    Interfaces(Vec<(&'static str, &'static str, InterfaceKind)>),
    /// Publishes for a sensor, on this topic.
    Sensor(Kind, &'static str),
}

impl<'a> Settings<'a> {
    fn new(documents: &'a [Document]) -> Self {
        let mut settings = Self::default();
        for document in documents {
            settings.walk(&document.file, &document.root, &mut Vec::new());
        }
        settings
    }

    /// Collects controllers and parameters below `node`. The YAML reader bounds the depth.
    fn walk(&mut self, file: &Arc<Path>, node: &'a Yaml, path: &mut Vec<&'a str>) {
        for (key, value) in node.entries() {
            let is_parameters = key.text == "ros__parameters";
            if is_parameters && let Some(name) = path.last() {
                self.parameters
                    .entry(last_part(name))
                    .or_default()
                    .push(value);
            }
            // The type of a controller is PACKAGE/CLASS; a `type` without a slash is a parameter.
            let type_name = value
                .get("type")
                .and_then(Yaml::text)
                .filter(|text| text.contains('/'));
            match type_name {
                Some(type_name) => {
                    // The type may be among a node's own parameters: the controller is that node.
                    let (name, above) = match path.split_last() {
                        Some((node, above)) if is_parameters => (*node, above),
                        _ => (key.text.as_str(), path.as_slice()),
                    };
                    let name = last_part(name);
                    let place = place(file, key.at, format!("controller \"{}\"", short(name)));
                    self.controllers.push(Controller {
                        name,
                        namespace: namespace(above),
                        type_name,
                        siblings: value,
                        place,
                    });
                }
                None => {
                    path.push(&key.text);
                    self.walk(file, value, path);
                    path.pop();
                }
            }
        }
    }

    fn parameter(&self, node: &str, name: &str) -> Option<&'a str> {
        self.parameters
            .get(node)?
            .iter()
            .find_map(|parameters| parameters.get(name)?.text())
    }

    /// Returns the controller manager's rate in Hz, or `default`.
    fn rate(&self, default: f64) -> f64 {
        positive(self.parameter("controller_manager", "update_rate")).unwrap_or(default)
    }
}

fn positive(text: Option<&str>) -> Option<f64> {
    text?
        .parse()
        .ok()
        .filter(|rate: &f64| *rate > 0.0 && *rate <= 1e6)
}

fn last_part(name: &str) -> &str {
    name.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(name)
}

/// Returns the namespace of a controller: the names above it without wildcards and the manager's
/// name.
fn namespace(above: &[&str]) -> String {
    let parts = above.iter().flat_map(|name| name.split('/'));
    let own = parts.filter(|part| {
        !matches!(
            *part,
            "" | "*" | "**" | "controller_manager" | "ros__parameters"
        )
    });
    own.collect::<Vec<_>>().join("/")
}

impl<'a> Controller<'a> {
    fn setting(&self, settings: &Settings<'a>, name: &str) -> Option<&'a str> {
        settings
            .parameter(self.name, name)
            .or_else(|| self.siblings.get(name)?.text())
    }

    /// Returns the joints, or interfaces of other controllers, that the controller commands.
    fn joints(&self, settings: &Settings<'a>) -> Vec<&'a str> {
        let given = |name: &str| {
            let mut parameters = settings.parameters.get(self.name).into_iter().flatten();
            parameters
                .find_map(|parameters| parameters.get(name))
                .or_else(|| self.siblings.get(name))
        };
        let texts = |name: &str| -> Vec<&'a str> {
            match given(name).map(|value| &value.content) {
                Some(Content::List(values)) => values.iter().filter_map(Yaml::text).collect(),
                Some(Content::Scalar { text, .. }) if !text.is_empty() => vec![text],
                _ => Vec::new(),
            }
        };
        let commanded = texts(COMMAND_JOINTS);
        if commanded.is_empty() {
            JOINTS.into_iter().flat_map(texts).collect()
        } else {
            commanded
        }
    }

    fn is_trajectory(&self) -> bool {
        self.type_name.ends_with("JointTrajectoryController")
    }

    /// Returns the interfaces of a controller of this type; `None` if the type is unknown.
    fn offers(&self, settings: &Settings<'a>) -> Option<Offers> {
        use InterfaceKind::ActionServer;
        const SUBSCRIPTION: InterfaceKind = InterfaceKind::SUBSCRIPTION;
        let (package, class) = self.type_name.rsplit_once('/')?;
        let publishes = |default: f64| InterfaceKind::Publisher {
            rate: positive(self.setting(settings, "publish_rate")).unwrap_or(default),
            qos: Qos::DEFAULT,
        };
        let is_stamped = !self
            .setting(settings, "use_stamped_vel")
            .is_some_and(|text| text.eq_ignore_ascii_case("false"));
        let twist = if is_stamped {
            "geometry_msgs/msg/TwistStamped"
        } else {
            "geometry_msgs/msg/Twist"
        };
        let subscribes = |(topic, type_name)| (topic, type_name, SUBSCRIPTION);
        Some(Offers::Interfaces(match class {
            "DiffDriveController" => {
                let topic = if is_stamped {
                    "~/cmd_vel"
                } else {
                    "~/cmd_vel_unstamped"
                };
                vec![
                    (topic, twist, SUBSCRIPTION),
                    ("~/odom", ODOMETRY, publishes(DEFAULT_RATE)),
                ]
            }
            "TricycleController" | "OmniWheelDriveController" => {
                vec![
                    ("~/cmd_vel", twist, SUBSCRIPTION),
                    ("~/odom", ODOMETRY, publishes(DEFAULT_RATE)),
                ]
            }
            "MecanumDriveController"
            | "AckermannSteeringController"
            | "BicycleSteeringController"
            | "TricycleSteeringController" => {
                let topic = if is_stamped {
                    "~/reference"
                } else {
                    "~/reference_unstamped"
                };
                vec![
                    (topic, twist, SUBSCRIPTION),
                    (
                        "~/odometry",
                        ODOMETRY,
                        publishes(settings.rate(DEFAULT_RATE)),
                    ),
                ]
            }
            "ForwardCommandController"
            | "MultiInterfaceForwardCommandController"
            | "JointGroupPositionController"
            | "JointGroupVelocityController"
            | "JointGroupEffortController" => vec![subscribes(COMMANDS)],
            "JointPositionController" | "JointVelocityController" | "JointEffortController" => {
                vec![("~/command", "std_msgs/msg/Float64", SUBSCRIPTION)]
            }
            "GripperActionController" if package.starts_with("parallel_gripper") => {
                vec![(
                    "~/gripper_cmd",
                    "control_msgs/action/ParallelGripperCommand",
                    ActionServer,
                )]
            }
            "GripperActionController" => vec![(
                "~/gripper_cmd",
                "control_msgs/action/GripperCommand",
                ActionServer,
            )],
            "PidController" => vec![(
                "~/reference",
                "control_msgs/msg/MultiDOFCommand",
                SUBSCRIPTION,
            )],
            "AdmittanceController" => vec![(
                "~/joint_references",
                "trajectory_msgs/msg/JointTrajectoryPoint",
                SUBSCRIPTION,
            )],
            "GpioCommandController" => vec![(
                "~/commands",
                "control_msgs/msg/DynamicInterfaceGroupValues",
                SUBSCRIPTION,
            )],
            "PoseBroadcaster" => {
                vec![(
                    "~/pose",
                    "geometry_msgs/msg/PoseStamped",
                    publishes(settings.rate(DEFAULT_RATE)),
                )]
            }
            // Every asset has joint states.
            "JointStateBroadcaster" | "JointStateController" => Vec::new(),
            "IMUSensorBroadcaster" => return Some(Offers::Sensor(Kind::Imu, "~/imu")),
            "ForceTorqueSensorBroadcaster" => {
                return Some(Offers::Sensor(Kind::ForceTorque, "~/wrench"));
            }
            "RangeSensorBroadcaster" => return Some(Offers::Sensor(Kind::Range, "~/range")),
            "GPSSensorBroadcaster" => return Some(Offers::Sensor(Kind::Gps, "~/gps/fix")),
            _ if self.is_trajectory() => {
                vec![(FOLLOW.0, FOLLOW.1, ActionServer), subscribes(TRAJECTORY)]
            }
            _ => return None,
        }))
    }
}
