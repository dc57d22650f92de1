//! The nodes of a joint are direct children of one another.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::chain::{self, Gap};

rule! {
    severity: Warning,
    meaning: "Further nodes stand between the nodes of a joint.",
    outcome: "The joint moves, but its frame is not the one that the axis is given in if those \
              nodes have a transform.",
    demand: "Each of them SHOULD be a direct child of the one before.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for Gap {
        joint,
        above,
        below,
        is_below,
    } in chain::gaps(subject)
    {
        if !is_below {
            continue;
        }
        let [lower, upper] =
            [below.node, above.node].map(|node| node_title(subject.asset.nodes, node));
        let message = format!(
            "{}: nodes stand between {}, {upper}, and {}, {lower}",
            joint.title(),
            above.what,
            below.what
        );
        let help = "make each node of the chain a direct child of the one before";
        findings.report(below.pointer, message, help);
    }
}
