//! Topics of Gazebo's plugins for a whole model: drives of bases, odometry and joint states.
//!
//! Settings and defaults are those of `gazebo_plugins` 2.9 (ROS 1) and 3.9 (ROS 2) and of gz-sim 8. The
//! topics of gz-sim are named as its bridge to ROS names them if they are stated; a default, which
//! contains the name of the model, becomes the usual name in ROS.

use super::drives;
use super::ros_names::Node;
use super::scope::{self, Scope, attribute, child, children, text_of};
use crate::codes;
use crate::xml::short;
use Content::{Actuators, Angle, Command, Distance, JointStates, Odometry, TruePose};
use urdf_usd_robot::{Element, Interface, InterfaceKind, LinkId, Pose, Qos, Sensor, SensorKind};

/// Publishing rate in Hz of a plugin that publishes at every step of the simulation.
const EVERY_STEP: f64 = 100.0;

/// The program that a plugin is for, which determines the names of its settings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Ros1,
    Ros2,
    GzSim,
}

/// Content of a topic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Command,
    /// A steering angle to turn to, in radians.
    Angle,
    /// Targets of actuators, by their numbers.
    Actuators,
    Odometry,
    /// The true pose of a body, as odometry in a frame that the plugin names.
    TruePose,
    JointStates,
    Distance,
}

/// A setting that switches a topic.
#[derive(Clone, Copy)]
struct Switch {
    setting: &'static str,
    default: bool,
    /// The value with which there is the topic.
    wanted: bool,
}

/// A topic of a plugin.
struct Topic {
    content: Content,
    /// Setting with its name; empty if only remappings change the name.
    setting: &'static str,
    /// Setting with its name in the namespace of the model.
    relative: &'static str,
    /// Name without that setting; empty if the setting is required.
    default: &'static str,
    /// Setting with its rate.
    rate: &'static str,
    /// Rate in Hz without that setting.
    default_rate: f64,
    /// Settings that switch the topic.
    switches: [Option<Switch>; 2],
}

impl Topic {
    const fn new(content: Content, setting: &'static str, default: &'static str) -> Self {
        Self {
            content,
            setting,
            relative: "",
            default,
            rate: "",
            default_rate: EVERY_STEP,
            switches: [None; 2],
        }
    }

    const fn at(mut self, rate: &'static str, default_rate: f64) -> Self {
        (self.rate, self.default_rate) = (rate, default_rate);
        self
    }

    const fn or(mut self, relative: &'static str) -> Self {
        self.relative = relative;
        self
    }

    const fn only_if(self, setting: &'static str, default: bool) -> Self {
        self.with(Switch {
            setting,
            default,
            wanted: true,
        })
    }

    const fn unless(self, setting: &'static str) -> Self {
        self.with(Switch {
            setting,
            default: false,
            wanted: false,
        })
    }

    const fn with(mut self, switch: Switch) -> Self {
        let [first, second] = &mut self.switches;
        match first {
            None => *first = Some(switch),
            Some(_) => *second = Some(switch),
        }
        self
    }
}

/// The topics of a plugin.
struct Known {
    host: Host,
    /// File name without `lib` and `.so`; for gz-sim without the program's name and `-system`.
    file: &'static str,
    /// Class of a system of gz-sim, in `gz::sim::systems`.
    class: &'static str,
    topics: &'static [Topic],
}

const fn classic(host: Host, file: &'static str, topics: &'static [Topic]) -> Known {
    Known {
        host,
        file,
        class: "",
        topics,
    }
}

const fn system(file: &'static str, class: &'static str, topics: &'static [Topic]) -> Known {
    Known {
        host: Host::GzSim,
        file,
        class,
        topics,
    }
}

const ROS1_DRIVE: [Topic; 2] = [
    Topic::new(Command, "commandTopic", "cmd_vel"),
    Topic::new(Odometry, "odometryTopic", "odom").at("updateRate", 100.0),
];
const GZ_COMMAND: Topic = Topic::new(Command, "topic", "cmd_vel");
const GZ_ODOMETRY: Topic =
    Topic::new(Odometry, "odom_topic", "odom").at("odom_publish_frequency", 50.0);
const GZ_DRIVE: &[Topic] = &[GZ_COMMAND, GZ_ODOMETRY];

