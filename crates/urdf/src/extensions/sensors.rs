//! Reads sensors: `<gazebo><sensor>`, and URDF's own `<sensor>`.

use nalgebra::{Translation3, UnitQuaternion};

use super::frames;
use super::kinds::Kind;
use super::scope::{Scope, attribute, child, children, descend, text_of};
use super::topics::{Device, topics};
use crate::codes;
use crate::xml::short;
use urdf_usd_robot::{
    Camera, Element, GLOBAL_FRAMES, InterfaceKind, JointId, LinkId, Pose, Qos, Sensor, SensorKind,
};

/// Parameters of a camera without settings: SDFormat's defaults.
const DEFAULT_VIEW: Camera = Camera {
    horizontal_fov: 1.047,
    parallel_width: None,
    width: 320,
    height: 240,
    near: 0.1,
    far: 100.0,
};
/// Minimum field of view, in radians.
const MIN_FOV: f64 = 1e-4;
/// Minimum distance of the near clipping plane, in metres ...
const MIN_NEAR: f64 = 1e-6;
/// ... and the upper bound of it.
const MAX_NEAR: f64 = 1e30;
/// Maximum field of view, in radians.
const MAX_FOV: f64 = 3.0;
/// Maximum number of pixels along a side.
const MAX_PIXELS: f64 = 65536.0;
/// Maximum rate, in Hz.
const MAX_RATE: f64 = 1e6;
/// Maximum number of cameras of one sensor.
const MAX_CAMERAS: usize = 32;
/// Name of a sensor without name and type.
const DEFAULT_NAME: &str = "sensor";

/// The link, and possibly joint, that a sensor is attached to.
#[derive(Clone, Copy)]
struct Seat {
    link: LinkId,
    /// Joint that moves the link.
    joint: Option<JointId>,
}

/// Syntax of a sensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// SDFormat in a gazebo element: poses and settings in the text of elements; cameras look along
    /// x.
    Gazebo,
    /// URDF: settings in attributes; cameras look along z.
    Urdf,
}

/// Reads all sensors, in the order of the source.
pub(super) fn read(scope: &mut Scope<'_>) -> Vec<Sensor> {
    let mut sensors = Vec::new();
    let mut old = Vec::new();
    let robot = scope.robot;
    for element in &robot.custom.elements {
        match element.name.as_str() {
            "gazebo" => {
                old.extend(
                    element
                        .children
                        .iter()
                        .filter(|child| child.name.starts_with("sensor:")),
                );
                for sensor in children(element, "sensor") {
                    if let Some(seat) = gazebo_seat(scope, element, sensor) {
                        read_sensor(scope, sensor, seat, Dialect::Gazebo, &mut sensors);
                    }
                }
            }
            "sensor" => {
                if let Some(seat) = urdf_seat(scope, element) {
                    read_sensor(scope, element, seat, Dialect::Urdf, &mut sensors);
                }
            }
            _ => {}
        }
    }
    if let Some(first) = old.first() {
        let message = format!(
            "sensors use the syntax of Gazebo before 1.0 (<{}>, {} of them)",
            short(&first.name),
            old.len()
        );
        scope.report(
            &codes::OLD_SENSOR,
            &first.place,
            message,
            "write <sensor type=\"…\">, as Gazebo 1.0 and later require",
        );
    }
    sensors
}

/// Returns the link or joint that a sensor in a gazebo element is attached to; reports and returns
/// `None` if there is none.
fn gazebo_seat(scope: &mut Scope<'_>, block: &Element, sensor: &Element) -> Option<Seat> {
    let Some(reference) = super::reference(block) else {
        let message = format!(
            "{} is attached to no link: its gazebo element has no reference",
            sensor.place.element
        );
        scope.report(
            &codes::SENSOR_WITHOUT_LINK,
            &sensor.place,
            message,
            "write <gazebo reference=\"LINK\">",
        );
        return None;
    };
    let (link, joint) = (scope.link(reference), scope.joint(reference));
    // If a link and a joint have the same name, a force-torque sensor refers to the joint.
    let prefers_joint =
        attribute(sensor, "type").and_then(Kind::from_type) == Some(Kind::ForceTorque);
    let seat = match (link, joint) {
        (Some(link), _) if !prefers_joint || joint.is_none() => Some(on_link(scope, link)),
        (_, Some(joint)) => Some(on_joint(scope, joint)),
        _ => None,
    };
    if seat.is_none() {
        scope.report_unknown("link or joint", reference, &sensor.place);
    }
    seat
}

