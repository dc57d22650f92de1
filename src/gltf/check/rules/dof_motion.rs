//! That degrees of freedom move as the joint's type says.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-dof-motion",
        severity: Severity::Error,
        meaning: "A degree of freedom turns where the joint's type says that it slides, or slides where it should turn.",
        outcome: "The joint moves in another way than its type says.",
    },
    demand: "Their motions MUST be those of the joint's type.",
    section: ("Joints", "#joints"),
    breaks: &[("models/0/joints/2/dofs/0/motion", Some(r#""rotation""#))],
    keeps: &[("models/0/joints/2/dofs/0/motion", Some(r#""translation""#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        let Some(kind) = joint.kind else { continue };
        for (k, (dof, &expected)) in joint.dofs.iter().zip(kind.motions()).enumerate() {
            let Some(motion) = dof.motion.filter(|&motion| motion != expected) else { continue };
            let message = format!(
                "{} is {}, so degree of freedom {k} is a {}; it says {}",
                joint.title(),
                kind.as_str(),
                expected.as_str(),
                motion.as_str()
            );
            let help = "change the joint's type or the motion; a floating joint's three translations come first";
            findings.report(&RULE.code, format!("{}/dofs/{k}/motion", joint.pointer()), message, help);
        }
    }
}
