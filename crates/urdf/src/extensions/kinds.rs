//! Kinds of sensors: their names in Gazebo, and their defaults.

use urdf_usd_robot::SensorKind;

/// A kind of sensor. It is finer than the model's kinds, since messages depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Camera,
    DepthCamera,
    RgbdCamera,
    /// Several synchronised cameras.
    MultiCamera,
    Lidar,
    Imu,
    Contact,
    ForceTorque,
    Gps,
    Magnetometer,
    Altimeter,
    AirPressure,
    Range,
    LogicalCamera,
}

/// Every kind with its names (lower case, without separators), default rate in Hz, last component
/// of its default topic, and message type. Cameras have several topics; the table has that of the
/// image.
static TABLE: [(Kind, &[&str], f64, &str, &str); 14] = [
    (
        Kind::Camera,
        &[
            "camera",
            "triggeredcamera",
            "prosilica",
            "wideanglecamera",
            "thermal",
            "thermalcamera",
        ],
        30.0,
        "image_raw",
        IMAGE,
    ),
    (
        Kind::DepthCamera,
        &["depth", "depthcamera", "opennikinect", "kinect"],
        30.0,
        "image_raw",
        IMAGE,
    ),
    (
        Kind::RgbdCamera,
        &["rgbd", "rgbdcamera"],
        30.0,
        "image_raw",
        IMAGE,
    ),
    (
        Kind::MultiCamera,
        &["multicamera", "stereo", "stereocamera"],
        30.0,
        "image_raw",
        IMAGE,
    ),
    (
        Kind::Lidar,
        &[
            "ray",
            "gpuray",
            "lidar",
            "gpulidar",
            "laser",
            "gpulaser",
            "blocklaser",
            "raysensor",
            "gpuraysensor",
            "laserscan",
            "laserscanner",
            "velodynelaser",
            "velodynegpulaser",
        ],
        10.0,
        "scan",
        LASER_SCAN,
    ),
    (
        Kind::Imu,
        &["imu", "imusensor"],
        100.0,
        "imu",
        "sensor_msgs/msg/Imu",
    ),
    (
        Kind::Contact,
        &["contact", "bumper", "contactsensor"],
        100.0,
        "contacts",
        "ros_gz_interfaces/msg/Contacts",
    ),
    (
        Kind::ForceTorque,
        &["forcetorque", "ft", "ftsensor", "forcetorquesensor"],
        100.0,
        "wrench",
        "geometry_msgs/msg/WrenchStamped",
    ),
    (
        Kind::Gps,
        &["gps", "navsat", "gpssensor", "gnss"],
        10.0,
        "fix",
        "sensor_msgs/msg/NavSatFix",
    ),
    (
        Kind::Magnetometer,
        &["magnetometer", "magnetic"],
        50.0,
        "magnetic_field",
        "sensor_msgs/msg/MagneticField",
    ),
    (
        Kind::Altimeter,
        &["altimeter"],
        10.0,
        "altitude",
        "ros_gz_interfaces/msg/Altimeter",
    ),
    (
        Kind::AirPressure,
        &["airpressure", "barometer"],
        10.0,
        "air_pressure",
        "sensor_msgs/msg/FluidPressure",
    ),
    (
        Kind::Range,
        &["sonar", "range", "ultrasonic"],
        10.0,
        "range",
        RANGE,
    ),
    (
        Kind::LogicalCamera,
        &["logicalcamera"],
        10.0,
        "models",
        "ros_gz_interfaces/msg/LogicalCameraImage",
    ),
];

pub(super) const IMAGE: &str = "sensor_msgs/msg/Image";
pub(super) const CAMERA_INFO: &str = "sensor_msgs/msg/CameraInfo";
pub(super) const POINT_CLOUD: &str = "sensor_msgs/msg/PointCloud2";
pub(super) const LASER_SCAN: &str = "sensor_msgs/msg/LaserScan";
pub(super) const RANGE: &str = "sensor_msgs/msg/Range";

