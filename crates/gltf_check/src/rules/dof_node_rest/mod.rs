//! Dof nodes are at identity at rest.

use super::{Findings, Subject, rule};
use crate::rest::{Displaced, displaced, dof_title};

rule! {
    severity: Warning,
    meaning: "A dof node is not at identity at rest.",
    outcome: "The file shows the robot in another pose than at zero, or the joint's origin is in \
              two places.",
    demand: "A dof node SHOULD be at identity at rest.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for Displaced {
        joint,
        k,
        node,
        transform,
        ..
    } in displaced(subject).filter(|dof| dof.is_motion)
    {
        let message = format!(
            "{} {} at rest",
            dof_title(subject, joint, k, node),
            transform.in_words()
        );
        let help = "leave dof nodes at identity: fixed transforms belong into originNode, positions into `default`";
        findings.report(format!("/nodes/{node}"), message, help);
    }
}
