//! Mimic followers name exactly one revolute or prismatic joint.

use super::{Findings, Subject, rule};
use crate::mimic::{self, About};

rule! {
    severity: Error,
    meaning: "A joint with ExtendedPhysicsMimicAPI names no joint that it can follow, or several.",
    outcome: "The joint moves freely, or the asset is refused.",
    demand: "ext_physics:mimic:joint must lead to exactly one revolute or prismatic joint.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults
        .into_iter()
        .filter(|fault| fault.about == About::Leader)
    {
        findings.prim(fault.prim, Some(name), fault.message, fault.help);
    }
}
