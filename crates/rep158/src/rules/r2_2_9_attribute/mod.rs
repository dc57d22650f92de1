//! Attributes for ROS belong to an applied ROS schema.

use urdf_usd_diagnostic::{did_you_mean, nearest};

use super::{Findings, Subject, rule};
use crate::registry::CONTROLLERS;

rule! {
    severity: Warning,
    meaning: "A prim has a ROS attribute that none of its schemas defines.",
    outcome: "Simulators ignore the attribute without an error.",
    demand: "The attributes of an interface are those of its schema, RosTopicAPI and the others, \
             which the prim must have applied.",
    section: ("ROS Integration Schemas", "§2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        for name in prim.attributes.keys() {
            let controllers = CONTROLLERS
                .iter()
                .map(|schema| (schema.schema, schema.prefix, schema.attributes));
            let Some((schema, start, known)) = SCHEMAS
                .into_iter()
                .chain(controllers)
                .find(|(_, start, _)| name.starts_with(start))
            else {
                continue;
            };
            let last = &name[start.len()..];
            let (message, help) = if !known.contains(&last) {
                let near = nearest(last, known.iter().copied())
                    .into_iter()
                    .map(|last| format!("{start}{last}"));
                let help = did_you_mean(near).unwrap_or_else(|| match known {
                    [] => format!("remove it; {schema} has no attributes"),
                    _ => format!("remove it; {schema} has {}", known.join(", ")),
                });
                (
                    format!(
                        "{} has {name}, which is not an attribute of {schema}",
                        prim.path
                    ),
                    help,
                )
            } else if !prim.has(schema) {
                (
                    format!("{} has {name}, but not {schema}", prim.path),
                    format!("apply {schema} to it, or remove the attribute"),
                )
            } else {
                continue;
            };
            findings.prim(id, Some(name), message, help);
        }
    }
}

/// The schemas, with the prefixes and the names of their attributes.
const SCHEMAS: [(&str, &str, &[&str]); 5] = [
    (
        "RosContextAPI",
        "ros:context:",
        &["namespace", "domain_id", "parent_frame"],
    ),
    (
        "RosTopicAPI",
        "ros:topic:",
        &[
            "role",
            "name",
            "type",
            "publish_rate",
            "starts_enabled",
            "override_frame_id",
            "qos:match_publisher",
            "qos:reliability",
            "qos:durability",
            "qos:history",
            "qos:depth",
        ],
    ),
    (
        "RosServiceAPI",
        "ros:service:",
        &["role", "name", "type", "starts_enabled"],
    ),
    (
        "RosActionAPI",
        "ros:action:",
        &["role", "name", "type", "starts_enabled"],
    ),
    ("RosFrameAPI", "ros:frame:", &["id", "static"]),
];
