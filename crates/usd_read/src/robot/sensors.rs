//! Cameras and ROS interfaces (REP-158 §2.2 to §2.6).

use std::collections::HashMap;

use nalgebra::{Quaternion, Unit};

use super::links::{DraftId, Links, has_interface};
use super::scene::Scene;
use crate::codes;
use urdf_usd_robot::{
    Camera, Durability, History, Interface, InterfaceKind, LinkId, NestedContext, Pose, Qos,
    Reliability, Robot, RosSettings, Sensor, SensorKind, names,
};
use urdf_usd_stage::{Prim, PrimId, Value, numbers};
use urdf_usd_usd_author::layout::{CAMERA_OF_TOPIC, IMAGE_SIZE};

/// Width of a camera image in pixels, if the asset gives only the aspect ratio.
const WIDTH: u32 = 640;
/// Rate in Hz of a topic for which the asset gives none.
const RATE: f64 = 10.0;

/// Reads sensors and interfaces. `link` maps a draft, or the world, to the robot's link.
pub(super) fn read(
    scene: &Scene<'_>,
    links: &Links,
    robot: &mut Robot,
    link: impl Fn(Option<DraftId>) -> Option<LinkId>,
) {
    robot.ros = settings(scene);
    // The sensors, and the index of each camera or other sensor by its prim.
    let mut all: Vec<Sensor> = Vec::new();
    let mut sensors: HashMap<PrimId, usize> = HashMap::new();
    // Interfaces in frames that cameras share, with the frame; cameras may come after them.
    let mut in_shared_frames: Vec<(PrimId, Vec<Interface>, Option<LinkId>)> = Vec::new();
    for (id, prim) in scene.prims() {
        if prim.type_name == "Camera"
            && let Some(on) = link(links.of[id])
        {
            // USD's camera looks along -z with y up, the model's along x with z up.
            let look = Pose::from_parts(
                [0.0; 3].into(),
                Unit::new_unchecked(Quaternion::new(0.5, 0.5, -0.5, -0.5)),
            );
            let origin = in_link(scene, links, id) * look.inverse();
            sensors.insert(id, all.len());
            let camera = SensorKind::Camera(view(scene, prim));
            all.push(sensor(scene, id, camera, on, origin));
        }
        let own_frame =
            prim.has("RosFrameAPI") && links.of[id].is_none_or(|own| links.drafts[own].prim != id);
        let camera = scene
            .stage
            .ancestors(id)
            .find_map(|above| sensors.get(&above).copied());
        if let Some(sensor) = camera.and_then(|camera| all.get_mut(camera))
            && prim.has("RosFrameAPI")
        {
            let of_link = links.of[id]
                .filter(|own| links.drafts[*own].prim == id)
                .and_then(|own| link(Some(own)));
            match of_link {
                Some(frame) => sensor.frame = sensor.frame.or(Some(frame)),
                None => {
                    sensor.frame_name = prim
                        .text("ros:frame:id")
                        .map(str::to_owned)
                        .or(sensor.frame_name.take())
                }
            }
        }
        // Interfaces below a link's prim belong to a sensor, others to the robot.
        let on = links.of[id].and_then(|own| link(Some(own)));
        if !has_interface(prim) {
            // A frame that belongs only to a sensor.
            if let Some(on) = on.filter(|_| own_frame && camera.is_none()) {
                let origin = in_link(scene, links, id);
                let mut made = sensor(scene, id, SensorKind::Other, on, origin);
                made.frame_name = prim.text("ros:frame:id").map(str::to_owned);
                sensors.insert(id, all.len());
                all.push(made);
            }
            continue;
        }
        let found = interfaces(scene, id);
        robot.ros.has_all_interfaces = true;
        // First, since the frame may be below another camera.
        if let Some(camera) = camera_of_topic(scene, id).filter(|at| link(links.of[*at]).is_some())
        {
            in_shared_frames.push((camera, found, on));
            continue;
        }
        if let Some(camera) = camera.and_then(|camera| all.get_mut(camera)) {
            camera.interfaces.extend(found);
            // A frame that belongs only to a sensor says nothing about its kind.
            if matches!(camera.kind, SensorKind::Other) {
                camera.kind = kind_of(&camera.interfaces);
            }
            continue;
        }
        let Some(on) = on else {
            robot.interfaces.extend(found);
            continue;
        };
        // Interfaces of the simulator alone make no sensor.
        if found.is_empty() {
            continue;
        }
        let number = *sensors.entry(id).or_insert_with(|| {
            let origin = in_link(scene, links, id);
            all.push(sensor(scene, id, kind_of(&found), on, origin));
            all.len() - 1
        });
        let Some(sensor) = all.get_mut(number) else {
            continue;
        };
        sensor.interfaces.extend(found);
        if own_frame {
            sensor.frame_name = prim.text("ros:frame:id").map(str::to_owned);
        }
    }
    for (camera, found, frame) in in_shared_frames {
        let camera = sensors.get(&camera).copied();
        if let Some(sensor) = camera.and_then(|camera| all.get_mut(camera)) {
            sensor.interfaces.extend(found);
            sensor.frame = sensor.frame.or(frame);
        }
    }
    if let Err(error) = robot.set_sensors(all) {
        scene.push(error.to_diagnostic(robot.place.clone()));
    }
}

