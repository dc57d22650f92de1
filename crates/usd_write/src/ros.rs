//! `ros.usda`: the context, frames, names of joints and interfaces for ROS (REP-158 §2).

use std::collections::HashSet;

use super::Scene;
use super::plan::{LinkPlan, name_of_root};
use super::sensors::SensorPrimKind;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{
    Durability, GLOBAL_FRAMES, History, Interface, InterfaceKind, Qos, Reliability, Robot, Role,
    names,
};
use urdf_usd_usd_author::{Attribute, Layer, Prim};

/// Maximum length of a ROS name, including the leading slash.
const LONGEST_NAME: usize = 255;
const JOINT_STATE: &str = "sensor_msgs/msg/JointState";

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let (mut layer, root) =
        super::layer(scene, "Ros*API: context, frames, joint names, interfaces");
    let namespace = scene
        .options
        .namespace
        .clone()
        .unwrap_or_else(|| default_namespace(scene.robot));
    let ros = &scene.robot.ros;
    let mut context = layer.over(&root);
    author_context(&mut context, &namespace, ros.domain_id);
    let is_world = |link: &LinkPlan| link.role == Role::World;
    let on_world = scene.plan.links.values().any(is_world).then_some("world");
    if let Some(frame) = ros.parent_frame.as_deref().or(on_world) {
        context.attribute(
            "ros:context:parent_frame",
            Attribute::string(frame).uniform(),
        );
    }
    let mut contexts = Contexts::new(namespace);
    for (link, plan) in scene.robot.links().values().zip(scene.plan.links.values()) {
        if plan.role == Role::Frame {
            author_frame(
                &mut layer.over(&plan.path),
                link.name(),
                !link.is_dynamic_frame,
            );
        }
        if let Some(nested) = link.context.as_ref().filter(|_| plan.role != Role::World) {
            author_context(
                &mut layer.over(&plan.path),
                &nested.namespace,
                nested.domain_id,
            );
            contexts.add(&plan.path, &nested.namespace);
        }
    }
    for (joint, plan) in scene
        .robot
        .joints()
        .values()
        .zip(scene.plan.joints.values())
    {
        if let Some(plan) = plan {
            layer
                .over(&plan.path)
                .attribute("ros:joint:name", Attribute::string(joint.name()).custom());
        }
    }
    for (path, _) in &scene.plan.world_joints {
        let name = path.rsplit('/').next().unwrap_or_default();
        layer
            .over(path)
            .attribute("ros:joint:name", Attribute::string(name).custom());
    }
    author_sensors(scene, &contexts, &mut layer);
    author_robot_wide(scene, &contexts, &mut layer, &root);
    layer
}

/// The namespaces of the ROS contexts in an asset (§2.1).
struct Contexts {
    /// Namespace of the robot.
    robot: String,
    /// The paths of nested contexts and their namespaces.
    nested: Vec<(String, String)>,
}

impl Contexts {
    fn new(robot: String) -> Self {
        Self {
            robot,
            nested: Vec::new(),
        }
    }

    fn add(&mut self, path: &str, namespace: &str) {
        self.nested.push((path.to_owned(), namespace.to_owned()));
    }

