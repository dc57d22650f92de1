//! Sensors, and what a robot offers to ROS: topics and actions, as data.

use super::{LinkId, Pose};
use urdf_usd_diagnostic::Place;

/// A device on a link that senses.
#[derive(Clone, Debug)]
pub struct Sensor {
    /// The name as the source gives it, or its kind; not necessarily unique.
    pub name: String,
    /// What it senses.
    pub kind: SensorKind,
    /// The link that it sits on.
    pub link: LinkId,
    /// The sensor's frame in the link's: x forward, z up, cameras too.
    pub origin: Pose,
    /// The link whose frame its messages are in, where that is another than `link`; for a camera, a
    /// link that is an optical frame (z forward, x right, y down), or `None` if the robot has none
    /// for it.
    pub frame: Option<LinkId>,
    /// The name of the frame of its messages where the source gives one that is no link: a frame at
    /// `origin`, or (for a camera) its optical frame, that no other sensor has; or one of
    /// [`GLOBAL_FRAMES`].
    pub frame_name: Option<String>,
    /// What it offers to ROS. Names are relative to the robot's namespace unless they begin with a
    /// slash.
    pub interfaces: Vec<Interface>,
    /// Position in the source.
    pub place: Place,
}

/// Frames that a robot does not have, whatever its links are called (REP 105).
pub const GLOBAL_FRAMES: [&str; 4] = ["world", "map", "odom", "earth"];

/// What a sensor senses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SensorKind {
    /// Pictures, of colour or depth.
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
    /// Radians, over the width of the image; above 0 and below π.
    pub horizontal_fov: f64,
    /// Metres: how wide what it sees is, if it sees along parallel lines and `horizontal_fov` means
    /// nothing. Above zero.
    pub parallel_width: Option<f64>,
    /// Pixels; never zero.
    pub width: u32,
    /// Pixels; never zero.
    pub height: u32,
    /// Metres: what is nearer is not seen. Above zero.
    pub near: f64,
    /// Metres: what is farther is not seen. Above `near`.
    pub far: f64,
}

impl Camera {
    /// Radians, over the height of the image; above 0 and below π.
    pub fn vertical_fov(&self) -> f64 {
        2.0 * ((self.horizontal_fov / 2.0).tan() * f64::from(self.height) / f64::from(self.width))
            .atan()
    }
}

/// Something that a robot offers to ROS.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Interface {
    /// A valid ROS name, relative to the robot's namespace unless it begins with a slash:
    /// `camera/image_raw`.
    pub name: String,
    /// The ROS type: `sensor_msgs/msg/Image`.
    pub type_name: String,
    /// What it is.
    pub kind: InterfaceKind,
    /// Whether it is there from the start: false for what a controller offers that another one
    /// keeps from its joints.
    pub starts_enabled: bool,
}

/// The kinds of interfaces, seen from the robot.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum InterfaceKind {
    /// A topic that the robot publishes.
    Publisher {
        /// Hz.
        rate: f64,
        /// How its messages are delivered.
        qos: Qos,
    },
    /// A topic that the robot listens to.
    Subscription {
        /// What it asks for.
        qos: Qos,
    },
    /// A service that the robot answers.
    ServiceServer,
    /// A service that the robot calls.
    ServiceClient,
    /// An action that the robot serves.
    ActionServer,
    /// An action that the robot asks others for.
    ActionClient,
}

impl InterfaceKind {
    /// A topic that the robot listens to, as the system has it.
    pub const SUBSCRIPTION: Self = Self::Subscription { qos: Qos::Default };
}

/// How messages of a topic are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Qos {
    /// As the system has it.
    Default,
    /// As for sensors: the newest few, lost ones are not sent again (REP 2003).
    Sensor,
    /// Reliable, and the last message is there for who comes later.
    Latched,
    /// As it was seen on a running robot.
    Seen {
        /// Whether lost messages are sent again.
        is_reliable: bool,
        /// Whether those who come late get what was said before.
        is_latched: bool,
        /// How many messages are kept, if that is known.
        depth: Option<u32>,
    },
}

/// An interface as a running robot was seen to have it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Captured {
    /// What it is; its name is relative to the robot's namespace.
    pub interface: Interface,
    /// Whether a publisher's rate was measured; if not, it is a stand-in.
    pub is_measured: bool,
    /// The frame that its messages carry, if they carry one and always the same.
    pub frame: Option<String>,
}
