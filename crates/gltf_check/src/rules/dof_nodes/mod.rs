//! Every degree of freedom has a node.

use super::{Findings, Subject, rule};
use crate::asset::plural;

rule! {
    severity: Error,
    meaning: "A joint has not as many dofNodes as dofs.",
    outcome: "Loaders can't tell which node a degree of freedom drives.",
    demand: "`dofNodes` and `dofs` MUST be of the same length.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        let (nodes, dofs) = (joint.dof_nodes.len(), joint.dofs.len());
        if nodes == dofs {
            continue;
        }
        let message = format!(
            "{}: it has {} and {}",
            joint.title(),
            plural(nodes, "dof node"),
            plural(dofs, "dof")
        );
        let at = joint.read.dof_nodes().at();
        findings.report(
            at.as_str(),
            message,
            "give one node per degree of freedom, in the same order",
        );
        // The schema would report the same lists again.
        findings.cover(joint.read.dofs().at());
        findings.cover(at);
    }
}
