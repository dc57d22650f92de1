//! Dof nodes hold no fixed transform in the channel that they drive.

use super::{Findings, Subject, rule};
use crate::rest::{Displaced, displaced, dof_title};

rule! {
    severity: Error,
    meaning: "A dof node holds, in the channel that it drives, a transform that is no motion of \
              its degree of freedom.",
    outcome: "The first position that is set overwrites it, and the child link jumps.",
    demand: "The channel that a dof node drives MUST NOT hold anything but a motion of its degree \
             of freedom.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for Displaced {
        joint,
        k,
        node,
        transform,
        channel,
        ..
    } in displaced(subject).filter(|dof| !dof.is_motion)
    {
        let title = dof_title(subject, joint, k, node);
        let message = format!(
            "{title} {}, and the first position that is set overwrites its {channel}",
            transform.in_words()
        );
        let help =
            "move the fixed transform to the joint's originNode and leave the dof node at identity";
        findings.report(format!("/nodes/{node}"), message, help);
    }
}
