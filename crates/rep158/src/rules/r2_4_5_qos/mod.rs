//! QoS policies of topics exist in ROS.

use urdf_usd_stage::text;

use super::{Findings, Subject, rule};
use crate::ros::{self, Kind};

rule! {
    severity: Warning,
    meaning: "A QoS policy of a topic has an unknown value.",
    outcome: "Simulators use the default, and subscribers that expect another policy get nothing.",
    demand: "ros:topic:qos:reliability, durability and history have the values of \
             rmw_qos_profile_t.",
    section: ("Topic Interface (RosTopicAPI)", "§2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for interface in ros::interfaces_of_kind(subject.stage, Kind::Topic) {
        for (policy, values) in POLICIES {
            let name = format!("ros:topic:qos:{policy}");
            let Some(value) = interface.prim.value(&name) else {
                continue;
            };
            let authored = text(value).unwrap_or("not a token");
            if !values.contains(&authored) {
                let message = format!(
                    "the topic {} has the {policy} \"{authored}\"",
                    interface.prim.path
                );
                findings.prim(
                    interface.id,
                    Some(&name),
                    message,
                    format!("use one of {}", values.join(", ")),
                );
            }
        }
    }
}

/// The policies, with their values.
const POLICIES: [(&str, [&str; 3]); 3] = [
    ("reliability", ["system_default", "reliable", "best_effort"]),
    (
        "durability",
        ["system_default", "transient_local", "volatile"],
    ),
    ("history", ["system_default", "keep_last", "keep_all"]),
];