    /// Returns the name at a path of an interface whose name is relative to the robot's namespace:
    /// absolute if a context lies around the path that does not contain the interface.
    fn name_at(&self, path: &str, name: &str) -> String {
        let is_around = |context: &str| {
            path.strip_prefix(context)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut around: Vec<&(String, String)> = self
            .nested
            .iter()
            .filter(|(context, _)| is_around(context))
            .collect();
        around.sort_unstable_by_key(|(context, _)| context.len());
        let namespace = around.iter().fold(String::new(), |outer, (_, inner)| {
            names::in_namespace(&outer, inner)
        });
        let inside = name
            .strip_prefix(&namespace)
            .filter(|_| !namespace.is_empty())
            .and_then(|rest| rest.strip_prefix('/'));
        match inside {
            Some(inside) => inside.to_owned(),
            None if namespace.is_empty() || name.starts_with('/') => name.to_owned(),
            None => format!("/{}/{name}", self.robot.trim_matches('/')),
        }
    }
}

/// Makes a prim a ROS context (§2.1).
fn author_context(prim: &mut Prim<'_>, namespace: &str, domain_id: Option<i32>) {
    prim.apply(["RosContextAPI"]);
    if !namespace.is_empty() {
        prim.attribute(
            "ros:context:namespace",
            Attribute::string(namespace).uniform(),
        );
    }
    if let Some(domain) = domain_id {
        prim.attribute("ros:context:domain_id", Attribute::int(domain).uniform());
    }
}

/// Authors the interfaces of sensors, and the optical frames that exist only in the asset (§2.7,
/// §2.8).
fn author_sensors(scene: &Scene<'_>, contexts: &Contexts, layer: &mut Layer) {
    for (sensor, plan) in scene.robot.sensors().iter().zip(&scene.plan.sensors) {
        for planned in &plan.prims {
            match planned.kind {
                SensorPrimKind::OpticalFrame | SensorPrimKind::Frame(_) => {
                    let name = planned.path.rsplit('/').next().unwrap_or_default();
                    let id = planned.display_name.as_deref().unwrap_or(name);
                    author_frame(&mut layer.over(&planned.path), id, true);
                }
                SensorPrimKind::Interface => {
                    let mut prim = layer.def(&planned.path, "Xform");
                    if let Some(name) = &planned.display_name {
                        prim.display_name(name);
                    }
                }
                SensorPrimKind::Camera(..) | SensorPrimKind::Place(_) => {}
            }
        }
        for (interface, path) in sensor.interfaces.iter().zip(&plan.interfaces) {
            if let Some(path) = path {
                let mut prim = layer.over(path);
                author_interface(
                    &mut prim,
                    interface,
                    &contexts.name_at(path, &interface.name),
                );
                // A frame name that can't be a prim is passed to the publisher of the messages
                // (§2.4).
                if let Some(name) = sensor
                    .frame_name
                    .as_ref()
                    .filter(|name| GLOBAL_FRAMES.contains(&name.as_str()))
                {
                    prim.attribute(
                        "ros:topic:override_frame_id",
                        Attribute::string(name).uniform(),
                    );
                }
            }
        }
    }
}

/// Returns the interfaces of the robot's asset, those of sensors with the sensor's location in the
/// source.
pub fn interfaces(robot: &Robot) -> Vec<(Interface, Option<&Place>)> {
    let of_sensors = robot.sensors().iter().flat_map(|sensor| {
        sensor
            .interfaces
            .iter()
            .map(|i| (i.clone(), Some(&sensor.place)))
    });
    let of_sensors = of_sensors.filter(|(interface, _)| !interface.is_prohibited());
    robot_wide(robot)
        .into_iter()
        .map(|interface| (interface, None))
        .chain(of_sensors)
        .collect()
}

/// Returns the interfaces of the robot as a whole without duplicates, among them joint states,
/// which every robot publishes.
fn robot_wide(robot: &Robot) -> Vec<Interface> {
    let offered = robot
        .interfaces
        .iter()
        .filter(|interface| !interface.is_prohibited());
    let publishes_joint_states = |interface: &Interface| {
        interface.type_name == JOINT_STATE
            && matches!(interface.kind, InterfaceKind::Publisher { .. })
    };
    let has_joint_states = robot.interfaces.iter().any(publishes_joint_states);
    let assumed = (!robot.ros.has_all_interfaces && !has_joint_states).then(default_joint_states);
    let mut seen = HashSet::new();
    let mut interfaces = Vec::new();
    for interface in assumed.iter().chain(offered) {
        // A topic may be both published and subscribed to.
        if seen.insert((
            interface.name.as_str(),
            std::mem::discriminant(&interface.kind),
        )) {
            interfaces.push(interface.clone());
        }
    }
    interfaces
}

/// Authors the interfaces of the robot as a whole (§2.2).
fn author_robot_wide(scene: &Scene<'_>, contexts: &Contexts, layer: &mut Layer, root: &str) {
    let interfaces = robot_wide(scene.robot);
    let wanted: Vec<String> = interfaces
        .iter()
        .map(|i| i.name.trim_start_matches('/').replace('/', "_"))
        .collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let scope = format!("{root}/Interfaces");
    if !interfaces.is_empty() {
        layer.scope(&scope);
    }
    for (interface, identifier) in
        interfaces
            .iter()
            .zip(names::identifiers(&wanted, "interface", &[]))
    {
        let path = format!("{scope}/{identifier}");
        let mut prim = layer.def(&path, "Xform");
        if identifier != interface.name {
            prim.display_name(&interface.name);
        }
        author_interface(
            &mut prim,
            interface,
            &contexts.name_at(&path, &interface.name),
        );
    }
}

/// Returns the topic of joint states of a robot that states none.
fn default_joint_states() -> Interface {
    let qos = Qos::DEFAULT;
    let publisher = InterfaceKind::Publisher { rate: 50.0, qos };
    Interface::new("joint_states", JOINT_STATE, publisher)
}

/// Makes a prim an explicit TF frame (§2.7).
fn author_frame(prim: &mut Prim<'_>, id: &str, is_static: bool) {
    prim.apply(["RosFrameAPI"])
        .attribute("ros:frame:id", Attribute::string(id).uniform())
        .attribute("ros:frame:static", Attribute::bool(is_static).uniform());
}

/// Makes a prim an interface (§2.4, §2.5, §2.6). It is disabled at load time if another controller
/// claims its joints (§2.3, §4.2.3). `name` is relative to the context around the prim.
fn author_interface(prim: &mut Prim<'_>, interface: &Interface, name: &str) {
    let (schema, prefix, role) = match interface.kind {
        InterfaceKind::Publisher { .. } => ("RosTopicAPI", "ros:topic", "publisher"),
        InterfaceKind::Subscription { .. } => ("RosTopicAPI", "ros:topic", "subscription"),
        InterfaceKind::ServiceServer => ("RosServiceAPI", "ros:service", "server"),
        InterfaceKind::ServiceClient => ("RosServiceAPI", "ros:service", "client"),
        InterfaceKind::ActionServer => ("RosActionAPI", "ros:action", "server"),
        InterfaceKind::ActionClient => ("RosActionAPI", "ros:action", "client"),
    };
    prim.apply([schema])
        .attribute(&format!("{prefix}:name"), Attribute::string(name).uniform())
        .attribute(&format!("{prefix}:role"), Attribute::token(role).uniform())
        .attribute(
            &format!("{prefix}:type"),
            Attribute::string(&interface.type_name).uniform(),
        );
    if !interface.starts_enabled {
        prim.attribute(
            &format!("{prefix}:starts_enabled"),
            Attribute::bool(false).uniform(),
        );
    }
    if let InterfaceKind::Publisher { rate, .. } = interface.kind {
        prim.attribute("ros:topic:publish_rate", Attribute::double(rate).uniform());
    }
    if let InterfaceKind::Publisher { qos, .. } | InterfaceKind::Subscription { qos } =
        interface.kind
    {
        author_qos(prim, qos);
    }
    if let Some(frame) = &interface.override_frame_id {
        prim.attribute(
            &format!("{prefix}:override_frame_id"),
            Attribute::string(frame).uniform(),
        );
    }
}

/// Authors a topic's quality of service (§2.4).
fn author_qos(prim: &mut Prim<'_>, qos: Qos) {
    let policies = [
        ("reliability", qos.reliability.map(Reliability::token)),
        ("durability", qos.durability.map(Durability::token)),
        ("history", qos.history.map(History::token)),
    ];
    for (policy, value) in policies {
        if let Some(value) = value {
            prim.attribute(
                &format!("ros:topic:qos:{policy}"),
                Attribute::token(value).uniform(),
            );
        }
    }
    if let Some(depth) = qos.depth {
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        prim.attribute("ros:topic:qos:depth", Attribute::int(depth).uniform());
    }
    if qos.matches_publisher {
        prim.attribute(
            "ros:topic:qos:match_publisher",
            Attribute::bool(true).uniform(),
        );
    }
}

/// Returns the default namespace of a robot's ROS interfaces: the name of the default prim (§2.1.1).
/// If ROS does not allow that, it is the robot's name with encoded characters.
pub fn default_namespace(robot: &Robot) -> String {
    let prim = name_of_root(robot);
    if names::is_ros_part(&prim) {
        names::ros_part(&prim, "robot")
    } else {
        names::ros_part(robot.name(), "robot")
    }
}

/// Checks a namespace for a robot's interfaces as a user enters it: `robot_1`, `fleet/robot_1`,
/// `/fleet/robot_1`. A leading slash makes it absolute (§2.1.1).
///
/// # Errors
/// The reason why it is not valid, as text.
pub fn check_namespace(namespace: &str) -> Result<(), String> {
    let parts = namespace.strip_prefix('/').unwrap_or(namespace);
    let why = if parts.split('/').any(str::is_empty) {
        "a part between slashes is empty"
    } else if !parts.split('/').all(|part| ros_name(part) == part) {
        "each part consists of letters, digits and `_`, and begins with no digit"
    } else if parts.len() >= LONGEST_NAME {
        "it is longer than 255 characters"
    } else {
        return Ok(());
    };
    Err(format!("`{namespace}` is no namespace: {why}"))
}

/// Returns the closest valid ROS name: ASCII letters, digits and underscores, no leading digit. The
/// result is not unique; the caller resolves collisions.
pub(super) fn ros_name(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, check_namespace, default_namespace, names};

    #[test]
    fn the_default_namespace_is_the_name_of_the_default_prim() {
        let of = |robot: &str, link: &str| {
            let text = format!("<robot name='{robot}'><link name='{link}'/></robot>");
            default_namespace(&urdf_usd_urdf::read(&text, None).robot.unwrap())
        };
        assert_eq!(of("arm", "base"), "arm");
        assert_eq!(of("corners-1", "base"), "corners_1");
        assert_eq!(of("robot", "robot"), "robot_robot");
        let german = of("größe", "base");
        assert!(names::is_ros_part(&german), "{german}");
    }

    #[test]
    fn robots_have_namespaces_of_one_or_more_parts() {
        for namespace in [
            "robot_1",
            "/robot_1",
            "fleet/robot_1",
            "/fleet/a/b_2",
            &"a".repeat(LONGEST_NAME - 1),
        ] {
            assert_eq!(check_namespace(namespace), Ok(()), "{namespace}");
        }
        let long = "a".repeat(LONGEST_NAME);
        for namespace in [
            "", "/", "//a", "a/", "a//b", "a-b/c", "a/2b", "a/b c", "~/a", "{ns}", "ä/b", &long,
        ] {
            assert!(check_namespace(namespace).is_err(), "{namespace}");
        }
    }
}
