//! Animations of a dof node set only the channel that its degree of freedom drives.

use super::{Findings, Subject, rule};
use crate::animations::{self, Part};

rule! {
    severity: Error,
    meaning: "An animation changes something of a dof node that its degree of freedom does not \
              drive.",
    outcome: "The robot takes poses that no joint position gives.",
    demand: "An animation MUST NOT set another channel of a dof node than its degree of freedom \
             drives.",
    section: ("Animations", "#animations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for channel in animations::channels(subject) {
        let Some(Part::Dof(Some(motion), what)) = &channel.part else {
            continue;
        };
        let motion = motion.as_str();
        if motion != channel.path {
            let message = format!(
                "{}, which is {what} and has its {motion} only",
                channel.subject
            );
            findings.report(
                channel.pointer,
                message,
                format!("animate the {motion} of the node"),
            );
        }
    }
}
