//! Writes sensors, as far as MuJoCo supports them.

use nalgebra::{Matrix3, Rotation3, UnitQuaternion};

use super::{Writer, codes, push_pose};
use urdf_usd_robot::{Camera, LinkId, Pose, SensorKind};
use urdf_usd_text::xml::{Attributes, number};

impl Writer<'_> {
    /// Writes the sites and cameras of a link's sensors.
    pub(super) fn sensor_sites(&mut self, link: LinkId) {
        let robot = self.robot;
        for (index, sensor) in robot
            .sensors()
            .iter()
            .enumerate()
            .filter(|(_, sensor)| sensor.link == link && sensor.is_device())
        {
            let pose = self.bodies.placement[link].1 * sensor.origin;
            if let SensorKind::Camera(camera) = sensor.kind {
                let name = self.names.cameras.unique_or(&sensor.name, "camera");
                self.to.leaf("camera", view(name, &camera, &pose));
            } else {
                let name = self.site(&sensor.name, &pose);
                if let Some(site) = self.names.sensor_sites.get_mut(index) {
                    *site = name;
                }
            }
        }
    }

    /// Writes the sensors at their sites.
    pub(super) fn sensors(&mut self) {
        let robot = self.robot;
        self.to.open("sensor", Vec::new());
        let sites = std::mem::take(&mut self.names.sensor_sites);
        let placed = robot.sensors().iter().zip(sites);
        for (sensor, site) in placed.filter(|(sensor, _)| sensor.is_device()) {
            let body = self.bodies.body(sensor.link);
            let lost = match sensor.kind {
                SensorKind::Camera(_) => Some("its clipping range"),
                SensorKind::Imu => {
                    for (kind, ending) in [("gyro", "_gyro"), ("accelerometer", "_accelerometer")] {
                        self.sensor(
                            kind,
                            &format!("{}{ending}", sensor.name),
                            vec![("site", site.clone())],
                        );
                    }
                    let frame = vec![("objtype", "site".to_owned()), ("objname", site)];
                    self.sensor("framequat", &format!("{}_orientation", sensor.name), frame);
                    None
                }
                SensorKind::ForceTorque => {
                    for (kind, ending) in [("force", "_force"), ("torque", "_torque")] {
                        self.sensor(
                            kind,
                            &format!("{}{ending}", sensor.name),
                            vec![("site", site.clone())],
                        );
                    }
                    None
                }
                SensorKind::Contact => {
                    let body = body
                        .map_or_else(|| "world".to_owned(), |body| self.names.links[body].clone());
                    let data = vec![
                        ("body1", body),
                        ("data", "found force".to_owned()),
                        ("reduce", "netforce".to_owned()),
                    ];
                    self.sensor("contact", &sensor.name, data);
                    None
                }
                SensorKind::Gps => {
                    let frame = vec![("objtype", "site".to_owned()), ("objname", site)];
                    self.sensor("framepos", &sensor.name, frame);
                    Some("its position on the earth")
                }
                SensorKind::Lidar => Some("its rays"),
                SensorKind::Other => Some("its measurements"),
            };
            if let Some(lost) = lost {
                let message = format!("the MJCF has sensor \"{}\" without {lost}", sensor.name);
                self.findings.report(
                    &codes::SENSOR,
                    &sensor.place,
                    message,
                    "add what the simulation needs to the MJCF",
                );
            }
        }
        self.to.close();
    }

    fn sensor(&mut self, kind: &'static str, name: &str, object: Attributes) {
        let mut attributes: Attributes = vec![("name", self.names.sensors.unique_or(name, kind))];
        attributes.extend(object);
        self.to.leaf(kind, attributes);
    }
}

/// Returns the attributes of a camera. MuJoCo's cameras look along -z with y up, the robot's along
/// x with z up.
fn view(name: String, camera: &Camera, pose: &Pose) -> Attributes {
    let axes = Matrix3::new(0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
    let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes));
    let mut attributes: Attributes = vec![("name", name)];
    push_pose(
        &mut attributes,
        &Pose::from_parts(pose.translation, pose.rotation * turn),
    );
    match camera.parallel_width {
        Some(width) => {
            attributes.push((
                "fovy",
                number(width * f64::from(camera.height) / f64::from(camera.width)),
            ));
            attributes.push(("orthographic", "true".to_owned()));
        }
        None => attributes.push(("fovy", number(camera.vertical_fov().to_degrees()))),
    }
    attributes.push(("resolution", format!("{} {}", camera.width, camera.height)));
    attributes
}
