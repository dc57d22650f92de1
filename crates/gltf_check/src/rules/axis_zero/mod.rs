//! Axes are not zero.

use super::{Findings, Subject, rule};
use crate::basis;

rule! {
    severity: Error,
    meaning: "An axis has no length.",
    outcome: "There is no direction to move along or turn about.",
    demand: "An axis MUST NOT be zero.",
    section: ("Degrees of freedom", "#degrees-of-freedom"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        for (k, axis) in joint
            .dofs
            .iter()
            .enumerate()
            .filter_map(|(k, dof)| Some((k, dof.axis?)))
        {
            if basis::is_zero(&axis) {
                let message = format!(
                    "{}: the axis of degree of freedom {k} is zero",
                    joint.title()
                );
                let at = format!("{}/dofs/{k}/axis", joint.pointer());
                findings.report(at, message, "give the direction of the axis, of length 1");
            }
        }
    }
}
