//! Topics of sensors: as configured in a plugin, as gz-sim names them, or by default named after
//! the sensor.

use std::collections::HashSet;

use super::kinds::{CAMERA_INFO, IMAGE, Kind, LASER_SCAN, POINT_CLOUD, RANGE};
use super::ros_names::{Node, join};
use super::scope::{Scope, attribute, child, children, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_robot::Element;

/// A sensor, or one of the cameras of a sensor.
pub(super) struct Device<'a> {
    pub element: &'a Element,
    pub kind: Kind,
    /// Name of the sensor, valid in ROS.
    pub name: &'a str,
    /// The `<camera>` element of a camera.
    pub camera: Option<&'a Element>,
    /// Name of the camera, if the sensor has several.
    pub part: Option<&'a str>,
    /// Whether a lidar scans in more than one plane.
    pub has_rows: bool,
}

/// A topic: its name, not validated yet, and the type of its messages.
pub(super) type Topic = (String, &'static str);

/// Returns the distinct topics of a device.
pub(super) fn topics(scope: &mut Scope<'_>, device: &Device<'_>) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for plugin in children(device.element, "plugin") {
        let file = attribute(plugin, "filename")
            .or_else(|| attribute(plugin, "name"))
            .unwrap_or_default();
        match Kind::from_plugin(file) {
            Some(kind) if device.kind.fits(kind) => {
                topics.extend(plugin_topics(scope, device, plugin, kind))
            }
            _ if scope.unknown_plugins.insert(file.to_owned()) => {
                let message = format!("the topics of the plugin \"{}\" are unknown", short(file));
                let help = "its sensors get the default topics of their kind";
                scope.report(&codes::UNKNOWN_PLUGIN, &plugin.place, message, help);
            }
            _ => {}
        }
    }
    if topics.is_empty() {
        topics = match stated_topic(device) {
            Some(topic) => gz_topics(device, topic),
            None => default_topics(device),
        };
    }
    let mut seen = HashSet::new();
    topics.retain(|topic| seen.insert(topic.clone()));
    topics
}

/// Returns the topic in the sensor's own element, as gz-sim reads it.
fn stated_topic<'e>(device: &Device<'e>) -> Option<&'e str> {
    let inner = ["contact", "imu"]
        .into_iter()
        .filter_map(|name| child(device.element, name));
    let topic = std::iter::once(device.element)
        .chain(inner)
        .find_map(|holder| text_of(holder, &["topic"]))?;
    // Gazebo's placeholder for no topic.
    (topic != "__default_topic__").then_some(topic)
}

fn default_topics(device: &Device<'_>) -> Vec<Topic> {
    let base = join(&[device.name, device.part.unwrap_or_default()]);
    match device.kind {
        Kind::DepthCamera | Kind::RgbdCamera => depth_topics()
            .map(|(leaf, kind)| (join(&[&base, leaf]), kind))
            .to_vec(),
        kind if kind.is_camera() => camera_topics()
            .map(|(leaf, kind)| (join(&[&base, leaf]), kind))
            .to_vec(),
        Kind::Lidar if device.has_rows => vec![(join(&[&base, "points"]), POINT_CLOUD)],
        kind => vec![(join(&[&base, kind.default_topic()]), kind.message())],
    }
}

fn camera_topics() -> [(&'static str, &'static str); 2] {
    [("image_raw", IMAGE), ("camera_info", CAMERA_INFO)]
}

fn depth_topics() -> [(&'static str, &'static str); 5] {
    let [image, info] = camera_topics();
    [
        image,
        info,
        ("depth/image_raw", IMAGE),
        ("depth/camera_info", CAMERA_INFO),
        ("points", POINT_CLOUD),
    ]
}

/// Returns the topics that gz-sim derives from one topic.
fn gz_topics(device: &Device<'_>, topic: &str) -> Vec<Topic> {
    let base = device
        .part
        .map_or_else(|| topic.to_owned(), |part| format!("{topic}/{part}"));
    let below = |leaf: &str| format!("{base}/{leaf}");
    let stated_info = device
        .camera
        .and_then(|camera| text_of(camera, &["camera_info_topic"]));
    let info = |default: String| stated_info.map_or(default, str::to_owned);
    let sibling_info = || {
        base.rsplit_once('/').map_or_else(
            || "camera_info".to_owned(),
            |(parent, _)| format!("{parent}/camera_info"),
        )
    };
    match device.kind {
        Kind::Camera | Kind::MultiCamera => {
            vec![(base.clone(), IMAGE), (info(sibling_info()), CAMERA_INFO)]
        }
        Kind::DepthCamera => {
            vec![
                (base.clone(), IMAGE),
                (info(sibling_info()), CAMERA_INFO),
                (below("points"), POINT_CLOUD),
            ]
        }
        Kind::RgbdCamera => vec![
            (below("image"), IMAGE),
            (below("depth_image"), IMAGE),
            (below("points"), POINT_CLOUD),
            (info(below("camera_info")), CAMERA_INFO),
        ],
        Kind::Lidar if device.has_rows => vec![(below("points"), POINT_CLOUD)],
        Kind::Lidar => vec![(base.clone(), LASER_SCAN), (below("points"), POINT_CLOUD)],
        kind => vec![(base.clone(), kind.message())],
    }
}

