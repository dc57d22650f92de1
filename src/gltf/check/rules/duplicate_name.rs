//! That names of links, and of joints, are told apart.

use std::collections::HashMap;

use super::super::findings::{Findings, short};
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-duplicate-name",
        severity: Severity::Error,
        meaning: "Two links or two joints of a model have the same name.",
        outcome: "Programs that find joints by name move the wrong one.",
    },
    demand: "Names of links MUST be unique in a model, and names of joints.",
    section: ("Model", "#model"),
    breaks: &[("models/0/joints/1/name", Some(r#""turn""#))],
    keeps: &[("models/0/joints/1/name", Some(r#""spin""#))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for model in &subject.asset.models {
        unique("links", model.links.iter().map(|link| (link.name, link.pointer())), findings);
        unique("joints", model.joints.iter().map(|joint| (joint.name, joint.pointer())), findings);
    }
}

fn unique<'a>(what: &str, parts: impl Iterator<Item = (&'a str, &'a str)>, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for (index, (name, pointer)) in parts.enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let first = *seen.entry(name).or_insert(index);
        if first != index {
            let message = format!("{what} {first} and {index} are both named \"{}\"", short(name));
            findings.report(&RULE.code, format!("{pointer}/name"), message, "rename one of them");
        }
    }
}
