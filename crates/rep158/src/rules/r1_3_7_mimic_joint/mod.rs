//! Joints with `MimicJointAPI` follow exactly one revolute or prismatic joint.

use super::{Findings, Subject, rule};
use crate::mimic;

rule! {
    severity: Error,
    meaning: "A joint with MimicJointAPI cannot follow the joint that it names.",
    outcome: "The joint stays where it is, or each program moves it in its own way.",
    demand: "A mimic joint must be revolute or prismatic and must follow exactly one such joint, \
             never itself through others.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for fault in mimic::faults(subject.stage, mimic::of_mimic_joint_api) {
        findings.prim(fault.prim, Some("mimic:joint"), fault.message, fault.help);
    }
}
