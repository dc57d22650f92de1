//! Mimic joints form no cycles.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Error,
    meaning: "Mimic joints form a cycle.",
    outcome: "No engine can compute their positions.",
    demand: "The graph of ext_physics:mimic:joint must be acyclic.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Cycle)
    {
        findings.prim(fault.prim, Some(name), fault.message, fault.help);
    }
}
