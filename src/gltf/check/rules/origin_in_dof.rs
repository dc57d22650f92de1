//! That fixed transforms are not where positions are set.

use super::super::findings::Findings;
use super::super::rest::{Displaced, displaced, dof_title};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-origin-in-dof",
        severity: Severity::Error,
        meaning: "A dof node holds, in the channel that it drives, a transform that is no motion of its degree of freedom.",
        outcome: "The first position that is set overwrites it, and the child link jumps.",
    },
    demand: "The channel that a dof node drives MUST NOT hold anything but a motion of its degree of freedom.",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/11/translation", Some("[0, 0.1, 0]"))],
    keeps: &[("/nodes/11/translation", None)],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for Displaced { joint, k, node, transform, channel, .. } in displaced(subject).filter(|dof| !dof.is_motion) {
        let title = dof_title(subject, joint, k, node);
        let message = format!("{title} {}, and the first position that is set overwrites its {channel}", transform.in_words());
        let help = "move the fixed transform to the joint's originNode and leave the dof node at identity";
        findings.report(&RULE.code, format!("/nodes/{node}"), message, help);
    }
}
