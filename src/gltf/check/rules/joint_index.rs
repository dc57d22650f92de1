//! That indices of joints are those of joints.

use super::super::asset::plural;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-joint-index",
        severity: Severity::Error,
        meaning: "The index of a joint is not that of a joint of the model.",
        outcome: "Loaders can't tell what the joint follows.",
    },
    demand: "`mimic.joint` MUST be an index into `joints`.",
    section: ("Mimics", "#mimics"),
    breaks: &[("models/0/joints/3/mimic", Some(r#"{"joint": 7}"#))],
    keeps: &[("models/0/joints/3/mimic", Some(r#"{"joint": 2}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for model in &subject.asset.models {
        let count = model.joints.len();
        for joint in model.joints.iter().filter(|joint| joint.mimic.is_some()) {
            let Some(mimic) = joint.read.mimic() else { continue };
            let Some(driver) = mimic.joint().value().filter(|&driver| driver >= count) else { continue };
            let message = format!("{}: it follows joint {driver}, and the model has {}", joint.title(), plural(count, "joint"));
            findings.report(&RULE.code, mimic.joint().at(), message, "give the driver's place in `joints`, from 0");
        }
    }
}