/// Returns the link or joint that a sensor of URDF is attached to; reports and returns `None` if
/// there is none.
fn urdf_seat(scope: &mut Scope<'_>, sensor: &Element) -> Option<Seat> {
    let parent = child(sensor, "parent");
    let place = parent.map_or(&sensor.place, |parent| &parent.place);
    let (seat, what, name) =
        match parent.map(|parent| (attribute(parent, "link"), attribute(parent, "joint"))) {
            Some((Some(name), _)) => (
                scope.link(name).map(|link| on_link(scope, link)),
                "link",
                name,
            ),
            Some((None, Some(name))) => (
                scope.joint(name).map(|joint| on_joint(scope, joint)),
                "joint",
                name,
            ),
            _ => {
                let message = format!("{} has no parent link", sensor.place.element);
                scope.report(
                    &codes::SENSOR_WITHOUT_LINK,
                    place,
                    message,
                    "add <parent link=\"…\"/>",
                );
                return None;
            }
        };
    if seat.is_none() {
        scope.report_unknown(what, name, place);
    }
    seat
}

fn on_link(scope: &Scope<'_>, link: LinkId) -> Seat {
    Seat {
        link,
        joint: scope.robot.tree().parent_joint(link),
    }
}

fn on_joint(scope: &Scope<'_>, joint: JointId) -> Seat {
    Seat {
        link: scope.joint_of(joint).child(),
        joint: Some(joint),
    }
}

/// Reads one sensor; a sensor with several cameras becomes as many sensors.
fn read_sensor(
    scope: &mut Scope<'_>,
    element: &Element,
    seat: Seat,
    dialect: Dialect,
    sensors: &mut Vec<Sensor>,
) {
    let word = attribute(element, "type");
    let kind = match word {
        Some(word) => Kind::from_type(word),
        None => Kind::from_content(element.children.iter().map(|child| child.name.as_str())),
    };
    let name = attribute(element, "name")
        .or(word)
        .unwrap_or(DEFAULT_NAME)
        .trim();
    let origin = match dialect {
        Dialect::Gazebo => scope.pose(element, seat.link),
        Dialect::Urdf => urdf_origin(scope, element, kind),
    };
    let Some(kind) = kind else {
        let message = match word {
            Some(word) => format!(
                "the topics of sensors of type \"{}\" are unknown",
                short(word)
            ),
            None => format!("{} has no type", element.place.element),
        };
        scope.report(
            &codes::UNKNOWN_SENSOR,
            &element.place,
            message,
            "the sensor is kept without topics",
        );
        sensors.push(sensor(
            element,
            name.to_owned(),
            SensorKind::Other,
            seat.link,
            origin,
        ));
        return;
    };
    let Some(topic_name) = scope.validate(name, &element.place) else {
        sensors.push(sensor(
            element,
            name.to_owned(),
            kind.model_kind(),
            seat.link,
            origin,
        ));
        return;
    };
    let device = Device {
        element,
        kind,
        name: &topic_name,
        camera: None,
        part: None,
        has_rows: has_rows(element),
    };
    if !kind.is_camera() {
        let mut sensor = sensor(
            element,
            name.to_owned(),
            kind.model_kind(),
            seat.link,
            origin,
        );
        (sensor.frame, sensor.frame_name) = frame(scope, element, kind, seat);
        add_topics(scope, &device, dialect, &mut sensor);
        sensors.push(sensor);
        return;
    }
    // One more than allowed, to notice an excess.
    let cameras: Vec<&Element> = children(element, "camera").take(MAX_CAMERAS + 1).collect();
    if cameras.len() > MAX_CAMERAS {
        let message = format!(
            "{} has more than {MAX_CAMERAS} cameras; the excess is left out",
            element.place.element
        );
        scope.report(
            &codes::BAD_SETTING,
            &element.place,
            message,
            "use a separate sensor for every camera",
        );
    }
    match (kind, cameras.as_slice()) {
        (Kind::MultiCamera, [_, _, ..]) => {
            for (index, camera) in cameras.into_iter().take(MAX_CAMERAS).enumerate() {
                let part = attribute(camera, "name")
                    .map_or_else(|| format!("camera_{}", index + 1), str::to_owned);
                let pose = origin * scope.pose(camera, seat.link);
                let device = Device {
                    camera: Some(camera),
                    part: Some(&part),
                    ..device
                };
                sensors.push(camera_sensor(
                    scope,
                    &device,
                    dialect,
                    seat.link,
                    pose,
                    format!("{name}_{part}"),
                ));
            }
        }
        _ => {
            let camera = cameras.first().copied();
            // Only SDFormat gives a camera a pose within its sensor.
            let pose = match camera {
                Some(camera) if dialect == Dialect::Gazebo => {
                    origin * scope.pose(camera, seat.link)
                }
                _ => origin,
            };
            let device = Device { camera, ..device };
            sensors.push(camera_sensor(
                scope,
                &device,
                dialect,
                seat.link,
                pose,
                name.to_owned(),
            ));
        }
    }
}

