//! Sensors, and the robot's ROS interface as data: topics, services and actions.

use super::{LinkId, Pose};
use urdf_usd_diagnostic::Place;

/// A device on a link that senses.
#[derive(Clone, Debug)]
pub struct Sensor {
    /// The name as the source gives it, or its kind; not necessarily unique.
    pub name: String,
    /// The measured quantity.
    pub kind: SensorKind,
    /// The link that it is mounted on.
    pub link: LinkId,
    /// The sensor's frame in the link's: x forward, z up, cameras too.
    pub origin: Pose,
    /// The link whose frame its messages are in, if it differs from `link`; for a camera, a link
    /// that is an optical frame (z forward, x right, y down), or `None` if the robot has none for
    /// it.
    pub frame: Option<LinkId>,
    /// The name of the frame of its messages, if the source gives one that is no link: a frame at
    /// `origin`, or (for a camera) its optical frame, which no other sensor has; or one of
    /// [`GLOBAL_FRAMES`].
    pub frame_name: Option<String>,
    /// Its ROS interfaces. Names are relative to the robot's namespace unless they begin with a
    /// slash.
    pub interfaces: Vec<Interface>,
    /// Position in the source.
    pub place: Place,
}

impl Sensor {
    /// Returns whether it measures something. A place that only serves ROS interfaces does not: services,
    /// actions and subscriptions.
    pub fn is_device(&self) -> bool {
        let publishes =
            |interface: &Interface| matches!(interface.kind, InterfaceKind::Publisher { .. });
        self.kind != SensorKind::Other
            || self.interfaces.is_empty()
            || self.interfaces.iter().any(publishes)
    }
}

/// Frames that a robot does not have, whatever its links are called (REP 105).
pub const GLOBAL_FRAMES: [&str; 4] = ["world", "map", "odom", "earth"];

/// The quantity that a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SensorKind {
    /// Colour or depth images.
    Camera(Camera),
    /// Ranges along rays.
    Lidar,
    /// Angular velocity and linear acceleration.
    Imu,
    /// Touch.
    Contact,
    /// Force and torque at a joint.
    ForceTorque,
    /// Position on the earth.
    Gps,
    /// Anything else.
    Other,
}

/// A camera's view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Horizontal field of view, radians; above 0 and below π.
    pub horizontal_fov: f64,
    /// Width of the view of an orthographic camera, whose `horizontal_fov` is ignored, metres.
    /// Above zero.
    pub parallel_width: Option<f64>,
    /// Pixels; never zero.
    pub width: u32,
    /// Pixels; never zero.
    pub height: u32,
    /// Near clipping distance, metres. Above zero.
    pub near: f64,
    /// Far clipping distance, metres. Above `near`.
    pub far: f64,
}

impl Camera {
    /// Returns the vertical field of view, radians; above 0 and below π.
    pub fn vertical_fov(&self) -> f64 {
        2.0 * ((self.horizontal_fov / 2.0).tan() * f64::from(self.height) / f64::from(self.width))
            .atan()
    }
}

/// ROS settings of a robot as a whole (REP-158 §2.1, §2.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RosSettings {
    /// Namespace of its interfaces, if the source declares one.
    pub namespace: Option<String>,
    /// DDS domain of its interfaces, if it is not the default.
    pub domain_id: Option<i32>,
    /// The frame in which a simulator publishes the robot's true pose, if it is not `world`.
    pub parent_frame: Option<String>,
    /// True if the source states all interfaces, so that none of the usual ones is added.
    pub has_all_interfaces: bool,
}

/// The ROS context of a part of a robot, nested in the robot's (REP-158 §2.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NestedContext {
    /// Namespace, relative to that of the context around it unless it begins with a slash; empty
    /// for the same.
    pub namespace: String,
    /// DDS domain, if it differs from that of the context around it.
    pub domain_id: Option<i32>,
}

/// A ROS interface of a robot: a topic, a service or an action.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Interface {
    /// A valid ROS name, relative to the robot's namespace unless it begins with a slash:
    /// `camera/image_raw`.
    pub name: String,
    /// The ROS type: `sensor_msgs/msg/Image`.
    pub type_name: String,
    /// Its kind and direction.
    pub kind: InterfaceKind,
    /// True if it is active from the start; false for the interface of a controller whose joints
    /// another controller claims.
    pub starts_enabled: bool,
    /// The frame in the headers of its messages, if it is not that of the prim (REP-158 §2.4).
    pub override_frame_id: Option<String>,
}

impl Interface {
    /// Creates an interface that is active from the start.
    pub fn new(name: impl Into<String>, type_name: impl Into<String>, kind: InterfaceKind) -> Self {
        Self {
            name: name.into(),
            type_name: type_name.into(),
            kind,
            starts_enabled: true,
            override_frame_id: None,
        }
    }