/// Returns the topics of one of Gazebo's ROS plugins, which is for sensors of the kind
/// `plugin_kind`.
fn plugin_topics(
    scope: &mut Scope<'_>,
    device: &Device<'_>,
    plugin: &Element,
    plugin_kind: Kind,
) -> Vec<Topic> {
    // The plugins of ROS 1 and ROS 2 have the same file names (`libgazebo_ros_camera.so`); their
    // settings tell them apart.
    let is_ros2 = ["ros", "camera_name", "frame_name", "output_type"]
        .iter()
        .any(|name| child(plugin, name).is_some());
    if is_ros2 {
        ros2_plugin_topics(scope, device, plugin, plugin_kind)
    } else {
        ros1_plugin_topics(scope, device, plugin, plugin_kind)
    }
}

fn ros2_plugin_topics(
    scope: &mut Scope<'_>,
    device: &Device<'_>,
    plugin: &Element,
    plugin_kind: Kind,
) -> Vec<Topic> {
    let name = attribute(plugin, "name").unwrap_or(device.name);
    let node = Node::from_plugin(scope.robot.name(), plugin, name);
    if device.kind.is_camera() {
        let camera = text_of(plugin, &["camera_name"]).unwrap_or(device.name);
        let base = join(&[camera, device.part.unwrap_or_default()]);
        let has_depth = matches!(device.kind, Kind::DepthCamera | Kind::RgbdCamera);
        let leaves = if has_depth {
            depth_topics().to_vec()
        } else {
            camera_topics().to_vec()
        };
        return leaves
            .into_iter()
            .map(|(leaf, kind)| (node.resolve(&join(&[&base, leaf])), kind))
            .collect();
    }
    // Defaults of Gazebo's ROS 2 plugins, before remapping.
    let topic = match device.kind {
        Kind::Contact => "bumper_states",
        Kind::ForceTorque => "wrench",
        _ => "~/out",
    };
    let message = match device.kind {
        Kind::Lidar => output_type(scope, device, plugin, plugin_kind),
        kind => kind.message(),
    };
    vec![(node.resolve(topic), message)]
}

/// Returns the message type of a lidar's plugin.
fn output_type(
    scope: &mut Scope<'_>,
    device: &Device<'_>,
    plugin: &Element,
    plugin_kind: Kind,
) -> &'static str {
    let by_rows = if device.has_rows {
        POINT_CLOUD
    } else {
        LASER_SCAN
    };
    let Some(text) = text_of(plugin, &["output_type"]) else {
        let file = attribute(plugin, "filename").unwrap_or_default();
        return match plugin_kind {
            Kind::Range => RANGE,
            // The plugin's own default.
            _ if file.contains("gazebo_ros_ray_sensor") => POINT_CLOUD,
            _ => by_rows,
        };
    };
    match text.rsplit('/').next().unwrap_or_default() {
        "LaserScan" => LASER_SCAN,
        "PointCloud2" => POINT_CLOUD,
        "PointCloud" => "sensor_msgs/msg/PointCloud",
        "Range" => RANGE,
        _ => {
            let place = child(plugin, "output_type").map_or(&plugin.place, |node| &node.place);
            scope.report_setting(
                "output_type",
                text,
                place,
                "not a message type of a lidar",
                &format!("{by_rows} is used"),
            );
            by_rows
        }
    }
}

fn ros1_plugin_topics(
    scope: &mut Scope<'_>,
    device: &Device<'_>,
    plugin: &Element,
    plugin_kind: Kind,
) -> Vec<Topic> {
    let namespace = text_of(plugin, &["robotNamespace"]).unwrap_or_default();
    let node = Node::new(scope.robot.name(), namespace, device.name);
    if device.kind.is_camera() {
        return ros1_camera_topics(device, plugin, &node);
    }
    let Some(topic) = text_of(plugin, &["bumperTopicName", "topicName", "topic_name"]) else {
        return Vec::new();
    };
    let is_cloud = device.has_rows
        || attribute(plugin, "filename").is_some_and(|file| file.contains("velodyne"));
    let message = match (device.kind, plugin_kind) {
        (Kind::Lidar, Kind::Range) => RANGE,
        (Kind::Lidar, _) if is_cloud => POINT_CLOUD,
        (kind, _) => kind.message(),
    };
    vec![(node.resolve(topic), message)]
}

fn ros1_camera_topics(device: &Device<'_>, plugin: &Element, node: &Node<'_>) -> Vec<Topic> {
    // Settings that name each topic, its default name, and its message type.
    const COLOUR: [(&[&str], &str, &str); 2] = [
        (&["imageTopicName"], "image_raw", IMAGE),
        (&["cameraInfoTopicName"], "camera_info", CAMERA_INFO),
    ];
    const DEPTH: [(&[&str], &str, &str); 3] = [
        (&["depthImageTopicName"], "depth/image_raw", IMAGE),
        (
            &["depthImageCameraInfoTopicName", "depthImageInfoTopicName"],
            "depth/camera_info",
            CAMERA_INFO,
        ),
        (&["pointCloudTopicName"], "points", POINT_CLOUD),
    ];
    let mut settings = COLOUR.to_vec();
    if matches!(device.kind, Kind::DepthCamera | Kind::RgbdCamera) {
        settings.extend(DEPTH);
    }
    let camera = text_of(plugin, &["cameraName"]);
    if camera.is_none()
        && settings
            .iter()
            .all(|(names, ..)| text_of(plugin, names).is_none())
    {
        return Vec::new();
    }
    let topic = |(names, default, message): (&[&str], &str, &'static str)| {
        let leaf = text_of(plugin, names).unwrap_or(default);
        if leaf.starts_with('/') {
            return (leaf.to_owned(), message);
        }
        (
            node.resolve(&join(&[
                camera.unwrap_or_default(),
                device.part.unwrap_or_default(),
                leaf,
            ])),
            message,
        )
    };
    settings.into_iter().map(topic).collect()
}
