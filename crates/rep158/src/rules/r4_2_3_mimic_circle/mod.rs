//! Mimic joints form no cycles.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Error,
    meaning: "Mimic joints form a cycle.",
    outcome: "No engine can compute their positions.",
    demand: "The graph of mimic joints must be acyclic.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let dialects = subject.options.revision.dialects();
    let faults = mimic::faults(subject.stage, |prim| mimic::of_dialects(prim, dialects));
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Cycle)
    {
        let relationship = Some(fault.relationship.as_str());
        findings.prim(fault.prim, relationship, fault.message, fault.help);
    }
}
