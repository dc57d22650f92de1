//! Compares the interfaces that an asset declares with the graph: finds those that are missing and
//! those of another type.

use std::collections::BTreeSet;

use super::Snapshot;
use crate::robots::{Robot, pair};
use urdf_usd_ros::graph::{ServiceRole, TopicRole};
use urdf_usd_ros::msg::diagnostic_msgs::DiagnosticStatus;
use urdf_usd_ros::names;
use urdf_usd_usd_read::InterfaceSummary;

/// An interface of the asset that the running robot lacks, or has with another type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Differing {
    /// Kind, role and name, as in `publisher scan`.
    pub what: String,
    /// A clause that says how it differs.
    pub detail: String,
    /// Whether it exists with another type.
    pub is_other_type: bool,
}

/// Compares declared interfaces with a snapshot of the graph. `namespace` is the robot's; endpoints
/// of this `node` do not count.
pub(crate) fn compare(
    declared: &[InterfaceSummary],
    seen: &Snapshot,
    namespace: &str,
    node: &str,
) -> Vec<Differing> {
    let mut differing: Vec<Differing> = declared
        .iter()
        .filter_map(|interface| differs(interface, seen, namespace, node))
        .collect();
    // In a fixed order: the engine reports the list only if it differs from the last one.
    differing.sort();
    differing
}

fn differs(
    interface: &InterfaceSummary,
    seen: &Snapshot,
    namespace: &str,
    node: &str,
) -> Option<Differing> {
    let name = names::join(namespace, &interface.name);
    let name = if interface.name.starts_with('/') {
        interface.name.as_str()
    } else {
        name.as_str()
    };
    let is_other = |end: &Option<String>| end.as_deref() != Some(node);
    let is_client = interface.role == "client";
    let role = if is_client {
        ServiceRole::Client
    } else {
        ServiceRole::Server
    };
    let served = |service: &str| -> BTreeSet<String> {
        let ends = seen
            .services(service)
            .iter()
            .filter(|end| end.service == service && end.role == role && is_other(&end.node));
        ends.map(|end| end.type_name.clone()).collect()
    };
    let (types, verb) = match (interface.kind.as_str(), interface.role.as_str()) {
        ("topic", role) => {
            let (role, verb) = match role {
                "publisher" => (TopicRole::Publisher, "publishes"),
                _ => (TopicRole::Subscriber, "listens to"),
            };
            let ends = seen
                .topics(name)
                .iter()
                .filter(|end| end.topic == name && end.role == role && is_other(&end.node));
            (ends.map(|end| end.type_name.clone()).collect(), verb)
        }
        ("service", _) => (served(name), if is_client { "calls" } else { "serves" }),
        _ => {
            let goals = served(&format!("{name}/_action/send_goal"));
            let action = |service: &String| {
                service
                    .strip_suffix("_SendGoal")
                    .unwrap_or(service)
                    .to_owned()
            };
            (
                goals.iter().map(action).collect(),
                if is_client { "asks for" } else { "serves" },
            )
        }
    };
    if types.contains(&interface.type_name) {
        return None;
    }
    let detail = match types.first() {
        None => format!("no node {verb} {name}"),
        Some(other) => format!(
            "{name} has type {other}, while the asset declares {}",
            interface.type_name
        ),
    };
    let what = match interface.kind.as_str() {
        "topic" => format!("{} {}", interface.role, interface.name),
        kind => format!("{kind} {} {}", interface.role, interface.name),
    };
    Some(Differing {
        what,
        detail,
        is_other_type: !types.is_empty(),
    })
}

/// Summarises a robot's interfaces for `/diagnostics`; `declared` is their number in the asset.
pub(crate) fn status(
    node: &str,
    key: &str,
    robot: &Robot,
    declared: usize,
    differing: &[Differing],
) -> DiagnosticStatus {
    let worst = differing
        .iter()
        .max_by_key(|differing| differing.is_other_type);
    let mut values = vec![
        pair("robot", &robot.name),
        pair("interfaces", declared),
        pair("as declared", declared.saturating_sub(differing.len())),
    ];
    values.extend(
        differing
            .iter()
            .take(20)
            .map(|differing| pair(&differing.what, &differing.detail)),
    );
    DiagnosticStatus {
        level: match worst {
            None => DiagnosticStatus::OK,
            Some(worst) if worst.is_other_type => DiagnosticStatus::ERROR,
            // The robot may be starting, or only a part of it runs.
            Some(_) => DiagnosticStatus::WARN,
        },
        name: format!("{node}: interfaces of {key}"),
        message: match worst {
            None => format!("all {declared} interfaces of the asset are present"),
            Some(worst) => format!(
                "{} of {declared} interfaces do not match the asset: {}",
                differing.len(),
                worst.detail
            ),
        },
        hardware_id: robot.name.clone(),
        values,
    }
}
