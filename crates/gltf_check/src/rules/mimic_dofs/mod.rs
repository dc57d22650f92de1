//! Mimic joints and their drivers have exactly one degree of freedom.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A joint follows another, and one of them has not exactly one degree of freedom.",
    outcome: "There is no single number to follow or to set.",
    demand: "A joint with a mimic and its driver MUST each have exactly one degree of freedom.",
    section: ("Mimics", "#mimics"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        for joint in &model.joints {
            let Some(mimic) = &joint.mimic else { continue };
            let driver = mimic.joint.and_then(|driver| model.joints.get(driver));
            let without_one = [Some(joint), driver]
                .into_iter()
                .flatten()
                .find(|joint| joint.dof_count() != 1);
            let Some(culprit) = without_one else { continue };
            let message = format!(
                "{}: a mimic is between joints with one degree of freedom, and {} has {}",
                joint.title(),
                culprit.title(),
                culprit.dof_count()
            );
            let help = "leave `mimic` out and set the joint on its own";
            findings.report(format!("{}/mimic", joint.pointer()), message, help);
        }
    }
}