/// Returns the camera that an interface in a shared frame belongs to.
fn camera_of_topic(scene: &Scene<'_>, id: PrimId) -> Option<PrimId> {
    let target = scene.stage[id].targets(CAMERA_OF_TOPIC).first()?;
    let camera = scene.stage.at(target)?;
    (scene.stage[camera].type_name == "Camera").then_some(camera)
}

fn in_link(scene: &Scene<'_>, links: &Links, id: PrimId) -> Pose {
    links.pose(links.of[id]).inverse() * scene.pose(id)
}

fn sensor(scene: &Scene<'_>, id: PrimId, kind: SensorKind, link: LinkId, origin: Pose) -> Sensor {
    let name = super::display_name(scene, id).unwrap_or_else(|| scene.stage[id].name().to_owned());
    let place = scene.place(id, None);
    Sensor {
        name,
        kind,
        link,
        origin,
        frame: None,
        frame_name: None,
        interfaces: Vec::new(),
        place,
    }
}

/// Reads the optics of a camera (UsdGeomCamera). Its apertures are in tenths of the stage's unit.
fn view(scene: &Scene<'_>, prim: &Prim) -> Camera {
    let above_zero = |name: &str, otherwise: f64| {
        prim.number(name)
            .filter(|number| *number > 0.0 && number.is_finite())
            .unwrap_or(otherwise)
    };
    let (width, height) = (
        above_zero("horizontalAperture", 20.955),
        above_zero("verticalAperture", 15.2908),
    );
    let [near, far] = prim
        .value("clippingRange")
        .and_then(numbers::<2>)
        .unwrap_or([1.0, 1e6]);
    let near = (near * scene.metre).max(1e-6);
    let pixels = IMAGE_SIZE.map(|name| match prim.value(name) {
        Some(Value::Int(pixels)) => u32::try_from(*pixels).ok().filter(|pixels| *pixels > 0),
        _ => None,
    });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 1 and 65535"
    )]
    let by_aperture = (f64::from(WIDTH) * height / width)
        .round()
        .clamp(1.0, 65_535.0) as u32;
    let [width_pixels, height_pixels] = match pixels {
        [Some(width), Some(height)] => [width, height],
        _ => [WIDTH, by_aperture],
    };
    Camera {
        parallel_width: (prim.text("projection") == Some("orthographic"))
            .then_some(width / 10.0 * scene.metre),
        horizontal_fov: 2.0 * (width / 2.0 / above_zero("focalLength", 50.0)).atan(),
        width: width_pixels,
        height: height_pixels,
        near,
        far: (far * scene.metre).max(near * 1.001),
    }
}

/// Returns the kind of a sensor, by the type of its messages.
fn kind_of(interfaces: &[Interface]) -> SensorKind {
    interfaces.first().map_or(SensorKind::Other, |interface| {
        match interface.type_name.as_str() {
            "sensor_msgs/msg/LaserScan" | "sensor_msgs/msg/PointCloud2" => SensorKind::Lidar,
            "sensor_msgs/msg/Imu" => SensorKind::Imu,
            "sensor_msgs/msg/NavSatFix" => SensorKind::Gps,
            "geometry_msgs/msg/WrenchStamped" | "geometry_msgs/msg/Wrench" => {
                SensorKind::ForceTorque
            }
            name if name.contains("Contact") => SensorKind::Contact,
            _ => SensorKind::Other,
        }
    })
}

