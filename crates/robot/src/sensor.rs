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
    /// Whether it is active from the start: false for the interface of a controller whose joints
    /// another controller claims.
    pub starts_enabled: bool,
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
    pub const SUBSCRIPTION: Self = Self::Subscription { qos: Qos::Default };
}

/// QoS profile of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Qos {
    /// The system's default.
    Default,
    /// Sensor data: best effort, the newest few messages only (REP 2003).
    Sensor,
    /// Reliable, and the last message is delivered to late subscribers (transient local).
    Latched,
    /// As observed on a running robot.
    Seen {
        /// Reliable rather than best effort.
        is_reliable: bool,
        /// Transient local rather than volatile.
        is_latched: bool,
        /// Queue depth, if known.
        depth: Option<u32>,
    },
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
