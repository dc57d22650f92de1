//! Mimic followers have exactly one degree of freedom.

use super::{Findings, Subject, rule};
use crate::mimic::{self, Aspect};

rule! {
    severity: Warning,
    meaning: "A mimic schema (ExtendedPhysicsMimicAPI, or one of an engine) is on a prim that is not a revolute or \
              prismatic joint.",
    outcome: "Engines ignore the schema.",
    demand: "A mimic joint must be a revolute or prismatic joint: ExtendedPhysicsMimicAPI in the revision of June 2026, \
             the schemas of engines in that of July 2026.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let dialects = subject.options.revision.dialects();
    let faults = mimic::faults(subject.stage, |prim| mimic::of_dialects(prim, dialects));
    for fault in faults
        .into_iter()
        .filter(|fault| fault.aspect == Aspect::Follower)
    {
        let relationship = Some(fault.relationship.as_str());
        findings.prim(fault.prim, relationship, fault.message, fault.help);
    }
}
