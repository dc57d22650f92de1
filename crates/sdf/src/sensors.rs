//! Sensors.

use super::links::{Carried, Inside};
use super::{Motion, Writer, codes, foreign};
use urdf_usd_robot::{Camera, Element, JointId, Sensor, SensorKind};
use urdf_usd_text::xml::number;

/// The types that SDFormat 1.9 knows, but for several cameras in one.
const TYPES: [&str; 28] = [
    "air_pressure",
    "air_speed",
    "altimeter",
    "boundingbox",
    "boundingbox_camera",
    "camera",
    "contact",
    "depth",
    "depth_camera",
    "force_torque",
    "gps",
    "gpu_lidar",
    "gpu_ray",
    "imu",
    "lidar",
    "logical_camera",
    "magnetometer",
    "navsat",
    "ray",
    "rfid",
    "rfidtag",
    "rgbd",
    "rgbd_camera",
    "segmentation",
    "segmentation_camera",
    "sonar",
    "thermal",
    "thermal_camera",
];

/// What SDFormat has in a sensor, but for its place. libsdformat takes anything else for an error.
const SETTINGS: [&str; 23] = [
    "air_pressure",
    "air_speed",
    "altimeter",
    "always_on",
    "camera",
    "contact",
    "enable_metrics",
    "force_torque",
    "gps",
    "imu",
    "lidar",
    "logical_camera",
    "magnetometer",
    "navsat",
    "plugin",
    "ray",
    "rfid",
    "rfidtag",
    "sonar",
    "topic",
    "transceiver",
    "update_rate",
    "visualize",
];

impl<'a> Writer<'a> {
    /// The sensors on a link, but those of force and torque: SDFormat has these in joints.
    pub(super) fn link_sensors(&mut self, place: Carried, inside: &mut Inside) {
        let robot = self.robot;
        for sensor in robot
            .sensors()
            .iter()
            .filter(|sensor| sensor.link == place.link)
        {
            let source = self.source(sensor);
            let has = |name: &[&str]| {
                source
                    .iter()
                    .flat_map(|source| &source.children)
                    .any(|child| name.contains(&child.name.as_str()))
            };
            let is_whole = match sensor.kind {
                SensorKind::Camera(_) => has(&["camera"]),
                SensorKind::Lidar => has(&["ray", "lidar"]),
                _ => true,
            };
            let of_source = source.filter(|_| is_whole).and_then(known_type);
            let kind = match (sensor.kind, of_source) {
                (SensorKind::ForceTorque, _) => {
                    if !self.has_joint(sensor) {
                        self.left_out(sensor, "measures at a link that no joint of the SDF holds");
                    }
                    continue;
                }
                (SensorKind::Contact, _)
                    if !inside.collisions.iter().any(|(of, _)| *of == place.link) =>
                {
                    self.left_out(sensor, "is on a link without collisions");
                    continue;
                }
                (_, Some(kind)) => kind,
                (SensorKind::Contact, None) => "contact",
                (SensorKind::Camera(_), None) => camera_type(sensor),
                (SensorKind::Imu, None) => "imu",
                (SensorKind::Gps, None) => "navsat",
                (SensorKind::Lidar, None) => {
                    self.left_out(sensor, "has rays of which nothing is known");
                    continue;
                }
                (SensorKind::Other, None) => {
                    self.left_out(sensor, "is of a kind that SDFormat does not know");
                    continue;
                }
            };
            let name = inside.name(&sensor.name, kind);
            self.to
                .open("sensor", vec![("name", name), ("type", kind.to_owned())]);
            self.pose(self.frame_in(place).as_deref(), &sensor.origin);
            match (sensor.kind, of_source.and(source)) {
                (SensorKind::Contact, source) => {
                    self.settings(sensor, source, "contact");
                    self.to.open("contact", Vec::new());
                    for (_, collision) in
                        inside.collisions.iter().filter(|(of, _)| *of == place.link)
                    {
                        self.to.text("collision", Vec::new(), collision);
                    }
                    self.to.close();
                }
                (SensorKind::Camera(camera), None) => self.camera(&camera),
                (_, source) => self.settings(sensor, source, ""),
            }
            self.to.close();
        }
    }

