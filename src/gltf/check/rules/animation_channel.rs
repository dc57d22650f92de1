//! That animations move joints as joints move.

use super::super::animations;
use super::super::findings::Findings;
use super::super::animations::Part;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-animation-channel",
        severity: Severity::Error,
        meaning: "An animation changes something of a dof node that its degree of freedom does not drive.",
        outcome: "The robot takes poses that no joint position gives.",
    },
    demand: "An animation MUST NOT set another channel of a dof node than its degree of freedom drives.",
    section: ("Animations", "#animations"),
    breaks: &[("/animations/0/channels/0/target", Some(r#"{"node": 5, "path": "scale"}"#))],
    keeps: &[("/animations/0/channels/0/target", Some(r#"{"node": 5, "path": "rotation"}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for channel in animations::channels(subject) {
        let Some(Part::Dof(Some(motion), what)) = &channel.part else { continue };
        let motion = motion.as_str();
        if motion != channel.path {
            let message = format!("{}, which is {what} and has its {motion} only", channel.subject);
            findings.report(&RULE.code, channel.pointer, message, format!("animate the {motion} of the node"));
        }
    }
}