fn sensor(element: &Element, name: String, kind: SensorKind, link: LinkId, origin: Pose) -> Sensor {
    Sensor {
        name,
        kind,
        link,
        origin,
        frame: None,
        frame_name: None,
        interfaces: Vec::new(),
        place: element.place.clone(),
    }
}

fn camera_sensor(
    scope: &mut Scope<'_>,
    device: &Device<'_>,
    dialect: Dialect,
    link: LinkId,
    origin: Pose,
    name: String,
) -> Sensor {
    let view = view(scope, device.camera);
    let mut sensor = sensor(device.element, name, SensorKind::Camera(view), link, origin);
    let named = frames::named(device.element, device.camera);
    let (named, frame_name) = frames::resolve(scope, named, &device.element.place);
    // A name that is not a link's denotes the camera's own optical frame.
    let has_own = frame_name
        .as_deref()
        .is_some_and(|name| !GLOBAL_FRAMES.contains(&name));
    if !has_own {
        sensor.frame = frames::camera_frame(scope, link, origin, named, &device.element.place);
    }
    sensor.frame_name = frame_name;
    if dialect == Dialect::Gazebo {
        frames::report_optical_parent(scope, link, origin, &device.element.place);
    }
    add_topics(scope, device, dialect, &mut sensor);
    sensor
}

/// Returns the frame of a sensor other than a camera, if it differs from its link's: a link, or the
/// name of a new frame.
fn frame(
    scope: &mut Scope<'_>,
    element: &Element,
    kind: Kind,
    seat: Seat,
) -> (Option<LinkId>, Option<String>) {
    let stated = descend(element, &["force_torque", "frame"]).map(|frame| frame.text.as_str());
    let (link, name) = match frames::named(element, None) {
        Some(name) => frames::resolve(scope, Some(name), &element.place),
        None if kind == Kind::ForceTorque && stated == Some("parent") => {
            (seat.joint.map(|joint| scope.joint_of(joint).parent()), None)
        }
        None => (None, None),
    };
    (link.filter(|link| *link != seat.link), name)
}

fn add_topics(scope: &mut Scope<'_>, device: &Device<'_>, dialect: Dialect, sensor: &mut Sensor) {
    let rate = rate(scope, device, dialect);
    for (name, message) in topics(scope, device) {
        let publisher = InterfaceKind::Publisher {
            rate,
            qos: Qos::SENSOR,
        };
        let interface = scope.interface(&name, message, publisher, &device.element.place);
        sensor.interfaces.extend(interface);
    }
}

/// Returns the rate of the sensor in Hz, otherwise of its plugin, otherwise the kind's default. 0
/// counts as missing.
fn rate(scope: &mut Scope<'_>, device: &Device<'_>, dialect: Dialect) -> f64 {
    let default = device.kind.default_rate();
    let otherwise = "it is ignored";
    let mut given = Vec::new();
    if dialect == Dialect::Urdf {
        given.extend(scope.number_attribute(device.element, "update_rate", otherwise));
    }
    given.extend(scope.number(device.element, "update_rate", otherwise));
    for plugin in children(device.element, "plugin") {
        for name in ["updateRate", "update_rate", "updateRateHZ"] {
            given.extend(scope.number(plugin, name, otherwise));
        }
    }
    if given.iter().any(|rate| !(0.0..=MAX_RATE).contains(rate)) {
        let message = format!(
            "{} has an impossible rate, which is ignored",
            device.element.place.element
        );
        scope.report(
            &codes::BAD_SETTING,
            &device.element.place,
            message,
            "set a rate in Hz, or remove it",
        );
    }
    given
        .into_iter()
        .find(|&rate| rate > 0.0 && rate <= MAX_RATE)
        .unwrap_or(default)
}

/// Returns whether a lidar scans in more than one plane.
fn has_rows(element: &Element) -> bool {
    let vertical = |holder: &str| {
        let vertical = descend(element, &[holder, "scan", "vertical"])
            .or_else(|| descend(element, &[holder, "vertical"]))?;
        text_of(vertical, &["samples"])
            .or_else(|| attribute(vertical, "samples"))?
            .trim()
            .parse::<f64>()
            .ok()
    };
    ["ray", "lidar"]
        .into_iter()
        .filter_map(vertical)
        .any(|samples| samples > 1.0)
}

