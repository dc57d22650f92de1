//! That the file is a glTF file.

use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-unreadable",
        severity: Severity::Error,
        meaning: "The file is no glTF 2.0, neither GLB nor JSON, or its JSON is larger than 512 MiB.",
        outcome: "Nothing else is checked.",
    },
    demand: "The file is glTF 2.0, as GLB or as JSON, of at most 512 MiB of JSON.",
    section: ("Dependencies", "#dependencies"),
    breaks: &[("/asset", Some(r#"{"version": "1.0"}"#))],
    keeps: &[("/asset", Some(r#"{"version": "2.0"}"#))],
    turn: Turn::Gate,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(fault) = subject.fault {
        let help = "give a .glb or .gltf file of glTF 2.0; the Khronos validator says more of what is wrong with one";
        findings.report(&RULE.code, "", fault, help);
    }
}
