//! Joints have as many degrees of freedom as their type.

use super::{Findings, Subject, rule};
use crate::asset::plural;

rule! {
    severity: Error,
    meaning: "A joint has not as many degrees of freedom as its type: none if fixed, two if \
              planar, six if floating, one otherwise.",
    outcome: "Loaders can't set the joint as its type says.",
    demand: "A joint MUST have as many degrees of freedom as its type: 0 only and always if it is \
             `fixed`, 2 if `planar`, 6 if `floating`, else 1.",
    section: ("Joints", "#joints"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        let (dofs, count) = (joint.dofs.len(), joint.dof_count());
        // A different number of nodes is left to kinematics-dof-nodes.
        let Some(kind) = joint
            .kind
            .filter(|_| dofs != count && dofs == joint.dof_nodes.len())
        else {
            continue;
        };
        let message = format!(
            "{} is {}, which has {}; it lists {dofs}",
            joint.title(),
            kind.as_str(),
            plural(count, "dof")
        );
        let help = "fixed joints have none, planar ones 2 translations, floating ones 3 translations and 3 rotations, all others 1";
        let at = joint.read.dofs().at();
        findings.report(at.as_str(), message, help);
        // The schema would report the same lists again.
        findings.cover(at);
        findings.cover(joint.read.dof_nodes().at());
    }
}