/// Returns the interfaces of a prim, with their names relative to the robot's namespace.
fn interfaces(scene: &Scene<'_>, id: PrimId) -> Vec<Interface> {
    let (prim, namespace) = (&scene.stage[id], nested_namespace(scene, id));
    let kinds = [
        ("RosTopicAPI", "topic"),
        ("RosServiceAPI", "service"),
        ("RosActionAPI", "action"),
    ];
    let one = |(schema, kind): (&str, &str)| {
        let text = |field: &str| {
            prim.text(&format!("ros:{kind}:{field}"))
                .filter(|text| !text.is_empty())
        };
        let (name, type_name) = (text("name")?, text("type")?);
        let of_topic = match text("role") {
            Some("subscription" | "client") => InterfaceKind::Subscription { qos: qos(prim) },
            _ => {
                let rate = prim
                    .number("ros:topic:publish_rate")
                    .filter(|rate| *rate > 0.0 && rate.is_finite());
                InterfaceKind::Publisher {
                    rate: rate.unwrap_or(RATE),
                    qos: qos(prim),
                }
            }
        };
        let kind = match (schema, text("role")) {
            ("RosTopicAPI", _) => of_topic,
            ("RosServiceAPI", Some("client")) => InterfaceKind::ServiceClient,
            ("RosServiceAPI", _) => InterfaceKind::ServiceServer,
            (_, Some("client")) => InterfaceKind::ActionClient,
            _ => InterfaceKind::ActionServer,
        };
        let starts_enabled =
            prim.flag(&format!("ros:{}:starts_enabled", word(kind))) != Some(false);
        if !prim.has(schema) {
            return None;
        }
        let interface = Interface {
            starts_enabled,
            override_frame_id: text("override_frame_id").map(str::to_owned),
            ..Interface::new(names::in_namespace(&namespace, name), type_name, kind)
        };
        if interface.is_prohibited() {
            let message = format!(
                "interface {:?} ({type_name}) is left out: it belongs to the simulator (REP-158 §2.9)",
                interface.name
            );
            let help = "remove it from the asset; simulators add it";
            scene.report(&codes::PROHIBITED_INTERFACE, id, None, message, help);
            return None;
        }
        Some(interface)
    };
    kinds.into_iter().filter_map(one).collect()
}

fn word(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Publisher { .. } | InterfaceKind::Subscription { .. } => "topic",
        InterfaceKind::ServiceServer | InterfaceKind::ServiceClient => "service",
        InterfaceKind::ActionServer | InterfaceKind::ActionClient => "action",
    }
}

/// Returns the quality of service of a topic (REP-158 §2.4).
fn qos(prim: &Prim) -> Qos {
    let policy = |name: &str| prim.text(&format!("ros:topic:qos:{name}"));
    Qos {
        reliability: policy("reliability").and_then(Reliability::from_token),
        durability: policy("durability").and_then(Durability::from_token),
        history: policy("history").and_then(History::from_token),
        depth: match prim.value("ros:topic:qos:depth") {
            Some(Value::Int(depth)) => u32::try_from(*depth).ok(),
            _ => None,
        },
        matches_publisher: prim.flag("ros:topic:qos:match_publisher") == Some(true),
    }
}

/// Reads the ROS context of the robot (REP-158 §2.1).
fn settings(scene: &Scene<'_>) -> RosSettings {
    let Some(context) = scene.context.map(|context| &scene.stage[context]) else {
        return RosSettings::default();
    };
    RosSettings {
        namespace: context.text("ros:context:namespace").map(str::to_owned),
        domain_id: domain_id(context),
        parent_frame: context.text("ros:context:parent_frame").map(str::to_owned),
        has_all_interfaces: false,
    }
}

/// Returns the ROS context that begins at a prim, unless it is the robot's (REP-158 §2.1).
pub(super) fn nested_context(scene: &Scene<'_>, id: PrimId) -> Option<NestedContext> {
    let prim = &scene.stage[id];
    let namespace = prim.text("ros:context:namespace").unwrap_or_default();
    (prim.has("RosContextAPI") && scene.context != Some(id)).then(|| NestedContext {
        namespace: namespace.trim_end_matches('/').to_owned(),
        domain_id: domain_id(prim),
    })
}

/// Returns the DDS domain that a context states.
fn domain_id(prim: &Prim) -> Option<i32> {
    match prim.value("ros:context:domain_id") {
        Some(Value::Int(domain)) => Some(*domain),
        _ => None,
    }
}

/// Returns the namespace of a prim relative to the robot's; empty for the same.
fn nested_namespace(scene: &Scene<'_>, id: PrimId) -> String {
    let contexts: Vec<PrimId> = scene.stage.self_and_ancestors(id).collect();
    contexts
        .into_iter()
        .rev()
        .filter_map(|above| nested_context(scene, above))
        .fold(String::new(), |around, context| {
            names::in_namespace(&around, &context.namespace)
        })
}
