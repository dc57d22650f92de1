//! Axes are unit vectors.

use super::{Findings, Subject, rule};
use crate::basis;
use crate::transform::round;

rule! {
    severity: Warning,
    meaning: "An axis is not of unit length.",
    outcome: "Loaders that do not normalise it move the joint too far or too little.",
    demand: "An axis SHOULD be of unit length (within 0.00001).",
    section: ("Degrees of freedom", "#degrees-of-freedom"),
}

/// Tolerance of a unit length in single precision.
const ROUNDING: f64 = 1e-5;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        for (k, axis) in joint
            .dofs
            .iter()
            .enumerate()
            .filter_map(|(k, dof)| Some((k, dof.axis?)))
        {
            let length = axis.norm();
            if basis::is_zero(&axis) || (length - 1.0).abs() <= ROUNDING {
                continue;
            }
            let (title, length) = (joint.title(), round(length));
            let message =
                format!("{title}: the axis of degree of freedom {k} has length {length}, not 1");
            let help = match basis::unit(&axis) {
                Some(unit) => format!("write it as {}", basis::in_words(&unit)),
                None => "divide it by its length".to_owned(),
            };
            findings.report(format!("{}/dofs/{k}/axis", joint.pointer()), message, help);
        }
    }
}
