//! Dof nodes have no matrix.

use super::{Findings, Subject, rule};
use crate::rest::dof_title;

rule! {
    severity: Error,
    meaning: "A dof node has a matrix.",
    outcome: "Loaders and animations set translation or rotation, which a node with a matrix does \
              not have.",
    demand: "A dof node MUST NOT have a `matrix`.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        for (k, node, _) in joint.driven() {
            if subject
                .asset
                .nodes
                .get(node)
                .is_some_and(|node| node.member("matrix").is_some())
            {
                let message = format!("{} has a matrix", dof_title(subject, joint, k, node));
                let help = "leave the matrix out: dof nodes have translation, rotation or neither";
                findings.report(format!("/nodes/{node}/matrix"), message, help);
            }
        }
    }
}