const KNOWN: &[Known] = &[
    classic(
        Host::Ros1,
        "gazebo_ros_diff_drive",
        &[
            Topic::new(Command, "commandTopic", "cmd_vel"),
            Topic::new(Odometry, "odometryTopic", "odom")
                .at("updateRate", 100.0)
                .only_if("publishTf", true),
            Topic::new(JointStates, "", "joint_states")
                .at("updateRate", 100.0)
                .only_if("publishWheelJointState", false),
        ],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_diff_drive",
        &[
            Topic::new(Command, "", "cmd_vel"),
            Topic::new(Odometry, "", "odom")
                .at("update_rate", 100.0)
                .only_if("publish_odom", false),
        ],
    ),
    classic(Host::Ros1, "gazebo_ros_skid_steer_drive", &ROS1_DRIVE),
    classic(
        Host::Ros1,
        "gazebo_ros_tricycle_drive",
        &[
            Topic::new(Command, "commandTopic", "cmd_vel"),
            Topic::new(Odometry, "odometryTopic", "odom").at("updateRate", 100.0),
            Topic::new(JointStates, "", "joint_states")
                .at("updateRate", 100.0)
                .only_if("publishWheelJointState", false),
        ],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_tricycle_drive",
        &[
            Topic::new(Command, "", "cmd_vel"),
            Topic::new(Odometry, "", "odom")
                .at("update_rate", 100.0)
                .only_if("publish_odom", false),
            Topic::new(JointStates, "", "joint_states")
                .at("update_rate", 100.0)
                .only_if("publish_wheel_joint_state", false),
        ],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_ackermann_drive",
        &[
            Topic::new(Command, "", "cmd_vel"),
            Topic::new(Odometry, "", "odom")
                .at("update_rate", 100.0)
                .only_if("publish_odom", false),
            Topic::new(Distance, "", "distance")
                .at("update_rate", 100.0)
                .only_if("publish_distance", false),
        ],
    ),
    classic(
        Host::Ros1,
        "gazebo_ros_planar_move",
        &[
            Topic::new(Command, "commandTopic", "cmd_vel"),
            Topic::new(Odometry, "odometryTopic", "odom").at("odometryRate", 20.0),
        ],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_planar_move",
        &[
            Topic::new(Command, "", "cmd_vel"),
            Topic::new(Odometry, "", "odom")
                .at("publish_rate", 20.0)
                .only_if("publish_odom", true),
        ],
    ),
    classic(
        Host::Ros1,
        "gazebo_ros_p3d",
        &[Topic::new(TruePose, "topicName", "").at("updateRate", EVERY_STEP)],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_p3d",
        &[Topic::new(TruePose, "", "odom").at("update_rate", EVERY_STEP)],
    ),
    classic(
        Host::Ros1,
        "gazebo_ros_joint_state_publisher",
        &[Topic::new(JointStates, "", "joint_states").at("updateRate", 100.0)],
    ),
    classic(
        Host::Ros2,
        "gazebo_ros_joint_state_publisher",
        &[Topic::new(JointStates, "", "joint_states").at("update_rate", 100.0)],
    ),
    system("diff-drive", "DiffDrive", GZ_DRIVE),
    system(
        "ackermann-steering",
        "AckermannSteering",
        &[
            GZ_COMMAND.or("sub_topic").unless("steering_only"),
            GZ_ODOMETRY.unless("steering_only"),
            Topic::new(Angle, "topic", "steer_angle")
                .or("sub_topic")
                .only_if("steering_only", false)
                .unless("use_actuator_msg"),
            Topic::new(Actuators, "topic", "/actuators")
                .or("sub_topic")
                .only_if("steering_only", false)
                .only_if("use_actuator_msg", false),
        ],
    ),
    system("mecanum-drive", "MecanumDrive", GZ_DRIVE),
    system("velocity-control", "VelocityControl", &[GZ_COMMAND]),
    system(
        "odometry-publisher",
        "OdometryPublisher",
        &[
            GZ_ODOMETRY,
            // Without a name it is the same odometry again, which has no usual name in ROS.
            Topic::new(Odometry, "odom_covariance_topic", "").at("odom_publish_frequency", 50.0),
        ],
    ),
    system(
        "joint-state-publisher",
        "JointStatePublisher",
        &[Topic::new(JointStates, "topic", "joint_states").at("update_rate", EVERY_STEP)],
    ),
];

/// Reads the interfaces of the plugins in gazebo elements, outside of sensors: those of the robot,
/// and as a sensor each interface whose messages are in the frame of a link. Reports the plugins whose
/// interfaces are unknown.
pub(super) fn read(scope: &mut Scope<'_>) -> (Vec<Interface>, Vec<Sensor>) {
    let plugins: Vec<&Element> = scope
        .elements("gazebo")
        .flat_map(|block| children(block, "plugin"))
        .filter(|plugin| !drives::is_control_plugin(plugin))
        .collect();
    let (mut interfaces, mut sensors) = (Vec::new(), Vec::new());
    for plugin in plugins {
        let topics = known(plugin).map(|known| topics(scope, plugin, known));
        let Some(topics) = topics.filter(|topics| !topics.is_empty()) else {
            report(scope, plugin);
            continue;
        };
        for (interface, link) in topics {
            match link {
                Some(link) => sensors.push(Sensor {
                    name: attribute(plugin, "name").unwrap_or("pose").to_owned(),
                    kind: SensorKind::Other,
                    link,
                    origin: Pose::identity(),
                    frame: None,
                    frame_name: None,
                    interfaces: vec![interface],
                    place: plugin.place.clone(),
                }),
                None => interfaces.push(interface),
            }
        }
    }
    (interfaces, sensors)
}

fn report(scope: &mut Scope<'_>, plugin: &Element) {
    let [name, file] = ["name", "filename"].map(|key| attribute(plugin, key).unwrap_or("?"));
    let message = format!(
        "the topics and services of the plugin \"{}\" ({}) are unknown, so the asset lacks them",
        short(name),
        short(file)
    );
    let help =
        "add its interfaces in a layer over the asset, or capture those of the running robot";
    scope.report(&codes::MODEL_PLUGIN, &plugin.place, message, help);
}

