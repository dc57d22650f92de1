//! Mimic followers name exactly one revolute or prismatic joint.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Error,
    meaning: "A joint with ExtendedPhysicsMimicAPI names no joint that it can follow, or several.",
    outcome: "The joint moves freely, or programs reject the asset.",
    demand: "ext_physics:mimic:joint must target exactly one revolute or prismatic joint.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Leader)
    {
        findings.prim(fault.prim, Some(name), fault.message, fault.help);
    }
}