    /// Returns whether the interface belongs to the simulator and is prohibited in an asset
    /// (REP-158 §2.9).
    pub fn is_prohibited(&self) -> bool {
        self.name == "/clock"
            || self.type_name == "rosgraph_msgs/msg/Clock"
            || self.type_name.starts_with("simulation_interfaces/")
    }
}

/// The kinds of interfaces, seen from the robot.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum InterfaceKind {
    /// A topic that the robot publishes.
    Publisher {
        /// Hz.
        rate: f64,
        /// The QoS that it offers.
        qos: Qos,
    },
    /// A topic that the robot subscribes to.
    Subscription {
        /// The QoS that it requests.
        qos: Qos,
    },
    /// A service that the robot answers.
    ServiceServer,
    /// A service that the robot calls.
    ServiceClient,
    /// An action that the robot serves.
    ActionServer,
    /// An action that the robot is a client of.
    ActionClient,
}

impl InterfaceKind {
    /// A subscription with the system's default QoS.
    pub const SUBSCRIPTION: Self = Self::Subscription { qos: Qos::DEFAULT };
}

/// QoS profile of a topic (REP-158 §2.4). A policy that is `None` is the system's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Qos {
    /// Retransmission of lost messages.
    pub reliability: Option<Reliability>,
    /// Delivery of the last messages to late subscribers.
    pub durability: Option<Durability>,
    /// Retention of old messages.
    pub history: Option<History>,
    /// Queue depth, for [`History::KeepLast`].
    pub depth: Option<u32>,
    /// True if a subscription adapts to the publisher that it discovers.
    pub matches_publisher: bool,
}

impl Qos {
    /// The system's default.
    pub const DEFAULT: Self = Self {
        reliability: None,
        durability: None,
        history: None,
        depth: None,
        matches_publisher: false,
    };
    /// Sensor data: best effort, the system's default in simulation (REP 2003), and the newest few
    /// messages only, as many as in ROS's profile for sensor data.
    pub const SENSOR: Self = Self {
        reliability: Some(Reliability::SystemDefault),
        durability: Some(Durability::Volatile),
        history: Some(History::KeepLast),
        depth: Some(5),
        matches_publisher: false,
    };
    /// Reliable, and the last message is delivered to late subscribers.
    pub const LATCHED: Self = Self {
        reliability: Some(Reliability::Reliable),
        durability: Some(Durability::TransientLocal),
        ..Self::DEFAULT
    };

    /// Returns a profile as observed on a running robot, with the queue depth if it is known.
    pub fn seen(is_reliable: bool, is_latched: bool, depth: Option<u32>) -> Self {
        Self {
            reliability: Some(if is_reliable {
                Reliability::Reliable
            } else {
                Reliability::BestEffort
            }),
            durability: Some(if is_latched {
                Durability::TransientLocal
            } else {
                Durability::Volatile
            }),
            history: depth.map(|_| History::KeepLast),
            depth,
            matches_publisher: false,
        }
    }
}

/// Declares a QoS policy: its values and their tokens in OpenUSD.
macro_rules! policy {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $token:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            /// Returns the token in OpenUSD (REP-158 §2.4).
            pub fn token(self) -> &'static str {
                match self {
                    $(Self::$value => $token,)*
                }
            }

            /// Returns the policy of a token; `None` if there is none.
            pub fn from_token(token: &str) -> Option<Self> {
                match token {
                    $($token => Some(Self::$value),)*
                    _ => None,
                }
            }
        }
    };
}

policy! {
    /// Retransmission of lost messages.
    Reliability {
        /// Best effort for sensors in simulation (REP 2003).
        SystemDefault = "system_default",
        /// On.
        Reliable = "reliable",
        /// Off.
        BestEffort = "best_effort",
    }
}

policy! {
    /// Delivery of the last messages to late subscribers.
    Durability {
        /// As the middleware has it.
        SystemDefault = "system_default",
        /// On.
        TransientLocal = "transient_local",
        /// Off.
        Volatile = "volatile",
    }
}

policy! {
    /// Retention of old messages.
    History {
        /// As the middleware has it.
        SystemDefault = "system_default",
        /// As many as the queue is deep.
        KeepLast = "keep_last",
        /// All.
        KeepAll = "keep_all",
    }
}

/// An interface as observed on a running robot.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Captured {
    /// The interface; its name is relative to the robot's namespace.
    pub interface: Interface,
    /// Whether a publisher's rate was measured; if not, it is a placeholder.
    pub is_measured: bool,
    /// The frame that its messages carry, if they carry one and always the same.
    pub frame: Option<String>,
}
