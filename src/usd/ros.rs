//! `ros.usda`: the context, frames, names of joints and interfaces for ROS (REP-158 §2).

use super::Scene;
use super::author::{Attribute, Layer};
use super::plan::Role;
use crate::robot::names;

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let (mut layer, root) = super::layer(scene, "Ros*API: context, frames, joint names, interfaces");
    let namespace = scene.options.namespace.clone().unwrap_or_else(|| default_namespace(&scene.robot.name));
    let mut context = layer.over(&root);
    context.apply(["RosContextAPI"]).attribute("ros:context:namespace", Attribute::string(namespace).uniform());
    if scene.plan.links.iter().any(|link| link.role == Role::World) {
        context.attribute("ros:context:parent_frame", Attribute::string("world").uniform());
    }
    for (link, plan) in scene.robot.links.iter().zip(&scene.plan.links).filter(|(_, plan)| plan.role == Role::Frame) {
        layer
            .over(&plan.path)
            .apply(["RosFrameAPI"])
            .attribute("ros:frame:id", Attribute::string(&link.name).uniform())
            .attribute("ros:frame:static", Attribute::bool(true).uniform());
    }
    for (joint, plan) in scene.robot.joints.iter().zip(&scene.plan.joints) {
        if let Some(plan) = plan {
            layer.over(&plan.path).attribute("ros:joint:name", Attribute::string(&joint.name).custom());
        }
    }
    for (path, _) in &scene.plan.world_joints {
        let name = path.rsplit('/').next().unwrap_or_default();
        layer.over(path).attribute("ros:joint:name", Attribute::string(name).custom());
    }
    author_interfaces(&mut layer, &root);
    layer
}

/// The topics that every described robot has, robot-wide (§2.2).
fn author_interfaces(layer: &mut Layer, root: &str) {
    layer.def(&format!("{root}/Interfaces"), "Scope");
    let mut topic = |name: &str, type_name: &str, rate: f64, latched: bool| {
        let mut prim = layer.def(&format!("{root}/Interfaces/{name}"), "Xform");
        prim.apply(["RosTopicAPI"])
            .attribute("ros:topic:name", Attribute::string(name).uniform())
            .attribute("ros:topic:publish_rate", Attribute::double(rate).uniform())
            .attribute("ros:topic:role", Attribute::token("publisher").uniform())
            .attribute("ros:topic:type", Attribute::string(type_name).uniform());
        if latched {
            prim.attribute("ros:topic:qos:durability", Attribute::token("transient_local").uniform())
                .attribute("ros:topic:qos:reliability", Attribute::token("reliable").uniform());
        }
    };
    topic("joint_states", "sensor_msgs/msg/JointState", 50.0, false);
    topic("robot_description", "std_msgs/msg/String", 1.0, true);
}

/// The namespace of a robot's ROS interfaces unless one is given: the name of the default prim, as ROS allows it.
pub fn default_namespace(robot: &str) -> String {
    ros_name(&names::identifiers(&[robot], "robot", &[]).remove(0))
}

/// The nearest name that ROS allows in a namespace (§2.1.1): letters, digits and underscores of ASCII, no digit in front.
fn ros_name(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}
