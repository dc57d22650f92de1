//! That one number follows one number.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-mimic-dofs",
        severity: Severity::Error,
        meaning: "A joint follows another, and one of them has not exactly one degree of freedom.",
        outcome: "There is no single number to follow or to set.",
    },
    demand: "A joint with a mimic and its driver MUST each have exactly one degree of freedom.",
    section: ("Mimics", "#mimics"),
    breaks: &[("models/0/joints/3/mimic", Some(r#"{"joint": 6}"#))],
    keeps: &[("models/0/joints/3/mimic", Some(r#"{"joint": 2}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for model in &subject.asset.models {
        for joint in &model.joints {
            let Some(mimic) = &joint.mimic else { continue };
            let driver = mimic.joint.and_then(|driver| model.joints.get(driver));
            let without_one = [Some(joint), driver].into_iter().flatten().find(|joint| joint.dof_count() != 1);
            let Some(culprit) = without_one else { continue };
            let message = format!(
                "{}: a mimic is between joints with one degree of freedom, and {} has {}",
                joint.title(),
                culprit.title(),
                culprit.dof_count()
            );
            let help = "leave `mimic` out and set the joint on its own";
            findings.report(&RULE.code, format!("{}/mimic", joint.pointer()), message, help);
        }
    }
}