    /// The sensors of force and torque of a joint.
    pub(super) fn joint_sensors(&mut self, id: JointId) {
        let robot = self.robot;
        let mut inside = super::names::Scope::default();
        for sensor in robot
            .sensors()
            .iter()
            .filter(|sensor| sensor.kind == SensorKind::ForceTorque)
        {
            if robot.tree().parent_joint(sensor.link) != Some(id) {
                continue;
            }
            let kind = "force_torque";
            let name = inside.first([sensor.name.as_str(), kind]);
            self.to
                .open("sensor", vec![("name", name), ("type", kind.to_owned())]);
            let frame = self.names.links[sensor.link].clone();
            self.pose(Some(&frame), &sensor.origin);
            let source = self.source(sensor);
            self.settings(sensor, source, "");
            self.to.close();
        }
    }

    /// Whether the SDF has the joint that moves or holds a sensor's link.
    fn has_joint(&self, sensor: &Sensor) -> bool {
        match self.groups.motion[sensor.link] {
            Motion::Joint(_) => true,
            Motion::Rigid => self.is_joined(sensor.link),
            Motion::Held | Motion::Free => false,
        }
    }

    fn left_out(&mut self, sensor: &Sensor, why: &str) {
        let message = format!("sensor \"{}\" {why}; the SDF does without it", sensor.name);
        self.findings.report(
            &codes::SENSOR,
            &sensor.place,
            message,
            "write the sensor into the SDF as the simulation needs it",
        );
    }

    /// The element of a URDF that the sensor was read from, if it is SDF: it knows more than the
    /// robot.
    fn source(&self, sensor: &Sensor) -> Option<&'a Element> {
        let sensors = self
            .blocks(true)
            .flat_map(|block| &block.children)
            .filter(|child| child.name == "sensor");
        // Without a place there is no telling which.
        sensors
            .into_iter()
            .find(|source| source.place == sensor.place && source.place.line > 0)
    }

    /// What a sensor's source says of it, but where it is and what `without` names.
    fn settings(&mut self, sensor: &Sensor, source: Option<&Element>, without: &str) {
        let mut unknown: Vec<&str> = Vec::new();
        for child in source.iter().flat_map(|source| &source.children) {
            match child.name.as_str() {
                "pose" | "origin" => {}
                name if name == without => {}
                // Where the camera is in the sensor is in the sensor's own place.
                "camera" => {
                    let mut camera = child.clone();
                    camera.children.retain(|child| child.name != "pose");
                    foreign(&mut self.to, &camera);
                }
                name if SETTINGS.contains(&name) => foreign(&mut self.to, child),
                name => unknown.push(name),
            }
        }
        if !unknown.is_empty() {
            let message = format!(
                "sensor \"{}\" is in the SDF without what SDFormat has no word for: {}",
                sensor.name,
                unknown.join(", ")
            );
            let help = "write elements of your own with a prefix, as in <my:noise>, into the SDF";
            self.findings
                .report(&codes::SENSOR, &sensor.place, message, help);
        }
    }

    fn camera(&mut self, camera: &Camera) {
        self.to.open("camera", Vec::new());
        self.leaf("horizontal_fov", &number(camera.horizontal_fov));
        self.to.open("image", Vec::new());
        self.leaf("width", &camera.width.to_string());
        self.leaf("height", &camera.height.to_string());
        self.to.close();
        self.to.open("clip", Vec::new());
        self.leaf("near", &number(camera.near));
        self.leaf("far", &number(camera.far));
        self.to.close();
        self.to.close();
    }
}

/// The type of a sensor in a URDF, if it is one of SDFormat's.
fn known_type(source: &Element) -> Option<&'static str> {
    let (_, given) = source.attributes.iter().find(|(name, _)| name == "type")?;
    TYPES.into_iter().find(|known| known == given)
}

/// Whether a camera sees colours, depth or both, by what it offers to ROS.
fn camera_type(sensor: &Sensor) -> &'static str {
    let offers = |is: &dyn Fn(&str, &str) -> bool| {
        sensor
            .interfaces
            .iter()
            .any(|of| is(&of.name, &of.type_name))
    };
    let has_points = offers(&|_, message| message == "sensor_msgs/msg/PointCloud2");
    let has_depth = offers(&|name, _| name.contains("depth"));
    let has_color =
        offers(&|name, message| message == "sensor_msgs/msg/Image" && !name.contains("depth"));
    match (has_depth || has_points, has_color) {
        (true, true) => "rgbd_camera",
        (true, false) => "depth_camera",
        (false, _) => "camera",
    }
}