/// Returns what is known of a plugin, by its file or, for gz-sim, its class.
fn known(plugin: &Element) -> Option<&'static Known> {
    let [name, path] = ["name", "filename"].map(|key| attribute(plugin, key).unwrap_or_default());
    let class = name.rsplit_once("systems::").map(|(_, class)| class.trim());
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let file = file.strip_suffix(".so").unwrap_or(file);
    let file = file.strip_prefix("lib").unwrap_or(file);
    let is_it = |known: &&Known| match known.host {
        Host::GzSim => {
            let system = file.strip_suffix("-system");
            class == Some(known.class)
                || system.is_some_and(|system| {
                    let program = system.strip_suffix(known.file);
                    program.is_some_and(|program| program.is_empty() || program.ends_with('-'))
                })
        }
        Host::Ros1 | Host::Ros2 => file == known.file,
    };
    let host = classic_host(plugin);
    let mut found = KNOWN.iter().filter(is_it);
    let first = found.clone().next();
    // A plugin that only one version of ROS has is that one's, whatever its settings look like.
    found.find(|known| known.host == host).or(first)
}

/// Returns the version of ROS that a plugin of Gazebo classic is for: settings are in camel case in
/// ROS 1, in snake case in ROS 2.
fn classic_host(plugin: &Element) -> Host {
    let is_camel = |element: &Element| element.name.contains(|c: char| c.is_ascii_uppercase());
    if child(plugin, "ros").is_none() && plugin.children.iter().any(is_camel) {
        Host::Ros1
    } else {
        Host::Ros2
    }
}

/// Returns the topics of a plugin, with the link in whose frame the messages are, if there is one.
fn topics(
    scope: &mut Scope<'_>,
    plugin: &Element,
    known: &Known,
) -> Vec<(Interface, Option<LinkId>)> {
    let name = attribute(plugin, "name").unwrap_or_default();
    let robot = scope.robot.name();
    let node = if child(plugin, "ros").is_some() {
        Node::from_plugin(robot, plugin, name)
    } else {
        let namespace = text_of(plugin, &["robotNamespace"]).unwrap_or_default();
        Node::new(robot, namespace, name)
    };
    let mut interfaces = Vec::new();
    for topic in known.topics {
        let is_on = topic.switches.iter().flatten().all(|switch| {
            let stated = text_of(plugin, &[switch.setting]);
            stated.map_or(switch.default, scope::is_true) == switch.wanted
        });
        let stated = text_of(plugin, &[topic.setting, topic.relative]).unwrap_or(topic.default);
        if !is_on || stated.is_empty() {
            continue;
        }
        let (type_name, kind) = kind(scope, plugin, topic);
        let interface = scope.interface(&node.resolve(stated), type_name, kind, &plugin.place);
        let Some(interface) = interface else {
            continue;
        };
        let (link, override_frame_id) = match frame(plugin, topic.content) {
            Some((stated, default)) => scope.message_frame(stated, default, &plugin.place),
            None => (None, None),
        };
        let interface = Interface {
            override_frame_id,
            ..interface
        };
        interfaces.push((interface, link));
    }
    interfaces
}

/// Returns the type of a topic's messages, and its direction.
fn kind(scope: &mut Scope<'_>, plugin: &Element, topic: &Topic) -> (&'static str, InterfaceKind) {
    let (type_name, qos) = match topic.content {
        Command => return ("geometry_msgs/msg/Twist", InterfaceKind::SUBSCRIPTION),
        Angle => return ("std_msgs/msg/Float64", InterfaceKind::SUBSCRIPTION),
        Actuators => return ("actuator_msgs/msg/Actuators", InterfaceKind::SUBSCRIPTION),
        Odometry => ("nav_msgs/msg/Odometry", Qos::DEFAULT),
        TruePose => ("nav_msgs/msg/Odometry", Qos::SENSOR),
        JointStates => ("sensor_msgs/msg/JointState", Qos::DEFAULT),
        Distance => ("std_msgs/msg/Float32", Qos::DEFAULT),
    };
    let otherwise = format!("{} Hz are used", topic.default_rate);
    let stated = scope.number(plugin, topic.rate, &otherwise);
    let rate = stated
        .filter(|rate| *rate > 0.0)
        .unwrap_or(topic.default_rate);
    (type_name, InterfaceKind::Publisher { rate, qos })
}

/// Returns the frame of a topic's messages as stated, which may be empty, and the default, for topics
/// that name one.
fn frame(plugin: &Element, content: Content) -> Option<(&str, &'static str)> {
    let (settings, default): (&[&str], &'static str) = match content {
        Odometry => (
            &["odometryFrame", "odometry_frame", "odom_frame", "frame_id"],
            "odom",
        ),
        TruePose => (&["frameName", "frame_name"], "world"),
        Command | Angle | Actuators | JointStates | Distance => return None,
    };
    Some((text_of(plugin, settings).unwrap_or_default(), default))
}
