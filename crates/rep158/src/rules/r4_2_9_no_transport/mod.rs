//! Sensors and controllers carry no ROS transport metadata.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A property of a sensor, controller or extended physics names a topic, a frame or a \
              QoS policy.",
    outcome: "The topic is described in two places, which may differ, and programs without ROS get \
              ROS metadata.",
    demand: "Extension schemas must not include metadata to handle ROS communication (e.g., topic \
             names, QoS).",
    section: ("General Extension Schema Rules", "§4.2.1"),
}

/// Prefixes of the properties that are checked.
const EXTENSIONS: &[&str] = &[
    "ext_physics",
    "ext_sensor",
    "ext_control",
    "sensor",
    "control",
    "controller",
];

/// Names of ROS transport metadata, without underscores.
const TRANSPORT: &[&str] = &[
    "topic",
    "topicname",
    "topictype",
    "service",
    "servicename",
    "action",
    "actionname",
    "qos",
    "reliability",
    "durability",
    "frameid",
    "domainid",
    "namespace",
    "messagetype",
    "publishrate",
    "queuesize",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut reported = BTreeSet::new();
        for prim in layer.prims.iter() {
            for property in prim
                .properties
                .iter()
                .filter(|property| !property.is_relationship)
            {
                let mut parts = property.name.split(':');
                let is_extension = parts
                    .next()
                    .is_some_and(|first| EXTENSIONS.contains(&first));
                let is_transport = |part: &str| {
                    TRANSPORT.contains(&part.replace('_', "").to_ascii_lowercase().as_str())
                };
                if is_extension && parts.any(is_transport) && reported.insert(&property.name) {
                    let path = format!("{}.{}", prim.path, property.name);
                    let help = "author it on a prim with RosTopicAPI, RosServiceAPI or RosActionAPI, and name that prim by a relationship";
                    findings.layer(
                        LayerId(index),
                        &path,
                        format!("{path} is ROS transport metadata"),
                        help,
                    );
                }
            }
        }
    }
}
