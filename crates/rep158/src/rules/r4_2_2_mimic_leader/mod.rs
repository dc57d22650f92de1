//! Mimic followers name exactly one revolute or prismatic joint.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Error,
    meaning: "A joint with a mimic schema (ExtendedPhysicsMimicAPI, or one of an engine) names no joint that it can follow, or \
              several.",
    outcome: "The joint moves freely, or programs reject the asset.",
    demand: "A mimic joint must name exactly one revolute or prismatic joint: by ext_physics:mimic:joint in the revision of \
             June 2026, in the layers of engines in that of July 2026.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let dialects = subject.options.revision.dialects();
    let faults = mimic::faults(subject.stage, |prim| mimic::of_dialects(prim, dialects));
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Leader)
    {
        let relationship = Some(fault.relationship.as_str());
        findings.prim(fault.prim, relationship, fault.message, fault.help);
    }
}