impl Kind {
    /// Returns the kind with the name `text`, in any spelling: `gpu_ray`, `Camera`,
    /// `libgazebo_ros_imu_sensor.so`.
    pub fn from_type(text: &str) -> Option<Self> {
        let word = text.trim().to_ascii_lowercase();
        let word = word.strip_prefix("lib").unwrap_or(&word);
        let word = word.strip_suffix(".so").unwrap_or(word);
        let word = word.strip_prefix("gazebo_ros_").unwrap_or(word);
        let letters: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        TABLE
            .iter()
            .find(|row| row.1.contains(&letters.as_str()))
            .map(|row| row.0)
    }

    /// Returns the kind that a plugin publishes, derived from the plugin's file name:
    /// `libgazebo_ros_block_laser.so`.
    pub fn from_plugin(filename: &str) -> Option<Self> {
        let file = filename.rsplit('/').next().unwrap_or(filename);
        let stem = file
            .strip_prefix("lib")
            .unwrap_or(file)
            .trim_end_matches(".so");
        Self::from_type(file).or_else(|| stem.split(['_', '-', '.']).find_map(Self::from_type))
    }

    /// Returns the kind of a sensor without a type, derived from the names of its child elements.
    pub fn from_content<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<Self> {
        names.find_map(Self::from_type)
    }

    pub fn is_camera(self) -> bool {
        matches!(
            self,
            Self::Camera | Self::DepthCamera | Self::RgbdCamera | Self::MultiCamera
        )
    }

    /// Returns whether a plugin for the kind `plugin` works with a sensor of this kind.
    pub fn fits(self, plugin: Self) -> bool {
        self == plugin
            || self.is_camera() && plugin.is_camera()
            // Gazebo's plugin for ranges reads a ray sensor.
            || (self, plugin) == (Self::Lidar, Self::Range)
    }

    /// Returns the default rate in Hz.
    pub fn default_rate(self) -> f64 {
        self.row().2
    }

    /// Returns the last component of the default topic.
    pub fn default_topic(self) -> &'static str {
        self.row().3
    }

    /// Returns the type of the messages.
    pub fn message(self) -> &'static str {
        self.row().4
    }

    /// Returns the model's kind; for cameras, the model needs their parameters as well.
    pub fn model_kind(self) -> SensorKind {
        match self {
            Self::Lidar => SensorKind::Lidar,
            Self::Imu => SensorKind::Imu,
            Self::Contact => SensorKind::Contact,
            Self::ForceTorque => SensorKind::ForceTorque,
            Self::Gps => SensorKind::Gps,
            _ => SensorKind::Other,
        }
    }

    fn row(
        self,
    ) -> &'static (
        Self,
        &'static [&'static str],
        f64,
        &'static str,
        &'static str,
    ) {
        // A test checks that every kind has a row.
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_many_spellings() {
        for (text, kind) in [
            ("camera", Some(Kind::Camera)),
            ("Camera ", Some(Kind::Camera)),
            ("wideanglecamera", Some(Kind::Camera)),
            ("thermal_camera", Some(Kind::Camera)),
            ("depth", Some(Kind::DepthCamera)),
            ("rgbd_camera", Some(Kind::RgbdCamera)),
            ("multicamera", Some(Kind::MultiCamera)),
            ("gpu_ray", Some(Kind::Lidar)),
            ("libgazebo_ros_gpu_laser", Some(Kind::Lidar)),
            ("libgazebo_ros_imu_sensor.so", Some(Kind::Imu)),
            ("force_torque", Some(Kind::ForceTorque)),
            ("navsat", Some(Kind::Gps)),
            ("segmentation", None),
            ("", None),
        ] {
            assert_eq!(Kind::from_type(text), kind, "{text}");
        }
        for (file, kind) in [
            ("libgazebo_ros_create_imu.so", Some(Kind::Imu)),
            (
                "/opt/ros/lib/libgazebo_ros_openni_kinect.so",
                Some(Kind::DepthCamera),
            ),
            ("libhector_gazebo_ros_gps.so", Some(Kind::Gps)),
            ("libgazebo_ros_velodyne_laser.so", Some(Kind::Lidar)),
            ("libgazebo_ros_create_cliff_sensor.so", None),
        ] {
            assert_eq!(Kind::from_plugin(file), kind, "{file}");
        }
        for row in &TABLE {
            assert_eq!(row.0.row().1, row.1);
        }
    }
}