/// Reads the parameters of a camera, from elements (SDFormat) or from attributes of its image
/// (URDF). Replaces and reports invalid ones.
fn view(scope: &mut Scope<'_>, camera: Option<&Element>) -> Camera {
    let Some(camera) = camera else {
        return DEFAULT_VIEW;
    };
    let mut number = |holder: Option<&Element>, names: [&str; 2]| {
        let holder = holder?;
        let otherwise = "the default is used";
        scope
            .number(holder, names[0], otherwise)
            .or_else(|| scope.number_attribute(holder, names[1], otherwise))
    };
    let image = child(camera, "image");
    let clip = child(camera, "clip").or(image);
    let fov = number(Some(camera), ["horizontal_fov", "horizontal_fov"])
        .or_else(|| number(image, ["hfov", "hfov"]));
    let (width, height) = (
        number(image, ["width", "width"]),
        number(image, ["height", "height"]),
    );
    let (near, far) = (number(clip, ["near", "near"]), number(clip, ["far", "far"]));
    let (horizontal_fov, width) = (
        field_of_view(scope, camera, fov),
        pixels(scope, camera, width, DEFAULT_VIEW.width),
    );
    let height = pixels(scope, camera, height, DEFAULT_VIEW.height);
    let (near, far) = clip_range(scope, camera, near, far);
    Camera {
        horizontal_fov,
        parallel_width: None,
        width,
        height,
        near,
        far,
    }
}

fn field_of_view(scope: &mut Scope<'_>, camera: &Element, given: Option<f64>) -> f64 {
    let Some(fov) = given else {
        return DEFAULT_VIEW.horizontal_fov;
    };
    let used = match fov {
        _ if fov < MIN_FOV => DEFAULT_VIEW.horizontal_fov,
        _ => fov.min(MAX_FOV),
    };
    if used != fov {
        let message = format!(
            "the field of view of {} is {fov} rad; {used} is used",
            camera.place.element
        );
        scope.report(
            &codes::BAD_SETTING,
            &camera.place,
            message,
            "use radians, from 0.0001 to 3",
        );
    }
    used
}

fn pixels(scope: &mut Scope<'_>, camera: &Element, given: Option<f64>, default: u32) -> u32 {
    let Some(count) = given else { return default };
    if (1.0..=MAX_PIXELS).contains(&count) {
        return count.round() as u32;
    }
    let message = format!(
        "a side of the image of {} has {count} pixels; {default} is used",
        camera.place.element
    );
    scope.report(
        &codes::BAD_SETTING,
        &camera.place,
        message,
        "use a number of pixels from 1 to 65536",
    );
    default
}

fn clip_range(
    scope: &mut Scope<'_>,
    camera: &Element,
    near: Option<f64>,
    far: Option<f64>,
) -> (f64, f64) {
    let (given_near, given_far) = (
        near.unwrap_or(DEFAULT_VIEW.near),
        far.unwrap_or(DEFAULT_VIEW.far),
    );
    // Checked in single precision, in which they are written.
    let near = if (MIN_NEAR..MAX_NEAR).contains(&given_near) {
        given_near
    } else {
        DEFAULT_VIEW.near
    };
    let far = if given_far as f32 > near as f32 {
        given_far
    } else {
        DEFAULT_VIEW.far.max(1000.0 * near)
    };
    if (near, far) != (given_near, given_far) {
        let message = format!(
            "the clipping range of {} is {given_near} to {given_far} m; {near} to {far} m is used",
            camera.place.element
        );
        scope.report(
            &codes::BAD_SETTING,
            &camera.place,
            message,
            "use near above 0, and far above near",
        );
    }
    (near, far)
}

/// Returns the origin of a sensor of URDF. For a camera, the source gives the pose of its optical
/// frame (z forward).
fn urdf_origin(scope: &mut Scope<'_>, element: &Element, kind: Option<Kind>) -> Pose {
    let origin = child(element, "origin");
    let mut three = |name: &str| {
        let text = origin.and_then(|origin| attribute(origin, name))?;
        let numbers: Vec<f64> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let three = <[f64; 3]>::try_from(numbers)
            .ok()
            .filter(|three| three.iter().all(|number| number.abs() <= 1e30));
        if three.is_none() {
            let place = origin.map_or(&element.place, |origin| &origin.place);
            scope.report_setting(name, text, place, "not three numbers", "0 0 0 is used");
        }
        three
    };
    let [x, y, z] = three("xyz").unwrap_or_default();
    let [roll, pitch, yaw] = three("rpy").unwrap_or_default();
    let pose = Pose::from_parts(
        Translation3::new(x, y, z),
        UnitQuaternion::from_euler_angles(roll, pitch, yaw),
    );
    if kind.is_some_and(Kind::is_camera) {
        pose * frames::optical().inverse()
    } else {
        pose
    }
}
