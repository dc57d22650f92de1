//! That a continuous joint has no end.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::JointType;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-continuous-bounds",
        severity: Severity::Warning,
        meaning: "A continuous joint has a lower or an upper limit.",
        outcome: "Some loaders stop the joint there, others turn it on.",
    },
    demand: "A continuous joint SHOULD have neither `lower` nor `upper`.",
    section: ("Limits", "#limits"),
    breaks: &[("models/0/joints/1/dofs/0/limit", Some(r#"{"lower": -3.14, "upper": 3.14}"#))],
    keeps: &[("models/0/joints/1/dofs/0/limit", Some(r#"{"velocity": 10}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints().filter(|joint| joint.kind == Some(JointType::Continuous)) {
        for (k, dof) in joint.dofs.iter().enumerate() {
            let bounds = [("lower", dof.lower), ("upper", dof.upper)];
            for (name, bound) in bounds.iter().filter_map(|(name, bound)| Some((name, (*bound)?))) {
                let message = format!("{} is continuous, and its {name} limit is {bound}", joint.title());
                let at = format!("{}/dofs/{k}/limit/{name}", joint.pointer());
                findings.report(&RULE.code, at, message, "leave `lower` and `upper` out, or make the joint revolute");
            }
        }
    }
}
