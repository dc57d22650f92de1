//! Every prim has at most one ROS interface.

use super::{Findings, Subject, rule};
use crate::ros::Kind;

rule! {
    severity: Error,
    meaning: "A prim is several interfaces.",
    outcome: "Programs find one of them only.",
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
                "{} is several interfaces: {}",
                prim.path,
                schemas.join(", ")
            );
            findings.prim(id, None, message, "give each a prim of its own");
        }
    }
}
