//! Indices of joints are in range.

use super::{Findings, Subject, rule};
use crate::asset::plural;

rule! {
    severity: Error,
    meaning: "The index of a joint is not that of a joint of the model.",
    outcome: "Loaders can't tell what the joint follows.",
    demand: "`mimic.joint` MUST be an index into `joints`.",
    section: ("Mimics", "#mimics"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let count = model.joints.len();
        for joint in model.joints.iter().filter(|joint| joint.mimic.is_some()) {
            let Some(mimic) = joint.read.mimic() else {
                continue;
            };
            let Some(driver) = mimic.joint().value().filter(|&driver| driver >= count) else {
                continue;
            };
            let message = format!(
                "{}: it follows joint {driver}, and the model has {}",
                joint.title(),
                plural(count, "joint")
            );
            findings.report(
                mimic.joint().at(),
                message,
                "give the driver's place in `joints`, from 0",
            );
        }
    }
}
