//! Facts about a robot that file formats may be unable to hold, each with the elements that have it.
//!
//! A writer lists the facts that its format has no word for, and reports them by [`list`].

use std::collections::BTreeSet;

use super::{Custom, Geometry, Joint, JointKind, Link, Robot, SensorKind};

/// Maximum number of elements of a fact that a message names.
const MAX_NAMES: usize = 5;

/// Declares each fact with its words and the function that returns its elements.
macro_rules! facts {
    ($($(#[$doc:meta])+ $fact:ident = $words:literal: $elements:expr;)+) => {
        /// A kind of fact about a robot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fact {
            $($(#[$doc])+ $fact,)+
        }

        impl Fact {
            /// All facts.
            pub const ALL: &[Self] = &[$(Self::$fact),+];

            /// Returns the words for it in messages.
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$fact => $words,)+
                }
            }

            /// Returns the names of the robot's elements that have it.
            pub fn elements(self, robot: &Robot) -> Vec<String> {
                let elements: fn(&Robot) -> Vec<String> = match self {
                    $(Self::$fact => $elements,)+
                };
                elements(robot)
            }
        }
    };
}

facts! {
    /// Names of fixed joints that close no loop.
    FixedJoints = "names of fixed joints": |robot| {
        joints(robot, |joint| joint.kind() == JointKind::Fixed && !joint.closes_loop())
    };
    /// Floating joints.
    FloatingJoints = "floating joints": |robot| joints(robot, |joint| joint.kind() == JointKind::Floating);
    /// Maximum velocities above zero.
    VelocityLimits = "velocity limits": |robot| joints(robot, |joint| {
        joint.limit.and_then(|limit| limit.velocity).is_some_and(|velocity| velocity > 0.0)
    });
    /// Soft limits.
    SoftLimits = "soft limits": |robot| joints(robot, |joint| joint.safety.is_some());
    /// Reference positions.
    Calibration = "calibration": |robot| joints(robot, |joint| joint.calibration.is_some());
    /// Drives.
    Drives = "drives": |robot| joints(robot, |joint| joint.drive().is_some());
    /// Drives without gains.
    DrivesWithoutGains = "drives": |robot| joints(robot, |joint| {
        joint.drive().is_some_and(|drive| drive.gains.is_none())
    });
    /// Masses that were estimated.
    AssumedMasses = "marks of assumed masses": |robot| links(robot, |link| {
        link.inertial.as_ref().is_some_and(|inertial| inertial.is_assumed)
    });
    /// Friction and restitution.
    Contact = "contact properties": |robot| links(robot, |link| link.contact.is_some());
    /// Static friction that differs from dynamic friction.
    StaticFriction = "static friction": |robot| links(robot, |link| {
        link.contact.is_some_and(|contact| contact.static_friction != contact.dynamic_friction)
    });
    /// Restitution above zero.
    Restitution = "restitution": |robot| links(robot, |link| {
        link.contact.and_then(|contact| contact.restitution).is_some_and(|restitution| restitution > 0.0)
    });
    /// Sensors of all kinds.
    Sensors = "sensors": |robot| sensors(robot, |_| true);
    /// Sensors other than cameras.
    SensorsBesideCameras = "sensors": |robot| {
        sensors(robot, |kind| !matches!(kind, SensorKind::Camera(_)))
    };
    /// Names of materials of boxes, cylinders, spheres and capsules.
    SolidMaterials = "names of materials of primitives": |robot| {
        let visuals = robot.links().values().flat_map(|link| &link.visuals);
        let solids = visuals.filter(|shape| !matches!(shape.geometry, Geometry::Mesh { .. } | Geometry::Missing { .. }));
        let names: BTreeSet<&str> = solids
            .filter_map(|shape| Some(robot.materials()[shape.material?].name.as_str()))
            .filter(|name| !name.is_empty())
            .collect();
        names.into_iter().map(str::to_owned).collect()
    };
    /// Lights.
    Lights = "lights": |robot| robot.lights().iter().map(|light| light.name.clone()).collect();
    /// Named poses.
    NamedPoses = "named poses": |robot| robot.named_poses().iter().map(|pose| pose.name.clone()).collect();
    /// Pairs of links that are not checked for collisions.
    DisabledCollisions = "pairs of links with disabled collisions": |robot| {
        let name = |link| robot.links()[link].name();
        robot.disabled_collisions().iter().map(|(a, b)| format!("{} and {}", name(a), name(b))).collect()
    };
    /// Data for motion planners.
    Planning = "data for motion planners": |robot| {
        let planning = robot.planning();
        let groups = planning.groups.iter().map(|group| group.name.clone());
        let coordinates = planning.coordinates.iter().map(|of| robot.joints()[of.joint].name().to_owned());
        let name = |link| robot.links()[link].name();
        let tools = planning.tool_frames.iter().map(|link| name(*link).to_owned());
        let ignored = planning.ignored.iter().map(|(a, b)| format!("{} and {}", name(a), name(b)));
        groups.chain(coordinates).chain(tools).chain(ignored).collect()
    };
    /// Topics, services and actions of the robot and its sensors.
    Interfaces = "ROS interfaces": |robot| {
        let of_sensors = robot.sensors().iter().flat_map(|sensor| &sensor.interfaces);
        robot.interfaces.iter().chain(of_sensors).map(|interface| interface.name.clone()).collect()
    };
    /// Topics, services and actions of the robot, not of its sensors.
    InterfacesBesideSensors = "ROS interfaces": |robot| {
        robot.interfaces.iter().map(|interface| interface.name.clone()).collect()
    };
    /// Namespaces, DDS domains and parent frames.
    Contexts = "ROS contexts": |robot| {
        let ros = &robot.ros;
        // The default namespace is the robot's name, the default parent frame `world`.
        let is_named = ros.namespace.as_deref().is_some_and(|name| name.trim_matches('/') != robot.name());
        let is_framed = ros.parent_frame.as_deref().is_some_and(|frame| frame != "world");
        let own = is_named || ros.domain_id.is_some() || is_framed;
        let mut contexts = links(robot, |link| link.context.is_some());
        contexts.extend(own.then(|| robot.name().to_owned()));
        contexts
    };
    /// Elements that the source's format does not define.
    CustomElements = "custom elements": |robot| {
        customs(robot).flat_map(|custom| &custom.elements).map(|element| element.name.clone()).collect()
    };
    /// Elements that the source's format does not define, without Gazebo's plugins of the whole robot and
    /// sensors of its parts.
    CustomElementsBesideSdf = "custom elements": |robot| {
        let is_sdf = |element: &crate::Element| {
            let is_of_part = element.attributes.iter().any(|(name, _)| name == "reference");
            let held = if is_of_part { "sensor" } else { "plugin" };
            element.name == "gazebo" && element.children.iter().all(|child| child.name == held)
        };
        let of_robot = robot.custom.elements.iter().filter(|element| !is_sdf(element));
        let of_parts = customs(robot).skip(1).flat_map(|custom| &custom.elements);
        of_robot.chain(of_parts).map(|element| element.name.clone()).collect()
    };
    /// Attributes that the source's format does not define.
    CustomAttributes = "custom attributes": |robot| {
        let attributes = customs(robot).flat_map(|custom| &custom.attributes);
        let is_fact = |name: &str| name != "version" && !name.starts_with("xmlns");
        attributes.map(|(name, _)| name).filter(|name| is_fact(name)).cloned().collect()
    };
}

