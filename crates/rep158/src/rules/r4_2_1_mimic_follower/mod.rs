//! Mimic followers have exactly one degree of freedom.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Warning,
    meaning: "ExtendedPhysicsMimicAPI is on a prim that is not a revolute or prismatic joint.",
    outcome: "Engines ignore the schema.",
    demand: "ExtendedPhysicsMimicAPI is for revolute and prismatic joints.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let name = "ext_physics:mimic:joint";
    let faults = mimic::faults(subject.stage, "ExtendedPhysicsMimicAPI", name);
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Follower)
    {
        findings.prim(fault.prim, Some(name), fault.message, fault.help);
    }
}
