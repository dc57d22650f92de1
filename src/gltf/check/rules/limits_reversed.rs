//! That some position is allowed.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::JointType;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-limits-reversed",
        severity: Severity::Error,
        meaning: "A lower limit is above the upper limit.",
        outcome: "No position is allowed; loaders that clamp may fail.",
    },
    demand: "`lower` MUST NOT be greater than `upper`.",
    section: ("Limits", "#limits"),
    breaks: &[("models/0/joints/0/dofs/0/limit", Some(r#"{"lower": 2, "upper": 1.5}"#))],
    keeps: &[("models/0/joints/0/dofs/0/limit", Some(r#"{"lower": -1.5, "upper": 1.5}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // A continuous joint should have no limits, which is another rule's.
    for joint in subject.asset.joints().filter(|joint| joint.kind != Some(JointType::Continuous)) {
        for (k, dof) in joint.dofs.iter().enumerate() {
            let Some((lower, upper)) = dof.reversed_limits() else { continue };
            let message = format!("{}: the lower limit {lower} is above the upper limit {upper}", joint.title());
            let at = format!("{}/dofs/{k}/limit", joint.pointer());
            findings.report(&RULE.code, at, message, "swap `lower` and `upper`");
        }
    }
}
