//! Animations do not move the nodes of links and origins.

use super::{Findings, Subject, rule};
use crate::animations::{self, Part};

rule! {
    severity: Warning,
    meaning: "An animation moves the node of a link or of a joint's origin.",
    outcome: "Frames that the extension holds to be fixed move.",
    demand: "An animation SHOULD NOT move the nodes of origins and links.",
    section: ("Animations", "#animations"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for channel in animations::channels(subject) {
        if let Some(Part::Frame(what)) = &channel.part {
            let help = "animate the joint's dof nodes; to move the robot, animate its rootNode or a node above it";
            findings.report(
                channel.pointer,
                format!("{}, which is {what}", channel.subject),
                help,
            );
        }
    }
}
