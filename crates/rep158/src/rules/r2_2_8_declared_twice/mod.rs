//! No execution graph repeats a declared ROS interface.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "An execution graph offers an interface that the asset declares.",
    outcome: "Each message is published twice, or two servers answer.",
    demand: "Assets must not duplicate the same ROS interface in another form.",
    section: ("ROS Integration Schemas", "§2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let declared: Vec<&str> = ros::interfaces(stage)
        .filter_map(|interface| interface.text("name"))
        .map(ros::last_segment)
        .collect();
    for (id, prim) in stage.present() {
        let Some(node) = prim
            .text("node:type")
            .filter(|node| node.to_lowercase().contains("ros2"))
        else {
            continue;
        };
        let names = [
            "inputs:topicName",
            "inputs:serviceName",
            "inputs:actionName",
        ]
        .into_iter()
        .filter_map(|name| prim.text(name));
        for name in names.filter(|name| declared.contains(&ros::last_segment(name))) {
            let message = format!(
                "the graph node {} ({node}) offers {name}, which the asset already declares",
                prim.path
            );
            findings.prim(
                id,
                None,
                message,
                "remove the node: simulators create it from the declaration",
            );
        }
    }
}
