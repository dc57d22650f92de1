//! Properties for ROS belong to an applied ROS schema.

use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_stage::{Prim, PrimId};

use super::{Findings, Subject, rule};
use crate::registry::CONTROLLERS;

rule! {
    severity: Warning,
    meaning: "A prim has a ROS attribute or relationship that none of its schemas defines.",
    outcome: "Simulators ignore it without an error.",
    demand: "The attributes of an interface are those of its schema, RosTopicAPI and the others, \
             which the prim must have applied.",
    section: ("ROS Integration Schemas", "§2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let core = SCHEMAS
        .into_iter()
        .map(|(schema, prefix, attributes)| Known {
            schema,
            prefix,
            attributes: attributes.to_vec(),
            relationships: Vec::new(),
        });
    let controllers = CONTROLLERS.iter().map(|controller| Known {
        schema: controller.schema,
        prefix: controller.prefix,
        attributes: controller
            .attributes
            .iter()
            .map(|(last, _)| *last)
            .collect(),
        relationships: controller
            .relationships
            .iter()
            .map(|(last, _)| *last)
            .collect(),
    });
    let schemas: Vec<Known> = core.chain(controllers).collect();
    for (id, prim) in subject.stage.present() {
        for name in prim.attributes.keys() {
            check_property(&schemas, id, prim, name, "attribute", findings);
        }
        for name in prim.relationships.keys() {
            check_property(&schemas, id, prim, name, "relationship", findings);
        }
    }
}

/// A schema and its properties.
struct Known {
    schema: &'static str,
    /// The namespace of its properties.
    prefix: &'static str,
    /// The last parts of the names of its attributes.
    attributes: Vec<&'static str>,
    /// The last parts of the names of its relationships.
    relationships: Vec<&'static str>,
}

/// Reports a property of the given kind in the namespace of a schema that does not define it, or that
/// the prim does not have.
fn check_property(
    schemas: &[Known],
    id: PrimId,
    prim: &Prim,
    name: &str,
    kind: &str,
    findings: &mut Findings<'_>,
) {
    let found = schemas
        .iter()
        .find_map(|schema| Some((schema, name.strip_prefix(schema.prefix)?)));
    let Some((known, last)) = found else {
        return;
    };
    let (schema, prefix) = (known.schema, known.prefix);
    let defined = match kind {
        "attribute" => &known.attributes,
        _ => &known.relationships,
    };
    let (message, help) = if !defined.contains(&last) {
        let near = nearest(last, defined.iter().copied())
            .into_iter()
            .map(|last| format!("{prefix}{last}"));
        let help = did_you_mean(near).unwrap_or_else(|| match defined[..] {
            [] => format!("remove it; {schema} has no {kind}s"),
            _ => format!("remove it; {schema} has {}", defined.join(", ")),
        });
        (
            format!(
                "{} has {name}, which is not {} {kind} of {schema}",
                prim.path,
                if kind == "attribute" { "an" } else { "a" }
            ),
            help,
        )
    } else if !prim.has(schema) {
        (
            format!("{} has {name}, but not {schema}", prim.path),
            format!("apply {schema} to it, or remove the {kind}"),
        )
    } else {
        return;
    };
    findings.prim(id, Some(name), message, help);
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
