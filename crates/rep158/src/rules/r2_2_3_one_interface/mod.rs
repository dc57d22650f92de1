//! Every prim has at most one ROS interface.

use super::{Findings, Subject, rule};
use crate::ros::Kind;

rule! {
    severity: Error,
    meaning: "A prim has several ROS interfaces.",
    outcome: "Programs find only one of them.",
    demand: "Multiple interfaces must be distributed across separate prims, one interface per \
             prim.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        let schemas: Vec<&str> = Kind::ALL
            .into_iter()
            .map(Kind::schema)
            .filter(|schema| prim.has(schema))
            .collect();
        if schemas.len() > 1 {
            let message = format!(
                "{} has several interfaces: {}",
                prim.path,
                schemas.join(", ")
            );
            findings.prim(id, None, message, "move each to a separate prim");
        }
    }
}
