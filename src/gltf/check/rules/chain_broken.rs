//! That the nodes of a joint lead from link to link.

use super::super::chain;
use super::super::asset::node_title;
use super::super::findings::Findings;
use super::super::chain::Gap;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-chain-broken",
        severity: Severity::Error,
        meaning: "The nodes of a joint do not lead from the parent link's node over originNode and dofNodes to the child \
                   link's node.",
        outcome: "Setting the joint does not move the child link as it should.",
    },
    demand: "Parent link's node, `originNode`, `dofNodes` and child link's node MUST each be a descendant of the one before.",
    section: ("Node organization", "#node-organization"),
    breaks: &[("models/0/joints/4/dofNodes", Some("[18, 17]"))],
    keeps: &[("models/0/joints/4/dofNodes", Some("[17, 18]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for Gap { joint, above, below, is_below } in chain::gaps(subject) {
        if is_below {
            continue;
        }
        let [lower, upper] = [below.node, above.node].map(|node| node_title(subject.asset.nodes, node));
        let message = format!("{}: {}, {lower}, does not hang on {}, {upper}", joint.title(), below.what, above.what);
        let help = "the chain is: parent link's node, originNode, dofNodes in their order, child link's node, each a child of the \
                    one before";
        findings.report(&RULE.code, below.pointer, message, help);
    }
}
