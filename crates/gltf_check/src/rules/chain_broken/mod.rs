//! The nodes of a joint form a chain from parent link to child link.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::chain::{self, Gap};

rule! {
    severity: Error,
    meaning: "The nodes of a joint do not lead from the parent link's node over originNode and \
              dofNodes to the child link's node.",
    outcome: "Setting the joint does not move the child link as it should.",
    demand: "Parent link's node, `originNode`, `dofNodes` and child link's node MUST each be a \
             descendant of the one before.",
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
        if is_below {
            continue;
        }
        let [lower, upper] =
            [below.node, above.node].map(|node| node_title(subject.asset.nodes, node));
        let message = format!(
            "{}: {}, {lower}, does not hang on {}, {upper}",
            joint.title(),
            below.what,
            above.what
        );
        let help = "the chain is: parent link's node, originNode, dofNodes in their order, child link's node, each a child of the \
                    one before";
        findings.report(below.pointer, message, help);
    }
}
