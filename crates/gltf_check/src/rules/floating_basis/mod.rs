//! The axes of a floating joint are right-handed and orthogonal.

use super::{Findings, Subject, rule};
use crate::basis;

rule! {
    severity: Error,
    meaning: "The translations or the rotations of a floating joint are not along three axes at \
              right angles, in right-handed order.",
    outcome: "Some poses can't be reached, or are mirrored.",
    demand: "The three axes of the translations of a floating joint, and those of its rotations, \
             MUST be at right angles in right-handed order.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (joint, triple) in
        basis::of_floating(subject).filter(|(_, triple)| !triple.is_right_handed())
    {
        let (what, list) = (triple.what, triple.in_words());
        let message = format!(
            "{}: its {what} are along {list}, which is no right-handed basis",
            joint.title()
        );
        findings.report(triple.pointer(joint), message, basis::FLOATING_HELP);
    }
}
