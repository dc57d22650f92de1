//! That what is fixed in the robot stays so.

use super::super::animations;
use super::super::findings::Findings;
use super::super::animations::Part;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-animated-frame",
        severity: Severity::Warning,
        meaning: "An animation moves the node of a link or of a joint's origin.",
        outcome: "Frames that the extension holds to be fixed move.",
    },
    demand: "An animation SHOULD NOT move the nodes of origins and links.",
    section: ("Animations", "#animations"),
    breaks: &[("/animations/0/channels/0/target", Some(r#"{"node": 4, "path": "rotation"}"#))],
    keeps: &[("/animations/0/channels/0/target", Some(r#"{"node": 5, "path": "rotation"}"#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for channel in animations::channels(subject) {
        if let Some(Part::Frame(what)) = &channel.part {
            let help = "animate the joint's dof nodes; to move the robot, animate its rootNode or a node above it";
            findings.report(&RULE.code, channel.pointer, format!("{}, which is {what}", channel.subject), help);
        }
    }
}