impl Fact {
    /// Returns whether elements of a URDF's extensions in the custom data state the fact: writers
    /// that keep these do not lose it.
    pub fn is_in_custom_elements(self, robot: &Robot) -> bool {
        let names: &[&str] = match self {
            Self::Sensors | Self::SensorsBesideCameras | Self::Contact => &["gazebo", "sensor"],
            Self::Drives | Self::DrivesWithoutGains => &["ros2_control", "transmission"],
            Self::Interfaces | Self::InterfacesBesideSensors => {
                &["gazebo", "sensor", "ros2_control", "transmission"]
            }
            _ => return false,
        };
        let of_links = robot.links().values().map(|link| &link.custom);
        std::iter::once(&robot.custom)
            .chain(of_links)
            .flat_map(|custom| &custom.elements)
            .any(|element| names.contains(&element.name.as_str()))
    }
}

fn joints(robot: &Robot, has: fn(&Joint) -> bool) -> Vec<String> {
    let found = robot.joints().values().filter(|joint| has(joint));
    found.map(|joint| joint.name().to_owned()).collect()
}

fn links(robot: &Robot, has: fn(&Link) -> bool) -> Vec<String> {
    let found = robot.links().values().filter(|link| has(link));
    found.map(|link| link.name().to_owned()).collect()
}

fn sensors(robot: &Robot, has: fn(&SensorKind) -> bool) -> Vec<String> {
    let found = robot.sensors().iter().filter(|sensor| has(&sensor.kind));
    found.map(|sensor| sensor.name.clone()).collect()
}

/// Returns the custom data of the robot, which are the first, and of its parts.
fn customs(robot: &Robot) -> impl Iterator<Item = &Custom> {
    let of_links = robot.links().values().flat_map(|link| {
        let shapes = link.visuals.iter().chain(&link.collisions);
        std::iter::once(&link.custom).chain(shapes.map(|shape| &shape.custom))
    });
    let of_joints = robot.joints().values().map(|joint| &joint.custom);
    std::iter::once(&robot.custom)
        .chain(of_links)
        .chain(of_joints)
}

/// Returns a list of the facts that the robot has, for a message: `soft limits (2: a, b)`. `None` if
/// it has none of them.
pub fn list(robot: &Robot, facts: impl IntoIterator<Item = Fact>) -> Option<String> {
    let described = facts.into_iter().filter_map(|fact| {
        let mut names = fact.elements(robot);
        let (count, words) = (names.len(), fact.words());
        let more = if count > MAX_NAMES { ", …" } else { "" };
        names.truncate(MAX_NAMES);
        (count > 0).then(|| format!("{words} ({count}: {}{more})", names.join(", ")))
    });
    let described: Vec<String> = described.collect();
    (!described.is_empty()).then(|| described.join("; "))
}
