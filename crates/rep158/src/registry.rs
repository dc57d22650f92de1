//! The controllers of the schema registry (REP-158 §4.2): the schemas `RosControl…API` in
//! `extensions` of `ros-simulation/openusd-schemas`.

use urdf_usd_stage::Prim;

use super::physics::{is_body, is_joint};
use super::ros::{Kind, frame_value_fault};

/// A controller schema of the registry.
pub struct Controller {
    /// The schema.
    pub schema: &'static str,
    /// The namespace of its properties.
    pub prefix: &'static str,
    /// Its relationships: the last part of the name, and the prims that they may target.
    pub relationships: &'static [(&'static str, Target)],
    /// Its attributes: the last part of the name, and the values that they may have.
    pub attributes: &'static [(&'static str, Form)],
    /// Relationships that must have equally many targets, none of them in both.
    pub sides: Option<[&'static str; 2]>,
}

/// The values that an attribute of a controller may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A positive finite number of metres; required, since it has no fallback.
    Length,
    /// A positive number.
    Positive,
    /// A number that is not negative.
    NotNegative,
    /// The name of a TF frame.
    Frame,
}

impl Form {
    /// Returns the fault of an attribute, as a predicate: `has no positive ros:diff_drive:wheel_radius`.
    pub fn fault(self, prim: &Prim, name: &str) -> Option<String> {
        let number = prim.number(name);
        let is_valid = match self {
            Self::Length => number.is_some_and(|number| number > 0.0 && number.is_finite()),
            Self::Positive => number.is_some_and(|number| number > 0.0),
            Self::NotNegative => number.is_some_and(|number| number >= 0.0),
            Self::Frame => {
                let fault = prim.value(name).and_then(frame_value_fault)?;
                return Some(format!("has a {name} that is {fault}"));
            }
        };
        let is_checked = self == Self::Length || prim.value(name).is_some();
        (is_checked && !is_valid).then(|| match self {
            Self::NotNegative => format!("has a {name} that is not a number of at least 0"),
            _ => format!("has no positive {name}"),
        })
    }

    /// Returns the remedy for an attribute with a fault.
    pub fn help(self, name: &str) -> String {
        match self {
            Self::Length => format!("author `uniform double {name}`, in metres"),
            Self::Positive => format!("author `uniform double {name}`, above 0"),
            Self::NotNegative => format!("author `uniform double {name}`, 0 or above"),
            Self::Frame => format!("author `uniform string {name}`, such as \"base_link\""),
        }
    }
}

