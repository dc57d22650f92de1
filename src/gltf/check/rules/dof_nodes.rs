//! That every degree of freedom has its node.

use super::super::asset::plural;
use super::super::findings::Findings;
use super::super::{Rule, Subject};
use crate::diagnostic::{Code, Severity, Turn};

pub const RULE: Rule = Rule {
    code: Code {
        id: "kinematics-dof-nodes",
        severity: Severity::Error,
        meaning: "A joint has not as many dofNodes as dofs.",
        outcome: "Loaders can't tell which node a degree of freedom drives.",
    },
    demand: "`dofNodes` and `dofs` MUST be of the same length.",
    section: ("Joints", "#joints"),
    breaks: &[("models/0/joints/4/dofNodes", Some("[17, 18, 19]"))],
    keeps: &[("models/0/joints/4/dofNodes", Some("[17, 18]"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for joint in subject.asset.joints() {
        let (nodes, dofs) = (joint.dof_nodes.len(), joint.dofs.len());
        if nodes == dofs {
            continue;
        }
        let message = format!("{}: it has {} and {}", joint.title(), plural(nodes, "dof node"), plural(dofs, "dof"));
        let at = joint.read.dof_nodes().at();
        findings.report(&RULE.code, at.as_str(), message, "give one node per degree of freedom, in the same order");
        findings.cover(joint.read.dofs().at());
        findings.cover(at);
    }
}
