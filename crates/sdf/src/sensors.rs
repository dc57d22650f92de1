//! Writes sensors.

use super::links::{Carried, Inside};
use super::{Motion, Writer, codes, foreign};
use urdf_usd_robot::{Camera, Element, JointId, Sensor, SensorKind};
use urdf_usd_text::xml::number;

/// Sensor types of SDFormat 1.9, except multicamera.
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

/// Elements of a sensor in SDFormat, except its pose. libsdformat rejects any others.
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
    /// Writes the sensors on a link, except force-torque sensors, which SDFormat has in joints.
    pub(super) fn link_sensors(&mut self, place: Carried, inside: &mut Inside) {
        let robot = self.robot;
        for sensor in robot
            .sensors()
            .iter()
            .filter(|sensor| sensor.link == place.link && sensor.is_device())
        {
            let source = self.source(sensor);
            let has = |name: &[&str]| {
                source
                    .iter()
                    .flat_map(|source| &source.children)
                    .any(|child| name.contains(&child.name.as_str()))
            };
            // A source without these elements has no optics or rays to copy.
            let is_whole = match sensor.kind {
                SensorKind::Camera(_) => has(&["camera"]),
                SensorKind::Lidar => has(&["ray", "lidar"]),
                _ => true,
            };
            let source_type = source.filter(|_| is_whole).and_then(known_type);
            let kind = match (sensor.kind, source_type) {
                (SensorKind::ForceTorque, _) => {
                    if !self.has_joint(sensor) {
                        self.report_omission(sensor, "is on a link without a joint in the SDF");
                    }
                    continue;
                }
                (SensorKind::Contact, _)
                    if !inside
                        .collisions
                        .iter()
                        .any(|(link, _)| *link == place.link) =>
                {
                    self.report_omission(sensor, "is on a link without collisions");
                    continue;
                }
                (_, Some(kind)) => kind,
                (SensorKind::Contact, None) => "contact",
                (SensorKind::Camera(_), None) => camera_type(sensor),
                (SensorKind::Imu, None) => "imu",
                (SensorKind::Gps, None) => "navsat",
                (SensorKind::Lidar, None) => {
                    self.report_omission(sensor, "has unknown rays");
                    continue;
                }
                (SensorKind::Other, None) => {
                    self.report_omission(sensor, "is of a kind that SDFormat does not define");
                    continue;
                }
            };
            let name = inside.name(&sensor.name, kind);
            self.to
                .open("sensor", vec![("name", name), ("type", kind.to_owned())]);
            self.pose(self.frame_in(place).as_deref(), &sensor.origin);
            match (sensor.kind, source_type.and(source)) {
                (SensorKind::Contact, source) => {
                    // Contact sensors name collisions, whose names the SDF assigns itself.
                    self.settings(sensor, source, "contact");
                    self.to.open("contact", Vec::new());
                    for (_, collision) in inside
                        .collisions
                        .iter()
                        .filter(|(link, _)| *link == place.link)
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

    /// Writes the force-torque sensors of a joint.
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

    /// Returns whether the SDF has the joint that moves or fixes a sensor's link.
    fn has_joint(&self, sensor: &Sensor) -> bool {
        match self.groups.motion[sensor.link] {
            Motion::Joint(_) => true,
            Motion::Rigid => self.is_joined(sensor.link),
            Motion::Fixed | Motion::Free => false,
        }
    }

    fn report_omission(&mut self, sensor: &Sensor, why: &str) {
        let message = format!(
            "sensor \"{}\" {why}; it is left out of the SDF",
            sensor.name
        );
        self.findings.report(
            &codes::SENSOR,
            &sensor.place,
            message,
            "add the sensor to the SDF if the simulation needs it",
        );
    }

    /// Returns the SDF element in a URDF that the sensor was read from, if any: it has more
    /// settings than the robot.
    fn source(&self, sensor: &Sensor) -> Option<&'a Element> {
        let sensors = self
            .blocks(true)
            .flat_map(|block| &block.children)
            .filter(|child| child.name == "sensor");
        // Without a line, sensors can't be distinguished.
        sensors
            .into_iter()
            .find(|source| source.place == sensor.place && source.place.line > 0)
    }

    /// Writes the settings in a sensor's source, except its pose and the element `without`.
    fn settings(&mut self, sensor: &Sensor, source: Option<&Element>, without: &str) {
        let mut unknown: Vec<&str> = Vec::new();
        for child in source.iter().flat_map(|source| &source.children) {
            match child.name.as_str() {
                "pose" | "origin" => {}
                name if name == without => {}
                // The camera's pose in the sensor is part of the sensor's pose.
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
                "the SDF has sensor \"{}\" without elements that SDFormat does not define: {}",
                sensor.name,
                unknown.join(", ")
            );
            let help = "add custom elements to the SDF with a prefix, as in <my:noise>";
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

/// Returns the type of a sensor in a URDF, if SDFormat defines it.
fn known_type(source: &Element) -> Option<&'static str> {
    let (_, given) = source.attributes.iter().find(|(name, _)| name == "type")?;
    TYPES.into_iter().find(|known| known == given)
}

/// Returns the type of a camera (colour, depth or both) by its ROS interfaces.
fn camera_type(sensor: &Sensor) -> &'static str {
    let offers = |matches: &dyn Fn(&str, &str) -> bool| {
        sensor
            .interfaces
            .iter()
            .any(|interface| matches(&interface.name, &interface.type_name))
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