/// The prims that a relationship of a controller may target. ROS interfaces have the type that the
/// schema defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A topic that the controller subscribes to.
    Subscription(&'static str),
    /// A topic that the controller publishes; required.
    Publisher(&'static str),
    /// A topic that the controller may publish.
    OptionalPublisher(&'static str),
    /// An action that the controller serves.
    ActionServer(&'static str),
    /// Joints that the controller reads.
    Read,
    /// Joints that the controller moves.
    Moved,
    /// Wheels that the controller turns.
    Driven,
    /// A body that the controller moves.
    Body,
}

impl Target {
    /// Returns whether the controller moves the prim.
    pub fn is_moved(self) -> bool {
        matches!(self, Self::Moved | Self::Driven | Self::Body)
    }

    /// Returns whether the relationship may have more than one target.
    pub fn is_list(self) -> bool {
        matches!(self, Self::Read | Self::Moved | Self::Driven)
    }

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscription(_) => "a prim with RosTopicAPI and the role \"subscription\"",
            Self::Publisher(_) | Self::OptionalPublisher(_) => {
                "a prim with RosTopicAPI and the role \"publisher\""
            }
            Self::ActionServer(_) => "a prim with RosActionAPI and the role \"server\"",
            Self::Read => "a joint",
            Self::Moved => "a PhysicsRevoluteJoint, PhysicsPrismaticJoint or PhysicsJoint",
            Self::Driven => "a joint with PhysicsDriveAPI:angular",
            Self::Body => "a body with PhysicsRigidBodyAPI",
        }
    }

    /// Returns the kind of a ROS interface, and the type that the schema defines for it.
    pub fn interface(self) -> Option<(Kind, &'static str)> {
        match self {
            Self::Subscription(name) | Self::Publisher(name) | Self::OptionalPublisher(name) => {
                Some((Kind::Topic, name))
            }
            Self::ActionServer(name) => Some((Kind::Action, name)),
            Self::Read | Self::Moved | Self::Driven | Self::Body => None,
        }
    }

    /// Returns whether the relationship may target a prim.
    pub fn accepts(self, prim: &Prim) -> bool {
        let offers = |kind: Kind, role: &str| {
            prim.has(kind.schema())
                && prim.text(&format!("ros:{}:role", kind.label())) == Some(role)
        };
        match self {
            Self::Subscription(_) => offers(Kind::Topic, "subscription"),
            Self::Publisher(_) | Self::OptionalPublisher(_) => offers(Kind::Topic, "publisher"),
            Self::ActionServer(_) => offers(Kind::Action, "server"),
            Self::Read => is_joint(prim),
            // A trajectory has one number for each joint.
            Self::Moved => matches!(
                prim.type_name.as_str(),
                "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint" | "PhysicsJoint"
            ),
            Self::Driven => {
                is_joint(prim)
                    && prim
                        .instances_of("PhysicsDriveAPI")
                        .any(|instance| matches!(instance, "angular" | "rotX" | "rotY" | "rotZ"))
            }
            Self::Body => is_body(prim),
        }
    }
}

/// All controllers of the registry.
pub const CONTROLLERS: [Controller; 4] = [
    Controller {
        schema: "RosControlDiffDriveAPI",
        prefix: "ros:diff_drive:",
        relationships: &[
            (
                "subscriber",
                Target::Subscription("geometry_msgs/msg/Twist"),
            ),
            ("odom", Target::OptionalPublisher("nav_msgs/msg/Odometry")),
            ("left_wheels", Target::Driven),
            ("right_wheels", Target::Driven),
        ],
        attributes: &[
            ("wheel_separation", Form::Length),
            ("wheel_radius", Form::Length),
            ("cmd_vel_timeout", Form::NotNegative),
            ("linear:x:max_velocity", Form::Positive),
            ("linear:x:max_acceleration", Form::Positive),
            ("angular:z:max_velocity", Form::Positive),
            ("angular:z:max_acceleration", Form::Positive),
        ],
        // The diff_drive_controller of ros2_controllers refuses sides of different size.
        sides: Some(["left_wheels", "right_wheels"]),
    },
    Controller {
        schema: "RosControlJointStateBroadcasterAPI",
        prefix: "ros:joint_state_broadcaster:",
        relationships: &[
            ("publisher", Target::Publisher("sensor_msgs/msg/JointState")),
            ("joints", Target::Read),
        ],
        attributes: &[("frame_id", Form::Frame)],
        sides: None,
    },
    Controller {
        schema: "RosControlJointTrajectoryAPI",
        prefix: "ros:joint_trajectory:",
        relationships: &[
            (
                "server",
                Target::ActionServer("control_msgs/action/FollowJointTrajectory"),
            ),
            ("command_joints", Target::Moved),
        ],
        attributes: &[
            ("action_monitor_rate", Form::Positive),
            ("stopped_velocity_tolerance", Form::NotNegative),
            ("timeout", Form::NotNegative),
        ],
        sides: None,
    },
    Controller {
        schema: "RosControlRigidBodyTwistAPI",
        prefix: "ros:rigid_body_twist:",
        relationships: &[
            (
                "subscriber",
                Target::Subscription("geometry_msgs/msg/Twist"),
            ),
            ("body", Target::Body),
        ],
        attributes: &[],
        sides: None,
    },
];

/// The schemas that controllers of the registry, and those of simulators, build on. They have no
/// properties.
pub const BASES: [&str; 2] = ["RosControlExternalAPI", "RosControlIntegratedAPI"];

/// Iterates over the controllers of the registry that a prim applies.
pub fn controllers_of(prim: &Prim) -> impl Iterator<Item = &'static Controller> + '_ {
    CONTROLLERS
        .iter()
        .filter(|controller| prim.has(controller.schema))
}
