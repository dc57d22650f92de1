//! That no other nodes stand between those of a joint.

use super::super::chain;
use super::super::asset::node_title;
use super::super::findings::Findings;
use super::super::chain::Gap;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-chain-indirect",
        severity: Severity::Warning,
        meaning: "Further nodes stand between the nodes of a joint.",
        outcome: "The joint moves, but its frame is not the one that the axis is given in if those nodes have a transform.",
    },
    demand: "Each of them SHOULD be a direct child of the one before.",
    section: ("Node organization", "#node-organization"),
    breaks: &[("/nodes/30", Some(r#"{"name": "between", "children": [6]}"#)), ("/nodes/5/children", Some("[30]"))],
    keeps: &[("/nodes/5/children", Some("[6]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for Gap { joint, above, below, is_below } in chain::gaps(subject) {
        if !is_below {
            continue;
        }
        let [lower, upper] = [below.node, above.node].map(|node| node_title(subject.asset.nodes, node));
        let message = format!("{}: nodes stand between {}, {upper}, and {}, {lower}", joint.title(), above.what, below.what);
        let help = "make each node of the chain a direct child of the one before";
        findings.report(&RULE.code, below.pointer, message, help);
    }
}
