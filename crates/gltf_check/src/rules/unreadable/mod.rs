//! The file is glTF 2.0.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The file is no glTF 2.0, neither GLB nor JSON, or its JSON is larger than 512 MiB.",
    outcome: "Nothing else is checked.",
    demand: "The file is glTF 2.0, as GLB or as JSON, of at most 512 MiB of JSON.",
    section: ("Dependencies", "#dependencies"),
    turn: Gate,
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    if let Some(fault) = subject.fault {
        let help = "give a .glb or .gltf file of glTF 2.0; the Khronos validator says more of what is wrong with one";
        findings.report("", fault, help);
    }
}
