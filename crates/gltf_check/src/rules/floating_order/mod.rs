//! The axes of a floating joint are in the recommended order.

use super::{Findings, Subject, rule};
use crate::basis::{self, Triple};

rule! {
    severity: Warning,
    meaning: "The axes of a floating joint are not [0, 0, 1], [1, 0, 0], [0, 1, 0]: x, y and z of \
              the joint's frame in glTF axes.",
    outcome: "Positions x y z and roll pitch yaw of the source mean other motions.",
    demand: "They SHOULD be `[0, 0, 1]`, `[1, 0, 0]`, `[0, 1, 0]`.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let is_wrong = |triple: &Triple| triple.is_right_handed() && !triple.is_in_ros_order();
    for (joint, triple) in basis::of_floating(subject).filter(|(_, triple)| is_wrong(triple)) {
        let (what, list) = (triple.what, triple.in_words());
        let message = format!(
            "{}: its {what} are along {list}, not along x, y and z of the source",
            joint.title()
        );
        findings.report(triple.pointer(joint), message, basis::FLOATING_HELP);
    }
}
