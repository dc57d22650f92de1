//! Mimic joints form no cycles.

use super::{Findings, Subject, rule};
use crate::mimic::{self, About};

rule! {
    severity: Error,
    meaning: "Joints follow each other in a circle.",
    outcome: "No engine can tell where they are.",
    demand: "The graph of ext_physics:mimic:joint must be acyclic.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults
        .into_iter()
        .filter(|fault| fault.about == About::Circle)
    {
        findings.prim(fault.prim, Some(name), fault.message, fault.help);
    }
}
