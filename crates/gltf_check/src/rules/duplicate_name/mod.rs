//! Names of links and names of joints are unique within a model.

use std::collections::HashMap;

use super::{Findings, Subject, rule};
use crate::findings::short;

rule! {
    severity: Error,
    meaning: "Two links or two joints of a model have the same name.",
    outcome: "Programs that find joints by name move the wrong one.",
    demand: "Names of links MUST be unique in a model, and names of joints.",
    section: ("Model", "#model"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        unique(
            "links",
            model.links.iter().map(|link| (link.name, link.pointer())),
            findings,
        );
        unique(
            "joints",
            model
                .joints
                .iter()
                .map(|joint| (joint.name, joint.pointer())),
            findings,
        );
    }
}

fn unique<'a>(
    what: &str,
    parts: impl Iterator<Item = (&'a str, &'a str)>,
    findings: &mut Findings<'_>,
) {
    let mut seen = HashMap::new();
    for (index, (name, pointer)) in parts.enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let first = *seen.entry(name).or_insert(index);
        if first != index {
            let message = format!(
                "{what} {first} and {index} are both named \"{}\"",
                short(name)
            );
            findings.report(format!("{pointer}/name"), message, "rename one of them");
        }
    }
}
