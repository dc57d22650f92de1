//! That the robot starts where it may be.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};
use crate::gltf::extension::JointType;

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-default-outside-limits",
        severity: Severity::Warning,
        meaning: "The default position of a degree of freedom is outside its limits.",
        outcome: "The robot starts where it may not be.",
    },
    demand: "`default` SHOULD be within the limits; that of a joint with a mimic is its driver's business.",
    section: ("Degrees of freedom", "#degrees-of-freedom"),
    breaks: &[("models/0/joints/0/dofs/0/default", Some("1.6"))],
    keeps: &[("models/0/joints/0/dofs/0/default", Some("1.4"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        // A follower is where its driver puts it.
        if joint.kind == Some(JointType::Continuous) || joint.mimic.is_some() {
            continue;
        }
        for (k, dof) in joint.dofs.iter().enumerate() {
            let Some(range) = dof.range_without(dof.default) else { continue };
            let message = format!("{}: the default position {} is outside {range}", joint.title(), dof.default);
            let help = "give a default within the limits; where it is absent it is 0";
            findings.report(&RULE.code, format!("{}/dofs/{k}/default", joint.pointer()), message, help);
        }
    }
}
