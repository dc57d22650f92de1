//! That indices of links are those of links.

use super::super::asset::plural;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-link-index",
        severity: Severity::Error,
        meaning: "The index of a link is not that of a link of the model.",
        outcome: "Loaders can't tell what the joint connects.",
    },
    demand: "`parentLink` and `childLink` MUST be indices into `links`.",
    section: ("Joints", "#joints"),
    breaks: &[("models/0/joints/0/parentLink", Some("8"))],
    keeps: &[("models/0/joints/0/parentLink", Some("0"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for model in &subject.asset.models {
        let count = model.links.len();
        for joint in &model.joints {
            for field in [joint.read.parent_link(), joint.read.child_link()] {
                let (what, at) = (field.key, field.at());
                let Some(link) = field.value().filter(|&link| link >= count) else { continue };
                let message = format!("{}: {what} is {link}, and the model has {}", joint.title(), plural(count, "link"));
                findings.report(&RULE.code, at, message, "give the link's place in `links`, from 0");
            }
        }
    }
}
