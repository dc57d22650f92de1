//! The controllers of the schema registry (REP-158 §4.2): the schemas `RosControl…API` in
//! `extensions` of `ros-simulation/openusd-schemas`.

use urdf_usd_stage::Prim;

use super::physics::{is_body, is_joint};
use super::ros::Kind;

/// A controller schema of the registry.
pub struct Controller {
    /// The schema.
    pub schema: &'static str,
    /// The namespace of its properties.
    pub prefix: &'static str,
    /// Its relationships: the last part of the name, and the prims that they may target.
    pub relationships: &'static [(&'static str, Target)],
    /// The last parts of the names of its attributes.
    pub attributes: &'static [&'static str],
    /// The attributes that must be authored and positive: they have no fallback.
    pub lengths: &'static [&'static str],
}

/// The prims that a relationship of a controller may target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A topic that the controller subscribes to.
    Subscription,
    /// A topic that the controller publishes; required.
    Publisher,
    /// A topic that the controller may publish.
    OptionalPublisher,
    /// An action that the controller serves.
    ActionServer,
    /// Joints that the controller reads.
    Read,
    /// Joints that the controller moves.
    Moved,
    /// Joints with a drive that the controller moves.
    Driven,
    /// A body that the controller moves.
    Body,
}

impl Target {
    /// Returns whether the controller moves the prim.
    pub fn is_moved(self) -> bool {
        matches!(self, Self::Moved | Self::Driven | Self::Body)
    }

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscription => "a prim with RosTopicAPI and the role \"subscription\"",
            Self::Publisher | Self::OptionalPublisher => {
                "a prim with RosTopicAPI and the role \"publisher\""
            }
            Self::ActionServer => "a prim with RosActionAPI and the role \"server\"",
            Self::Read | Self::Moved => "a joint",
            Self::Driven => "a joint with PhysicsDriveAPI",
            Self::Body => "a body with PhysicsRigidBodyAPI",
        }
    }

    /// Returns whether the relationship may target a prim.
    pub fn accepts(self, prim: &Prim) -> bool {
        let offers = |kind: Kind, role: &str| {
            prim.has(kind.schema())
                && prim.text(&format!("ros:{}:role", kind.label())) == Some(role)
        };
        match self {
            Self::Subscription => offers(Kind::Topic, "subscription"),
            Self::Publisher | Self::OptionalPublisher => offers(Kind::Topic, "publisher"),
            Self::ActionServer => offers(Kind::Action, "server"),
            Self::Read | Self::Moved => is_joint(prim),
            Self::Driven => is_joint(prim) && prim.has("PhysicsDriveAPI"),
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
            ("subscriber", Target::Subscription),
            ("odom", Target::OptionalPublisher),
            ("left_wheels", Target::Driven),
            ("right_wheels", Target::Driven),
        ],
        attributes: &[
            "wheel_separation",
            "wheel_radius",
            "cmd_vel_timeout",
            "linear:x:max_velocity",
            "linear:x:max_acceleration",
            "angular:z:max_velocity",
            "angular:z:max_acceleration",
        ],
        lengths: &["wheel_separation", "wheel_radius"],
    },
    Controller {
        schema: "RosControlJointStateBroadcasterAPI",
        prefix: "ros:joint_state_broadcaster:",
        relationships: &[("publisher", Target::Publisher), ("joints", Target::Read)],
        attributes: &["frame_id"],
        lengths: &[],
    },
    Controller {
        schema: "RosControlJointTrajectoryAPI",
        prefix: "ros:joint_trajectory:",
        relationships: &[
            ("server", Target::ActionServer),
            ("command_joints", Target::Moved),
        ],
        attributes: &[
            "action_monitor_rate",
            "stopped_velocity_tolerance",
            "timeout",
        ],
        lengths: &[],
    },
    Controller {
        schema: "RosControlRigidBodyTwistAPI",
        prefix: "ros:rigid_body_twist:",
        relationships: &[("subscriber", Target::Subscription), ("body", Target::Body)],
        attributes: &[],
        lengths: &[],
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
